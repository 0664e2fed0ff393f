"""Addresses of the host on which ports are published, and which of them exclude each other."""

from __future__ import annotations

import ipaddress

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

_EVERY_IPV4 = "0.0.0.0"


def address_of(text: str) -> Address:
    """An address as the engine writes it: with brackets or not, empty for all of IPv4.

    Raises ValueError when it is no address.
    """
    return plain_ipv4(ipaddress.ip_address(text.strip("[]") or _EVERY_IPV4))


def plain_ipv4(address: Address) -> Address:
    """One of IPv4 that is mapped into IPv6 (`::ffff:127.0.0.1`) as that of IPv4, as Docker makes it."""
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return mapped or address


def overlapping(one: str, other: str) -> bool:
    """Whether one port cannot be published on both addresses.

    A wildcard is every address of its own family alone: Docker's sockets on `::` take no IPv4 (seen by running
    Engine 20.10, whose proxy sets IPV6_V6ONLY).
    """
    first, second = address_of(one), address_of(other)
    if first.version != second.version:
        return False
    return first == second or first.is_unspecified or second.is_unspecified


def plain(text: str) -> str:
    """An address in the one writing that it has; what is no address as it stands."""
    try:
        return str(address_of(text))
    except ValueError:
        return text


def is_every(text: str) -> bool:
    """Whether an address means every interface, of its own family."""
    try:
        return address_of(text).is_unspecified
    except ValueError:
        return False


def is_loopback(text: str) -> bool:
    """Whether only programs of this machine reach what is published on an address; not so of what is no address."""
    try:
        return address_of(text).is_loopback
    except ValueError:
        return False

"""This machine's own addresses in its network."""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Callable

#: Addresses that lead nowhere (RFC 5737, RFC 3849): choosing a way to them tells the machine's own address.
_NOWHERE = ((socket.AF_INET, "192.0.2.1"), (socket.AF_INET6, "2001:db8::1"))
_DISCARD_PORT = 9


def lan_addresses(make: Callable[[int, int], socket.socket] = socket.socket) -> tuple[str, ...]:
    """The addresses that others of the network see, IPv4 before IPv6; none for a machine without a network.

    Of each family it is the one from which a packet to elsewhere would leave. Nothing is sent.
    """
    found = (_own(family, nowhere, make) for family, nowhere in _NOWHERE)
    return tuple(address for address in found if address is not None)


def _own(family: int, nowhere: str, make: Callable[[int, int], socket.socket]) -> str | None:
    try:
        with make(family, socket.SOCK_DGRAM) as probe:
            probe.connect((nowhere, _DISCARD_PORT))
            found = str(probe.getsockname()[0])
    except OSError:
        return None
    address = ipaddress.ip_address(found.partition("%")[0])
    return None if address.is_loopback or address.is_unspecified or address.is_link_local else found

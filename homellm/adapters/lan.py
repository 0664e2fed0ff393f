"""This machine's own addresses in its network."""

from __future__ import annotations

import fcntl
import ipaddress
import re
import socket
import struct
from collections.abc import Callable, Iterable

#: Addresses that lead nowhere (RFC 5737, RFC 3849): choosing a way to them tells the machine's own address.
_NOWHERE = ((socket.AF_INET, "192.0.2.1"), (socket.AF_INET6, "2001:db8::1"))
_DISCARD_PORT = 9
#: How the Docker Engine names the bridges of its networks: the default one, its own ones, Swarm's.
_DOCKERS_BRIDGE = re.compile(r"docker\d+|br-[0-9a-f]{12}|docker_gwbridge")
_SIOCGIFADDR = 0x8915  # netdevice(7)
_IFREQ = struct.Struct("16s24x")
_ADDRESS = slice(20, 24)  # of sockaddr_in in struct ifreq


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


def bridge_addresses(
    names: Callable[[], Iterable[tuple[int, str]]] = socket.if_nameindex,
    address: Callable[[str], str | None] | None = None,
) -> frozenset[str]:
    """This machine's IPv4 addresses on Docker's own bridges, by the bridges' names: only its containers are there."""
    of_bridge = address or _address_of
    try:
        bridges = [name for _, name in names() if _DOCKERS_BRIDGE.fullmatch(name)]
    except OSError:
        return frozenset()
    return frozenset(found for found in map(of_bridge, bridges) if found is not None)


def _address_of(interface: str) -> str | None:
    """The IPv4 address of an interface, None where it has none."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        try:
            answer = fcntl.ioctl(any_socket, _SIOCGIFADDR, _IFREQ.pack(interface.encode()))
        except OSError:
            return None
    return str(ipaddress.IPv4Address(answer[_ADDRESS]))

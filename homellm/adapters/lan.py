"""This machine's own address in its network."""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Callable

#: Addresses that lead nowhere (RFC 5737, RFC 3849): choosing a way to them tells the machine's own address.
_NOWHERE = ((socket.AF_INET, "192.0.2.1"), (socket.AF_INET6, "2001:db8::1"))
_DISCARD_PORT = 9


def lan_address(make: Callable[[int, int], socket.socket] = socket.socket) -> str | None:
    """The address that others of the network see, IPv4 first; None for a machine without a network.

    It is the one from which a packet to elsewhere would leave. Nothing is sent.
    """
    for family, nowhere in _NOWHERE:
        try:
            with make(family, socket.SOCK_DGRAM) as probe:
                probe.connect((nowhere, _DISCARD_PORT))
                found = str(probe.getsockname()[0])
        except OSError:
            continue
        address = ipaddress.ip_address(found.partition("%")[0])
        if not address.is_loopback and not address.is_unspecified and not address.is_link_local:
            return found
    return None

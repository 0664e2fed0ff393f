"""Whether this process stands in the network namespace in which the engine publishes ports."""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Callable

from homellm.domain.world import Container

_DISCARD_PORT = 9


def beside_bridge(container: Container, make: Callable[[int, int], socket.socket] = socket.socket) -> bool:
    """Whether the way to a container leaves from the gateway of its network: that is the bridge of the engine's host.

    A homellm in a container has another address there, and one that reaches it by a router has one elsewhere; the
    ports that are published are not at their loopback. Needs no rights, unlike a look at the daemon's namespace.
    Nothing is sent.
    """
    for network, address in container.addresses.items():
        gateway = container.gateways.get(network, "")
        if address and gateway and _source(address, make) == ipaddress.ip_address(gateway):
            return True
    return False


def _source(
    address: str, make: Callable[[int, int], socket.socket]
) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """The address from which a packet to `address` would leave; None where there is no way."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    try:
        with make(family, socket.SOCK_DGRAM) as probe:
            probe.connect((address, _DISCARD_PORT))
            return ipaddress.ip_address(str(probe.getsockname()[0]).partition("%")[0])
    except OSError:
        return None

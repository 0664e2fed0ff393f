"""A TCP port that nobody holds."""

import random
import socket
from pathlib import Path

_OUTGOING = Path("/proc/sys/net/ipv4/ip_local_port_range")
_TRIES = 1000


def free_port(host: str = "127.0.0.1") -> int:
    """A port that was free a moment ago, below those that the kernel gives to connections that go out.

    One of the latter could be any connection's by the time that a container is to have it.
    """
    low = int(_OUTGOING.read_text().split()[0])
    for _ in range(_TRIES):
        port = random.randrange(low // 2, low)
        with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
            try:
                probe.bind((host, port))
            except OSError:
                continue
        return port
    raise AssertionError(f"no free port below {low} in {_TRIES} tries")

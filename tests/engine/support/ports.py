"""A TCP port that nobody holds."""

import socket


def free_port(host: str = "127.0.0.1") -> int:
    """A port that was free a moment ago; never one that this function has given out lately by the kernel's choice."""
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
        probe.bind((host, 0))
        return int(probe.getsockname()[1])

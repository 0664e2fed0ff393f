"""Whether published ports are those of the machine that homellm sees, by sockets that only pretend."""

from __future__ import annotations

import errno
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from homellm.adapters.host import LinuxHost
from homellm.adapters.host.bridge import beside_bridge
from homellm.domain.world import Container


class Probe:
    """A socket that would leave from an address."""

    def __init__(self, source: str | None) -> None:
        self.source = source

    def __enter__(self) -> Probe:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def connect(self, _to: object) -> None:
        if self.source is None:
            raise OSError(errno.ENETUNREACH, "Network is unreachable")

    def getsockname(self) -> tuple[str, int]:
        assert self.source is not None
        return self.source, 1234


def leaving_from(source: str | None) -> Callable[[int, int], Any]:
    def make(family: int, kind: int) -> Probe:
        assert kind == socket.SOCK_DGRAM, "nothing may be sent"
        return Probe(source)

    return make


def container(address: str = "172.18.0.2", gateway: str = "172.18.0.1") -> Container:
    return Container("c", "nuc-smol", "i", "i", "running", addresses={"n": address}, gateways={"n": gateway})


@pytest.mark.parametrize(
    ("source", "beside"),
    [
        ("172.18.0.1", True),  # the bridge itself: the engine's machine
        ("172.18.0.7", False),  # a homellm in a container of the same network
        ("192.168.1.10", False),  # by a router
        (None, False),  # no way at all, as with a rootless engine
    ],
)
def test_only_who_leaves_from_the_bridge_stands_where_ports_are_published(source: str | None, beside: bool) -> None:
    assert beside_bridge(container(), leaving_from(source)) is beside


def test_ipv6_alone() -> None:
    assert beside_bridge(container("fd00::2", "fd00:0::1"), leaving_from("fd00::1"))


def test_without_a_gateway_it_is_not_known() -> None:
    assert not beside_bridge(container(gateway=""), leaving_from("172.18.0.1"))


def test_an_engine_elsewhere_publishes_elsewhere() -> None:
    own = container("127.0.0.1", "127.0.0.1")  # what every machine reaches from itself
    assert beside_bridge(own)
    assert LinuxHost(Path("/"), local=True, here=True).reaches_published(own)
    assert not LinuxHost(Path("/"), local=False).reaches_published(own)
    assert not LinuxHost(Path("/host"), local=True, here=False).reaches_published(own)

"""The machine's own address, by sockets that only pretend."""

from __future__ import annotations

import errno
import socket
from collections.abc import Callable
from typing import Any

import pytest

from homellm.adapters.lan import lan_addresses


class Probe:
    def __init__(self, address: str | None) -> None:
        self.address = address

    def __enter__(self) -> Probe:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def connect(self, _to: object) -> None:
        if self.address is None:
            raise OSError(errno.ENETUNREACH, "Network is unreachable")

    def getsockname(self) -> tuple[str, int]:
        assert self.address is not None
        return self.address, 1234


def sockets(four: str | None, six: str | None) -> Callable[[int, int], Any]:
    def make(family: int, kind: int) -> Probe:
        assert kind == socket.SOCK_DGRAM, "nothing may be sent"
        return Probe(four if family == socket.AF_INET else six)

    return make


@pytest.mark.parametrize(
    ("four", "six", "found"),
    [
        ("192.168.1.10", "2001:db8::5", ("192.168.1.10", "2001:db8::5")),
        (None, "2001:db8::5", ("2001:db8::5",)),
        ("127.0.0.1", "::1", ()),
        (None, "fe80::1%eth0", ()),
        (None, None, ()),
    ],
)
def test_the_addresses_from_which_packets_would_leave(
    four: str | None, six: str | None, found: tuple[str, ...]
) -> None:
    assert lan_addresses(sockets(four, six)) == found


def test_on_this_machine_these_are_addresses_or_nothing() -> None:
    for found in lan_addresses():
        assert socket.getaddrinfo(found, 9, flags=socket.AI_NUMERICHOST)

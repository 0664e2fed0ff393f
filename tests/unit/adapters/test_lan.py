"""The machine's own address, by sockets that only pretend."""

from __future__ import annotations

import errno
import re
import socket
from collections.abc import Callable
from typing import Any

import pytest

from homellm.adapters.lan import bridge_addresses, lan_addresses


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


def test_bridges_of_docker_are_known_by_their_names() -> None:
    asked: list[str] = []

    def address(name: str) -> str | None:
        asked.append(name)
        return None if name == "docker_gwbridge" else f"172.{17 + len(asked)}.0.1"

    names = ["lo", "eth0", "docker0", "br0", "br-lan", "br-0123456789ab", "docker_gwbridge", "dockerize"]
    assert bridge_addresses(lambda: enumerate(names), address) == {"172.18.0.1", "172.19.0.1"}
    assert asked == ["docker0", "br-0123456789ab", "docker_gwbridge"]


def test_a_machine_that_lists_no_interfaces_has_none() -> None:
    def refused() -> list[tuple[int, str]]:
        raise OSError(errno.EPERM, "Operation not permitted")

    assert bridge_addresses(refused) == frozenset()


def test_the_address_of_an_interface_of_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """The loopback stands for a bridge: each machine has it, with that address."""
    monkeypatch.setattr("homellm.adapters.lan._DOCKERS_BRIDGE", re.compile("lo|no-such-if"))
    assert bridge_addresses(lambda: [(1, "lo"), (2, "no-such-if")]) == {"127.0.0.1"}

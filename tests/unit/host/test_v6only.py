"""Whether a socket on `::` takes IPv4 as well: the kernel is asked, with sockets of this process."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from homellm.adapters.host import LinuxHost
from homellm.adapters.host.v6only import v6only_inodes

#: Nothing to listen on where IPv6 is off.
KINDS = (True, False) if Path("/proc/net/if_inet6").exists() else ()


@contextmanager
def listening() -> Iterator[dict[bool, socket.socket]]:
    """A socket on `::` of each kind, by whether it takes IPv6 alone."""
    with ExitStack() as stack:
        yield {
            kind: stack.enter_context(socket.create_server(("::", 0), family=socket.AF_INET6, dualstack_ipv6=not kind))
            for kind in KINDS
        }


def test_the_kernel_tells_them_apart() -> None:
    with listening() as servers:
        inodes = v6only_inodes()
        told = {kind: str(os.fstat(server.fileno()).st_ino) in inodes for kind, server in servers.items()}
    assert told == {kind: kind for kind in KINDS}


def test_a_snapshot_of_the_host_has_it_for_the_ports_that_are_asked_for() -> None:
    with listening() as servers:
        ports = {server.getsockname()[1]: kind for kind, server in servers.items()}
        found = LinuxHost(Path("/"), local=True).snapshot(ports.keys()).listeners
    assert found is not None
    assert {at.port: at.v6only for at in found if at.port in ports} == ports


def test_without_netlink_nothing_is_told() -> None:
    def refused(*_: int) -> socket.socket:
        raise PermissionError

    assert v6only_inodes(refused) == frozenset()


def test_an_answer_that_is_cut_or_no_dump_tells_nothing() -> None:
    class Odd:
        def __init__(self, *answers: bytes) -> None:
            self.answers = list(answers)

        def __enter__(self) -> Odd:
            return self

        def __exit__(self, *_: object) -> None:
            pass

        def settimeout(self, _: float) -> None:
            pass

        def send(self, _: bytes) -> None:
            pass

        def recv(self, _: int) -> bytes:
            return self.answers.pop(0) if self.answers else b"\x10\0\0\0\x03\0\0\0" + bytes(8)

    for answer in (b"", b"\0" * 40, b"\x48\0\0\0\x14\0\0\0" + bytes(20), b"\xff\xff\xff\xff\x14\0" + bytes(90)):
        assert v6only_inodes(lambda *_, answer=answer: Odd(answer)) == frozenset()  # type: ignore[arg-type,return-value,misc]

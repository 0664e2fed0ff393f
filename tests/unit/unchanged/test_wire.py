"""HTTP/1.0 by one poll, against servers that answer by hand."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from homellm.unchanged.wire import AT_ONCE, LIMIT_BYTES, NoAnswer, Reply, Request, ask

Serve = Callable[[bytes], tuple[str, int]]


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Starts a server that answers every connection with the same bytes and hangs up: its address."""
    servers: list[socket.socket] = []
    threads: list[threading.Thread] = []

    def start(answer: bytes) -> tuple[str, int]:
        server = socket.create_server(("127.0.0.1", 0))
        servers.append(server)
        threads.append(threading.Thread(target=_answer_all, args=(server, answer), daemon=True))
        threads[-1].start()
        address: tuple[str, int] = server.getsockname()
        return address

    yield start
    for server in servers:
        server.shutdown(socket.SHUT_RDWR)
        server.close()
    for thread in threads:
        thread.join()


def _answer_all(server: socket.socket, answer: bytes) -> None:
    while True:
        try:
            wire, _ = server.accept()
        except OSError:
            return
        with wire:
            request = b""
            while not request.endswith(b"\r\n\r\n"):
                request += wire.recv(4096)
            wire.sendall(answer.replace(b"{request}", request.partition(b"\r\n")[0]))


def one(address: tuple[str, int] | str, method: str = "GET", timeout_s: float = 5) -> Reply:
    (reply,) = ask([Request(address, "/x", method=method)], timeout_s)
    return reply


def test_an_answer_with_its_length(serve: Serve) -> None:
    reply = one(serve(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nX-Some-Thing:  a: b \r\n\r\n{}"))
    assert (reply.status, reply.body, reply.headers["x-some-thing"]) == (200, b"{}", "a: b")


def test_an_answer_that_ends_with_its_connection(serve: Serve) -> None:
    reply = one(serve(b"HTTP/1.0 503 Loading\r\n\r\nsome words"))
    assert (reply.status, reply.body) == (503, b"some words")


def test_an_answer_to_head_has_no_body_whatever_length_it_names(serve: Serve) -> None:
    reply = one(serve(b"HTTP/1.1 200 OK\r\nContent-Length: 700\r\n\r\n"), method="HEAD")
    assert (reply.status, reply.body) == (200, b"")


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"HTTP/1.1 200 OK\r\nContent-Len",
        b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
        b"SSH-2.0-OpenSSH_9.2p1\r\n\r\n",
        b"HTTP/1.1 \r\n\r\n",
        b"HTTP/1.1\r\n\r\n",
    ],
)
def test_what_is_no_whole_answer_is_none(serve: Serve, answer: bytes) -> None:
    with pytest.raises(NoAnswer):
        one(serve(answer))


def test_too_long_an_answer_is_none(serve: Serve) -> None:
    with pytest.raises(NoAnswer):
        one(serve(b"HTTP/1.0 200 OK\r\n\r\n" + b"x" * (LIMIT_BYTES + 1)))


def test_answers_come_in_the_order_of_the_requests_however_many(serve: Serve) -> None:
    address = serve(b"HTTP/1.0 200 OK\r\n\r\n{request}")
    count = 2 * AT_ONCE + 3
    replies = ask([Request(address, f"/{number}") for number in range(count)], 10)
    assert [reply.body.decode() for reply in replies] == [f"GET /{number} HTTP/1.0" for number in range(count)]


def test_nobody_there_is_told_at_once(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = server.getsockname()
    with pytest.raises(NoAnswer):
        one(address)
    with pytest.raises(NoAnswer):
        one(str(tmp_path / "none.sock"))


def test_silence_is_waited_for_only_so_long() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent, pytest.raises(NoAnswer, match="in time"):
        one(silent.getsockname(), timeout_s=0.05)


def test_one_silence_among_many_is_enough(serve: Serve) -> None:
    good = Request(serve(b"HTTP/1.0 200 OK\r\n\r\n"), "/")
    with socket.create_server(("127.0.0.1", 0)) as silent, pytest.raises(NoAnswer):
        ask([good, Request(silent.getsockname(), "/"), good], 0.2)


def test_a_unix_socket_and_ipv6(tmp_path: Path) -> None:
    path = str(tmp_path / "s.sock")
    unix = socket.socket(socket.AF_UNIX)
    unix.bind(path)
    unix.listen()
    six = socket.create_server(("::1", 0), family=socket.AF_INET6)
    for server, address in ((unix, path), (six, ("::1", six.getsockname()[1]))):
        thread = threading.Thread(target=_answer_all, args=(server, b"HTTP/1.0 204 No\r\n\r\n"), daemon=True)
        thread.start()
        assert one(address).status == 204
        server.shutdown(socket.SHUT_RDWR)
        server.close()
        thread.join()


def test_headers_are_sent_as_given(serve: Serve) -> None:
    request = Request("/x", "/props", headers=("Authorization: Bearer k",))
    assert request.data == (
        b"GET /props HTTP/1.0\r\nHost: homellm\r\nAccept: application/json\r\nAuthorization: Bearer k\r\n\r\n"
    )

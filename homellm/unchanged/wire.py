"""Many small HTTP requests at once, by one poll: HTTP/1.0, a connection each.

http.client would cost more to load than all else that the short cut does. HTTP/1.0 is what keeps this so small: an
answer ends with its declared length or with its connection, and no server may send it in chunks (RFC 9112, 6.1).
"""

from __future__ import annotations

import errno
import itertools
import select
import socket
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

#: The path of a Unix socket, or a host's numeric address and a port.
Address = str | tuple[str, int]
#: What an answer of the engine or of a server may have at most; the list of a hundred containers has 200 kB.
LIMIT_BYTES = 4 * 1024 * 1024
#: Connections at once. The engine's socket queues 128 on older kernels (listen(2), somaxconn).
AT_ONCE = 32

_CHUNK_BYTES = 64 * 1024


class NoAnswer(Exception):
    """Some request has no whole answer in time."""


class Request:
    """One request. `headers` are whole lines without their ends."""

    __slots__ = ("address", "data", "has_body")

    def __init__(self, address: Address, path: str, *, method: str = "GET", headers: tuple[str, ...] = ()) -> None:
        lines = (f"{method} {path} HTTP/1.0", "Host: homellm", "Accept: application/json", *headers, "", "")
        self.address = address
        self.data = "\r\n".join(lines).encode()
        self.has_body = method != "HEAD"


class Reply:
    """A whole answer. Names of headers are in lower case."""

    __slots__ = ("body", "headers", "status")

    def __init__(self, status: int, headers: dict[str, str], body: bytes) -> None:
        self.status = status
        self.headers = headers
        self.body = body


def ask(requests: list[Request], timeout_s: float) -> list[Reply]:
    """The answers in the order of the requests. Raises NoAnswer unless all of them have come within `timeout_s`."""
    exchanges: list[_Exchange] = []
    try:
        _run(exchanges, iter(requests), time.monotonic() + timeout_s)
        return [exchange.reply() for exchange in exchanges]
    except OSError as error:
        raise NoAnswer(str(error)) from error
    finally:
        for exchange in exchanges:
            exchange.wire.close()


def _run(exchanges: list[_Exchange], waiting: Iterator[Request], deadline: float) -> None:
    """Carry all requests out, so many at once, the next as soon as one is over."""
    poll = select.poll()
    open_: dict[int, _Exchange] = {}
    while True:
        for request in itertools.islice(waiting, AT_ONCE - len(open_)):
            exchange = _Exchange(request)
            exchanges.append(exchange)
            open_[exchange.wire.fileno()] = exchange
            poll.register(exchange.wire, select.POLLOUT)
        left_s = deadline - time.monotonic()
        if not open_ or left_s <= 0:
            break
        for descriptor, _ in poll.poll(left_s * 1000):
            exchange = open_[descriptor]
            if exchange.unsent:
                if exchange.send():
                    poll.modify(descriptor, select.POLLIN)
            elif exchange.receive():
                poll.unregister(descriptor)
                open_.pop(descriptor).wire.close()
    if open_:
        raise NoAnswer("not in time")


class _Exchange:
    """A request under way."""

    __slots__ = ("answer", "expected", "has_body", "unsent", "wire")

    def __init__(self, request: Request) -> None:
        host = None if isinstance(request.address, str) else request.address[0]
        family = socket.AF_UNIX if host is None else socket.AF_INET6 if ":" in host else socket.AF_INET
        self.unsent = request.data
        self.has_body = request.has_body
        self.answer = bytearray()
        self.expected: int | None = None  # bytes of the whole answer, once its headers tell
        self.wire = socket.socket(family, socket.SOCK_STREAM)
        self.wire.setblocking(False)
        code = self.wire.connect_ex(request.address)
        if code not in (0, errno.EINPROGRESS):
            self.wire.close()
            raise OSError(code, "no connection")

    def send(self) -> bool:
        """Go on sending; whether all is sent. Raises OSError, also for a connection that did not come about."""
        self.unsent = self.unsent[self.wire.send(self.unsent) :]
        return not self.unsent

    def receive(self) -> bool:
        """Go on reading; whether all is here."""
        chunk = self.wire.recv(_CHUNK_BYTES)
        self.answer += chunk
        if len(self.answer) > LIMIT_BYTES:
            raise NoAnswer("too long an answer")
        if self.expected is None:
            self.expected = self._length()
        return not chunk or (self.expected is not None and len(self.answer) >= self.expected)

    def _length(self) -> int | None:
        head, end, _ = self.answer.partition(b"\r\n\r\n")
        if not end:
            return None
        before = len(head) + len(end)
        if not self.has_body:
            return before
        length = _headers(bytes(head)).get("content-length", "")
        return before + int(length) if length.isdecimal() else None

    def reply(self) -> Reply:
        """The answer. Raises NoAnswer for one that is cut, or in a form that HTTP/1.0 does not have."""
        head, end, body = bytes(self.answer).partition(b"\r\n\r\n")
        protocol, _, rest = head.partition(b" ")
        if not end or not protocol.startswith(b"HTTP/1.") or not rest[:3].isdigit():
            raise NoAnswer("no HTTP")
        if self.expected is not None and len(self.answer) != self.expected:
            raise NoAnswer("cut")
        headers = _headers(head)
        if "transfer-encoding" in headers:
            raise NoAnswer("in chunks")
        return Reply(int(rest[:3]), headers, body)


def _headers(head: bytes) -> dict[str, str]:
    pairs = (line.partition(":") for line in head.decode("latin-1").split("\r\n")[1:])
    return {name.strip().lower(): value.strip() for name, _, value in pairs}

"""HTTP: one Exchange for each request, whoever answers it; every one leaves gin's line on stdout."""

import json
import select
import socket
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from standin.journal import Journal
from standin.scheduler import ApiError

JSON = "application/json; charset=utf-8"
CHUNK = 1 << 20


class ClientGone(Exception):
    """The client has closed its connection."""


class Exchange:
    """A request and its answer. Nothing is sent before one of the answering methods is called."""

    def __init__(self, handler: BaseHTTPRequestHandler) -> None:
        self._handler = handler
        self.method, self.path = handler.command, handler.path.partition("?")[0]
        self.status = 0
        self._chunked = False

    # what came

    def body(self) -> Iterator[bytes]:
        """The body in pieces, with a length or in chunks."""
        headers, file = self._handler.headers, self._handler.rfile
        if "chunked" in (headers.get("Transfer-Encoding") or ""):
            while size := int(file.readline().split(b";")[0], 16):
                yield file.read(size)
                file.readline()
            file.readline()
            return
        left = int(headers.get("Content-Length") or 0)
        while left > 0 and (piece := file.read(min(left, CHUNK))):
            left -= len(piece)
            yield piece

    def document(self) -> dict[str, Any]:
        """The body as JSON. Raises ApiError as gin words it."""
        data = b"".join(self.body())
        if not data:
            raise ApiError(400, "missing request body")
        try:
            found = json.loads(data)
        except ValueError as error:
            raise ApiError(400, f"invalid character in request body: {error}") from error
        if not isinstance(found, dict):
            raise ApiError(400, "json: cannot unmarshal this into a Go struct")
        return found

    def gone(self) -> bool:
        """Whether the client has hung up."""
        connection = self._handler.connection
        try:
            readable, _, _ = select.select([connection], [], [], 0)
            return bool(readable) and not connection.recv(1, socket.MSG_PEEK)
        except OSError:
            return True

    # what goes

    def json(self, status: int, value: Any, kind: str = JSON) -> None:
        self.whole(status, json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode(), kind)

    def whole(self, status: int, data: bytes = b"", kind: str = "") -> None:
        self._head(status, kind, {"Content-Length": str(len(data))})
        if self.method != "HEAD":
            self._write(data)

    def hang_up(self) -> None:
        """The rest of the body is not read: close after the answer."""
        self._handler.close_connection = True

    def start(self, kind: str) -> None:
        """Begin an answer in pieces."""
        self._chunked = True
        self._head(200, kind, {"Transfer-Encoding": "chunked"})

    def row(self, value: Any) -> None:
        """One line of ndjson."""
        self.piece(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode() + b"\n")

    def event(self, value: Any) -> None:
        """One server-sent event."""
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        self.piece(f"data: {text}\n\n".encode())

    def piece(self, data: bytes) -> None:
        self._write(f"{len(data):x}\r\n".encode() + data + b"\r\n")

    @property
    def began(self) -> bool:
        return self.status != 0

    def finish(self) -> None:
        if self._chunked:
            self._write(b"0\r\n\r\n")

    def _head(self, status: int, kind: str, headers: dict[str, str]) -> None:
        self.status = status
        handler = self._handler
        try:
            handler.send_response_only(status if status != 499 else 500)
            handler.send_header("Date", handler.date_time_string())
            if kind:
                handler.send_header("Content-Type", kind)
            for name, value in headers.items():
                handler.send_header(name, value)
            handler.end_headers()
        except OSError as error:
            raise ClientGone from error

    def _write(self, data: bytes) -> None:
        try:
            self._handler.wfile.write(data)
            self._handler.wfile.flush()
        except OSError as error:
            raise ClientGone from error


def serve(address: tuple[str, int], answer: Callable[[Exchange], None], journal: Journal) -> ThreadingHTTPServer:
    """A server that is bound and not yet running."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _answer(self) -> None:
            started = time.monotonic()
            exchange = Exchange(self)
            try:
                answer(exchange)
                exchange.finish()
            except ClientGone:
                self.close_connection = True
                exchange.status = exchange.status or 500
            client = self.client_address[0].removeprefix("::ffff:")
            journal.request(exchange.status, time.monotonic() - started, client, self.command, self.path)

        do_GET = do_POST = do_HEAD = do_DELETE = do_PUT = _answer  # noqa: N815

        def log_message(self, *args: Any) -> None:
            """Requests are told by the journal."""

    class Server(ThreadingHTTPServer):
        daemon_threads = True
        request_queue_size = 128

        def handle_error(self, request: Any, client_address: Any) -> None:
            """A connection that broke is nobody's fault; everything else is a fault of this server."""
            if not isinstance(sys.exception(), OSError):
                traceback.print_exc()

    return Server(address, Handler)

"""The Http port against a real server on the loopback."""

from __future__ import annotations

import contextlib
import errno
import json
import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from homellm.adapters import http
from homellm.adapters.http import BODY_LIMIT_BYTES, HttpClient
from homellm.errors import TooManyFiles
from homellm.ports import HttpReply


class _Handler(BaseHTTPRequestHandler):
    """Answers by path. Events of the server let a test decide how long an answer takes."""

    protocol_version = "HTTP/1.1"
    release = threading.Event()

    def do_GET(self) -> None:
        match self.path:
            case "/props?x=1":
                self._send(200, json.dumps({"auth": self.headers.get("Authorization")}).encode())
            case "/moved":
                self._send(302, b"", {"Location": "/props?x=1"})
            case "/loading":
                self._send(503, b'{"error":{"message":"Loading model"}}')
            case "/huge":
                self._send(200, b"x" * (BODY_LIMIT_BYTES + 10))
            case "/full":
                self._send(200, b"x" * BODY_LIMIT_BYTES)
            case "/cut":
                self.send_response(200)
                self.send_header("Content-Length", "100")
                self.end_headers()
                self.wfile.write(b"only this")
                self.close_connection = True
            case "/drip":
                self.send_response(200)
                self.send_header("Content-Length", "100000")
                self.end_headers()
                while not self.release.wait(0.02):
                    self.wfile.write(b"x")
                    self.wfile.flush()
            case "/silent":
                self.release.wait(30)
            case _:
                self.close_connection = True

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self._send(200, json.dumps({"type": self.headers["Content-Type"], "got": json.loads(body)}).encode())

    def _send(self, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def handle(self) -> None:
        with contextlib.suppress(ConnectionError):  # the client left first, which is what the test wanted
            super().handle()

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    _Handler.release.clear()
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    _Handler.release.set()
    server.shutdown()
    thread.join()
    server.server_close()


def test_get_with_a_query_and_without_a_key(url: str) -> None:
    reply = HttpClient().get(f"{url}/props?x=1", timeout_s=60)
    assert (reply.status, json.loads(reply.body), reply.error) == (200, {"auth": None}, "")


def test_a_key_is_sent_as_a_bearer_token(url: str) -> None:
    reply = HttpClient().get(f"{url}/props?x=1", timeout_s=60, api_key="abc")
    assert json.loads(reply.body) == {"auth": "Bearer abc"}


def test_post_sends_json(url: str) -> None:
    reply = HttpClient().post(f"{url}/v1/chat/completions", {"model": "é", "n": 1}, timeout_s=60)
    assert json.loads(reply.body) == {"type": "application/json", "got": {"model": "é", "n": 1}}


def test_an_error_status_is_an_answer(url: str) -> None:
    reply = HttpClient().get(f"{url}/loading", timeout_s=60)
    assert (reply.status, reply.error) == (503, "")
    assert b"Loading model" in reply.body


def test_a_redirect_is_not_followed(url: str) -> None:
    assert HttpClient().get(f"{url}/moved", timeout_s=60).status == 302


def test_the_proxies_of_the_environment_are_not_used(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    assert HttpClient().get(f"{url}/props?x=1", timeout_s=60).status == 200


def test_a_body_of_the_limit_is_read_whole_and_a_longer_one_is_cut_and_called_so(url: str) -> None:
    full, huge = (HttpClient().get(f"{url}/{path}", timeout_s=60) for path in ("full", "huge"))
    assert (full.status, len(full.body), full.error) == (200, BODY_LIMIT_BYTES, "")
    assert (huge.status, len(huge.body)) == (200, BODY_LIMIT_BYTES)
    assert "longer than 1048576 bytes" in huge.error


@pytest.mark.parametrize("path", ["silent", "drip"])
def test_a_server_that_does_not_end_its_answer_is_left_after_the_timeout(url: str, path: str) -> None:
    reply = HttpClient().get(f"{url}/{path}", timeout_s=0.3)
    assert (reply.status, reply.body) == (0, b"")
    assert "within 0.3 s" in reply.error


@pytest.mark.parametrize(
    ("path", "words"),
    [("/cut", "ended in the middle"), ("/gone", "closed the connection")],
)
def test_a_connection_that_ends_early(url: str, path: str, words: str) -> None:
    reply = HttpClient().get(url + path, timeout_s=60)
    assert (reply.status, reply.body) == (0, b"")
    assert words in reply.error


def test_nobody_listens() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        reply = HttpClient().get(f"http://127.0.0.1:{port}/health", timeout_s=60)
    assert (reply.status, reply.body) == (0, b"")
    assert "Connection refused" in reply.error


@pytest.mark.parametrize("bad", ["", "127.0.0.1:80", "ftp://x/", "http://", "http://x:99999/", "http://x/a\nb"])
def test_what_is_no_url_is_an_answer_too(bad: str) -> None:
    reply = HttpClient().get(bad, timeout_s=1)
    assert reply.status == 0
    assert reply.error


def test_a_key_that_no_header_carries_is_not_repeated_in_the_error(url: str) -> None:
    reply = HttpClient().get(f"{url}/props?x=1", timeout_s=60, api_key="s3cret\r\nX: y")
    assert reply.status == 0
    assert reply.error
    assert "s3cret" not in reply.error


def test_a_port_that_takes_no_connection_does_not_cost_the_whole_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """As behind a firewall that drops: the queue of a listener who accepts nobody is full."""
    monkeypatch.setattr(http, "CONNECT_S", 0.05)
    with socket.create_server(("127.0.0.1", 0), backlog=0) as listener, contextlib.ExitStack() as waiting:
        port = listener.getsockname()[1]
        for _ in range(3):
            client = waiting.enter_context(socket.socket())
            client.setblocking(False)
            client.connect_ex(("127.0.0.1", port))
        url = f"http://127.0.0.1:{port}/health"
        assert HttpClient().get(url, timeout_s=600) == HttpReply(0, error=f"no connection to {url} within 0.05 s")


def test_a_limit_of_open_files_says_nothing_of_the_server(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> socket.socket:
        raise OSError(errno.EMFILE, "Too many open files")

    monkeypatch.setattr(socket, "socket", full)
    with pytest.raises(TooManyFiles):
        HttpClient().get("http://127.0.0.1:1/health", timeout_s=1)

"""HTTP to an Ollama server by httpx: answers read with a bound, and streams that another thread can end.

Nothing of the user's environment comes in between (no proxy, no netrc), and no redirect is followed.
"""

from __future__ import annotations

import contextlib
import json
import socket
import threading
from collections.abc import Iterator, Mapping
from typing import Any

import httpx

from homellm.adapters.ollama_errors import unreachable

#: How long a connection may take: servers stand on this machine or near it, and one packet that was lost is sent again
#: after a second (RFC 6298). A port whose packets a firewall drops costs this at every look.
CONNECT_TIMEOUT_S = 2.0
#: The most that is read of an answer: /api/show of a large model lists thousands of tensors.
BODY_LIMIT_BYTES = 32 * 1024 * 1024
#: The longest line of a stream that is taken for one.
LINE_LIMIT_BYTES = 1024 * 1024
_OK = 200
_CONNECTED = (".connect_tcp.complete", ".start_tls.complete")


class Exchange:
    """One request and its answer. `close` from another thread ends it at once, whatever it waits for."""

    def __init__(self, client: httpx.Client, request: httpx.Request) -> None:
        self._client = client
        self._request = request
        self._closed = threading.Event()
        self._wire: Any = None
        request.extensions["trace"] = self._trace

    @property
    def closed(self) -> bool:
        """Whether it was given up."""
        return self._closed.is_set()

    def close(self) -> None:
        """End it; safe to call twice and from any thread."""
        self._closed.set()
        self._shut()

    def reply(self) -> tuple[int, bytes]:
        """Status and whole body. Raises OllamaUnreachable when there is none, also after `close`."""
        body = bytearray()
        with self._translated(), contextlib.closing(self._client.send(self._request, stream=True)) as response:
            status = response.status_code
            for chunk in response.iter_bytes():
                body += chunk
                if len(body) > BODY_LIMIT_BYTES:
                    raise unreachable(_base(self._request.url), f"its answer is longer than {BODY_LIMIT_BYTES} bytes")
        return status, bytes(body)

    def lines(self) -> Iterator[Mapping[str, object]]:
        """The JSON objects of a stream, one a line; another status than 200 is an error like those in the stream.

        A stream that breaks off ends like one that is finished: whoever reads it knows its last line.
        """
        with self._translated():
            response = self._client.send(self._request, stream=True)
        with contextlib.closing(response):
            if response.status_code != _OK:
                with self._translated():
                    text = error_text(response.read())
                yield {"error": text}
                return
            try:
                yield from _objects(response.iter_bytes())
            except (httpx.HTTPError, httpx.StreamError):
                return

    @contextlib.contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except httpx.ConnectError as error:
            raise unreachable(_base(self._request.url), _reason(error)) from error
        except httpx.TimeoutException as error:
            raise unreachable(_base(self._request.url), "no answer in time") from error
        except (httpx.HTTPError, httpx.StreamError) as error:
            reason = "the request was given up" if self.closed else _reason(error)
            raise unreachable(_base(self._request.url), reason) from error

    def _trace(self, event: str, info: Mapping[str, Any]) -> None:
        """Httpcore's own events: the socket of the connection that it has made is what `close` needs."""
        if event.endswith(_CONNECTED):
            self._wire = info["return_value"]
            if self._closed.is_set():
                self._shut()

    def _shut(self) -> None:
        wire = self._wire
        if wire is None:
            return
        with contextlib.suppress(OSError):
            wire.get_extra_info("socket").shutdown(socket.SHUT_RDWR)


def new_client(base_url: str) -> httpx.Client:
    """A client that keeps no connection: a new one each time is what lets a request be ended from outside."""
    return httpx.Client(
        base_url=base_url,
        trust_env=False,
        follow_redirects=False,
        limits=httpx.Limits(max_keepalive_connections=0),
        headers={"User-Agent": "homellm"},
    )


def timeouts(read_s: float | None) -> httpx.Timeout:
    """Limits of one request; None waits for ever between two parts of the answer."""
    return httpx.Timeout(read_s, connect=CONNECT_TIMEOUT_S)


def error_text(body: bytes) -> str:
    """Ollama's own words of an answer that is an error."""
    try:
        whole = json.loads(body)
    except (ValueError, RecursionError):
        return body[:500].decode("utf-8", "replace").strip()
    return (
        str(whole["error"]) if isinstance(whole, dict) and "error" in whole else body[:500].decode("utf-8", "replace")
    )


def _objects(chunks: Iterator[bytes]) -> Iterator[Mapping[str, object]]:
    """JSON objects of a stream of lines; lines that are none are passed over."""
    rest = b""
    for chunk in chunks:
        *whole, rest = (rest + chunk).split(b"\n")
        yield from filter(None, map(_object, whole))
        if len(rest) > LINE_LIMIT_BYTES:
            return
    yield from filter(None, [_object(rest)])


def _object(line: bytes) -> Mapping[str, object] | None:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _base(url: httpx.URL) -> str:
    return f"{url.scheme}://{url.netloc.decode('ascii', 'replace')}"


def _reason(error: Exception) -> str:
    text = str(error).strip()
    return text.partition("] ")[2] if text.startswith("[Errno") else text or type(error).__name__

"""HTTP to a server under test, by the standard library: nothing of the user's environment comes in between.

http.client follows no redirect and knows no proxy, which is what is wanted here: a request for 127.0.0.1 must reach
127.0.0.1 or fail. It also costs nothing to import, as the engine's client has loaded it already.
"""

from __future__ import annotations

import http.client
import json
import re
import socket
import time
from urllib.parse import urlsplit

from homellm.errors import TooManyFiles
from homellm.ports import HttpReply, Json

#: The most that is read of a body. Answers of /props, /v1/models and a short chat are far smaller.
BODY_LIMIT_BYTES = 1024 * 1024

#: The most that a connection may take by itself, less where the whole may: it covers one packet that was lost and is
#: sent again after a second (RFC 6298). A firewall that drops what comes for a port would cost the whole limit.
CONNECT_S = 2.0

_CHUNK_BYTES = 64 * 1024
_HEADER_VALUE = re.compile(r"[\x21-\x7e]+")


class HttpClient:
    """The Http port. Every request has its own connection, so any thread may use one client."""

    def get(self, url: str, *, timeout_s: float, api_key: str | None = None) -> HttpReply:
        """GET; `timeout_s` bounds the whole of it but for a server that sends its headers byte by byte."""
        return _request("GET", url, None, timeout_s, api_key)

    def post(self, url: str, body: Json, *, timeout_s: float, api_key: str | None = None) -> HttpReply:
        """POST `body` as JSON; times as for `get`."""
        return _request("POST", url, json.dumps(dict(body)).encode(), timeout_s, api_key)


def _request(method: str, url: str, body: bytes | None, timeout_s: float, api_key: str | None) -> HttpReply:
    deadline = time.monotonic() + timeout_s
    if api_key is not None and not _HEADER_VALUE.fullmatch(api_key):
        # Checked here because http.client would quote the key in its own error.
        return HttpReply(0, error="the API key has characters that no HTTP header can carry")
    try:
        connection, path = _connection(url, min(timeout_s, CONNECT_S))
    except ValueError as error:
        return HttpReply(0, error=f"{url} is no URL: {error}")
    try:
        try:
            connection.connect()
        except TimeoutError:
            return HttpReply(0, error=f"no connection to {url} within {connection.timeout:g} s")
        connection.sock.settimeout(max(deadline - time.monotonic(), 0.001))
        connection.request(method, path, body=body, headers=_headers(body, api_key))
        wire = connection.sock  # kept here: http.client forgets it once an answer ends the connection
        with connection.getresponse() as response:
            return _reply(response, wire, deadline)
    except TimeoutError:
        return HttpReply(0, error=f"no whole answer from {url} within {timeout_s:g} s")
    except (OSError, http.client.HTTPException, ValueError) as error:
        if TooManyFiles.caused(error):  # says nothing of the server
            raise TooManyFiles from error
        return HttpReply(0, error=f"no answer from {url}: {_reason(error)}")
    finally:
        connection.close()


def _connection(url: str, timeout_s: float) -> tuple[http.client.HTTPConnection, str]:
    """A connection that is not open yet, and the path with its query. Raises ValueError."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError("it has to begin with http:// or https:// and name a host")
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    path = parts.path or "/"
    return kind(parts.hostname, parts.port, timeout=timeout_s), f"{path}?{parts.query}" if parts.query else path


def _headers(body: bytes | None, api_key: str | None) -> dict[str, str]:
    headers = {"Accept": "application/json", "Connection": "close", "User-Agent": "homellm"}
    if body is not None:
        headers["Content-Type"] = "application/json"
    if api_key is not None:
        headers["Authorization"] = f"Bearer {api_key}"
    return headers


def _reply(response: http.client.HTTPResponse, wire: socket.socket, deadline: float) -> HttpReply:
    chunks: list[bytes] = []
    size = 0
    # Python 3.13 closes the socket as soon as the last byte was read, 3.11 with the read after that.
    while size <= BODY_LIMIT_BYTES and not response.isclosed():
        remaining_s = deadline - time.monotonic()
        if remaining_s <= 0:
            raise TimeoutError
        wire.settimeout(remaining_s)
        chunk = response.read1(min(_CHUNK_BYTES, BODY_LIMIT_BYTES + 1 - size))
        if not chunk:
            break
        chunks.append(chunk)
        size += len(chunk)
    body = b"".join(chunks)
    if size > BODY_LIMIT_BYTES:
        error = f"the answer is longer than {BODY_LIMIT_BYTES} bytes; the rest was not read"
        return HttpReply(response.status, body[:BODY_LIMIT_BYTES], error)
    if response.length:
        raise http.client.IncompleteRead(body, response.length)
    return HttpReply(response.status, body)


def _reason(error: Exception) -> str:
    if isinstance(error, http.client.IncompleteRead):
        return "the connection ended in the middle of it"
    if isinstance(error, http.client.RemoteDisconnected):
        return "the server closed the connection without one"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return str(error) or type(error).__name__

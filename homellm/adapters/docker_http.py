"""Answers of the engine that are read as they come: errors in them, limits on them, and how another thread ends one."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path

from requests import Response

from homellm.adapters.docker_streams import EngineStream

_CHUNK_BYTES = 64 * 1024


def knock(path: Path, timeout_s: float) -> None:
    """Connect to a Unix socket and hang up. Raises the system's own error, which the client library wraps."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as knocking:
        knocking.settimeout(timeout_s)
        knocking.connect(str(path))


def cut(response: Response) -> None:
    """Break the connection of an answer that another thread may be reading.

    `response.close()` would wait for the reader, so the socket below is shut down, as docker-py does for its own
    streams. With the ssh client there is a child process behind a pipe, which its channel ends.
    """
    reader = getattr(getattr(response.raw, "_fp", None), "fp", None)
    channel = getattr(reader, "channel", None)
    if channel is not None:
        channel.close()
        return
    connection = getattr(getattr(reader, "raw", None), "_sock", None)
    if connection is not None:
        connection.shutdown(socket.SHUT_RDWR)
        connection.close()


def error_text(response: Response) -> str:
    """The engine's own words in an answer that is an error."""
    text = response.text
    try:
        return str(json.loads(text)["message"])
    except (ValueError, KeyError, TypeError):
        return text.strip() or f"HTTP status {response.status_code}"


def read_limited(response: Response, limit_bytes: int) -> bytes:
    """An answer's bytes; reading stops soon after `limit_bytes`."""
    data = bytearray()
    for chunk in response.iter_content(_CHUNK_BYTES):
        data += chunk
        if len(data) > limit_bytes:
            break
    return bytes(data)


class PullResponse:
    """A PullConnection over an answer of the engine."""

    def __init__(self, response: Response, *, ended_by: tuple[type[BaseException], ...]) -> None:
        lines = (line for line in response.iter_lines() if line)
        self._stream = EngineStream(lines, partial(cut, response), ended_by=ended_by)

    def lines(self) -> Iterator[Mapping[str, object]]:
        """One JSON object after another."""
        for line in self._stream:
            yield json.loads(line)

    def close(self) -> None:
        """Cut it."""
        self._stream.close()

"""Streams of the engine: frames out of its multiplexed bytes, and a stream that another thread can end."""

from __future__ import annotations

import struct
import threading
from collections.abc import Callable, Iterable, Iterator

#: Stream number, three zero bytes, length of what follows, big-endian (Docker Engine API, "Stream format" of attach).
_HEADER = struct.Struct(">B3xL")


class EngineStream:
    """A Stream over `frames`. `cut` breaks the connection so that a blocked read returns at once.

    An end of the connection ends the stream without an error, whoever cut it: what became of the container is for
    the caller to ask.
    """

    def __init__(
        self, frames: Iterator[bytes], cut: Callable[[], object], *, ended_by: tuple[type[BaseException], ...]
    ) -> None:
        self._frames = frames
        self._cut = cut
        self._ended_by = ended_by
        self._lock = threading.Lock()
        self._closed = False

    def __iter__(self) -> Iterator[bytes]:
        """Frames as the engine sends them."""
        try:
            yield from self._frames
        except self._ended_by:
            return
        except Exception:
            # A connection that is cut in the middle of a read fails in many ways.
            if not self._closed:
                raise

    def close(self) -> None:
        """End the stream; safe to call twice and from any thread."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
        try:
            self._cut()
        except (OSError, AttributeError, ValueError):
            return  # it had ended by itself


def demultiplex(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """The payloads of both streams in their order, from chunks that may be cut anywhere. A cut last frame is kept."""
    buffer = bytearray()
    for chunk in chunks:
        buffer += chunk
        while len(buffer) >= _HEADER.size:
            end = _HEADER.size + _HEADER.unpack_from(buffer)[1]
            if len(buffer) < end:
                break
            if end > _HEADER.size:
                yield bytes(buffer[_HEADER.size : end])
            del buffer[:end]
    if len(buffer) > _HEADER.size:
        yield bytes(buffer[_HEADER.size :])

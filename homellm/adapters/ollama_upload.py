"""Bringing a file of this machine into an Ollama store as a blob, with progress, and a way to give up."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from queue import SimpleQueue

import httpx

from homellm.adapters.ollama_errors import call_failure
from homellm.adapters.ollama_http import Exchange, error_text, timeouts
from homellm.errors import OllamaFailed, OllamaUnreachable
from homellm.ports import PullProgress

_CHUNK_BYTES = 1024 * 1024
_DONE = (200, 201)
_DOING = "take a file"


class Upload:
    """Implements ports.PullStream. The file is sent from a daemon thread, as nothing can be read meanwhile."""

    def __init__(self, client: httpx.Client, digest: str, file: Path, is_here: Callable[[str], bool]) -> None:
        self._client = client
        self._digest = digest
        self._file = file
        self._is_here = is_here
        self._closed = threading.Event()
        self._exchange: Exchange | None = None
        self._queue: SimpleQueue[PullProgress | BaseException | None] = SimpleQueue()

    def __iter__(self) -> Iterator[PullProgress]:
        """Progress until the blob is here; ends early after `close`. Raises OllamaFailed."""
        threading.Thread(target=self._work, name=f"upload {self._file.name}", daemon=True).start()
        try:
            while not self._closed.is_set() and (item := self._queue.get()) is not None:
                if isinstance(item, BaseException):
                    raise item
                yield item
        finally:
            self.close()

    def close(self) -> None:
        """Give it up; safe to call twice and from any thread."""
        self._closed.set()
        self._queue.put(None)
        if self._exchange is not None:
            self._exchange.close()

    def _work(self) -> None:
        try:
            if not self._is_here(self._digest):
                self._send()
        except OSError as error:
            text = f"{self._file} cannot be read: {error.strerror or error}"
            self._queue.put(OllamaFailed(f"{text}.", id="file-unreadable", original=text))
        except BaseException as error:  # noqa: BLE001 - it is raised again where the stream is iterated
            self._queue.put(error)
        else:
            self._queue.put(None)

    def _send(self) -> None:
        size = self._file.stat().st_size
        request = self._client.build_request(
            "POST",
            f"/api/blobs/{self._digest}",
            content=self._content(size),
            headers={"Content-Length": str(size), "Content-Type": "application/octet-stream"},
            timeout=timeouts(None),
        )
        self._exchange = Exchange(self._client, request)
        try:
            status, body = self._exchange.reply()
        except OllamaUnreachable:
            if not self._closed.is_set():
                raise
            return
        if status not in _DONE:
            raise call_failure(_DOING, self._file.name, error_text(body), status)

    def _content(self, size: int) -> Iterator[bytes]:
        sent = 0
        with self._file.open("rb") as file:
            while not self._closed.is_set() and (chunk := file.read(_CHUNK_BYTES)):
                yield chunk
                sent += len(chunk)
                self._queue.put(PullProgress(f"uploading {self._file.name}", sent, size))

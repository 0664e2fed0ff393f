"""Bringing a file of this machine into an Ollama store as a blob, with progress, and a way to give up."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import httpx

from homellm.adapters.background_pull import BackgroundPull
from homellm.adapters.ollama_errors import call_failure
from homellm.adapters.ollama_http import Exchange, error_text, timeouts
from homellm.errors import OllamaFailed, OllamaUnreachable
from homellm.ports import PullProgress

_CHUNK_BYTES = 1024 * 1024
_DONE = (200, 201)
_DOING = "take a file"


class Upload(BackgroundPull):
    """A file on its way into the store. Raises OllamaFailed where it is iterated."""

    def __init__(self, client: httpx.Client, digest: str, file: Path, is_here: Callable[[str], bool]) -> None:
        super().__init__(f"upload {file.name}")
        self._client = client
        self._digest = digest
        self._file = file
        self._is_here = is_here
        self._exchange: Exchange | None = None

    def _cut(self) -> None:
        if self._exchange is not None:
            self._exchange.close()

    def _bring(self) -> None:
        try:
            if not self._is_here(self._digest):
                self._send()
        except OSError as error:
            text = f"{self._file} cannot be read: {error.strerror or error}"
            raise OllamaFailed(f"{text}.", id="file-unreadable", original=text) from error

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
                self._tell(PullProgress(f"uploading {self._file.name}", sent, size))

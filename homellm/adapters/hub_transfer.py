"""One file of a hub, brought whole: resumed after every cut, checked by its digest, given up from another thread.

huggingface_hub's own download (2.4) cannot go on where an earlier process was cut, since its file bears a name of that
process; it looks up only every 10 MB, and does not check what it got. For files of many gigabytes on a home line all
three are needed.
"""

from __future__ import annotations

import errno
import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import BinaryIO

import httpx

from homellm.domain.hub import HubFile
from homellm.errors import HubUnreachable, PullFailed

CHUNK_BYTES = 256 * 1024
#: Tries in a row that brought no byte: about a minute, with the pauses between them.
MAX_IDLE_TRIES = 8
#: The longest pause between two tries, and the longest that a server may ask for.
MAX_PAUSE_S = 30.0
_OK, _PARTIAL, _NOT_SATISFIABLE, _TOO_MANY = 200, 206, 416, 429
_SERVER_FAULT = 500
_NOT_ALLOWED = (401, 403)


class GivenUp(Exception):
    """The transfer is not wanted any more."""


class Denied(PullFailed):
    """The hub does not give the file to this caller."""

    default_id = "model-gated"


class Transfer:
    """Brings files. `check` raises GivenUp when they are not wanted any more, `pause` waits, and ends early then.

    `moved` is told each number of bytes that came (or, negative, had to be thrown away).
    """

    def __init__(
        self,
        client: httpx.Client,
        *,
        check: Callable[[], None],
        pause: Callable[[float], object],
        moved: Callable[[int], None],
    ) -> None:
        self._client = client
        self._check = check
        self._pause = pause
        self._moved = moved

    def fetch(self, url: str, file: HubFile, target: Path) -> None:
        """Make `target` the whole file, from what it already has of it.

        Raises HubUnreachable and PullFailed, which leave what came for the next time, or GivenUp.
        """
        with _Growing(target, file, self._check) as growing:
            resumed = growing.size > 0
            while True:
                self._fill(url, file, growing)
                if growing.right:
                    growing.sync()
                    return
                self._moved(-growing.size)
                growing.restart()
                if not resumed:
                    raise PullFailed(
                        f"{file.name} arrived damaged: its sha256 is not the one that the hub tells",
                        hint="Pull it again; if it comes so again, a proxy or a mirror in between is to blame.",
                        id="model-damaged",
                    )
                resumed = False

    def _fill(self, url: str, file: HubFile, growing: _Growing) -> None:
        """Append what is missing, over as many connections as it takes."""
        idle = 0
        while growing.size < file.size_bytes:
            before = growing.size
            try:
                pause_s = self._connection(url, file, growing)
                why = "the hub is busy"
            except (httpx.TransportError, httpx.TooManyRedirects, httpx.InvalidURL) as error:
                pause_s, why = 0.0, str(error) or type(error).__name__
            self._check()
            if growing.size >= file.size_bytes:
                return
            idle = 0 if growing.size > before else idle + 1
            if idle >= MAX_IDLE_TRIES:
                raise HubUnreachable(
                    f"{file.name} stopped at {growing.size} of {file.size_bytes} bytes: {why}",
                    hint="What came is kept: homellm pull goes on from there.",
                    original=f"{url}: {why}",
                )
            if idle:
                self._pause(min(max(pause_s, 0.25 * 2**idle), MAX_PAUSE_S))
            self._check()

    def _connection(self, url: str, file: HubFile, growing: _Growing) -> float:
        """One request; the seconds that the server asks to wait for, if it does."""
        headers = {"Range": f"bytes={growing.size}-"} if growing.size else {}
        with self._client.stream("GET", url, headers=headers) as reply:
            if reply.status_code == _TOO_MANY or reply.status_code >= _SERVER_FAULT:
                return _retry_after(reply)
            if reply.status_code == _NOT_SATISFIABLE or not self._continues(reply, growing):
                self._moved(-growing.size)
                growing.restart()
            if reply.status_code == _NOT_SATISFIABLE:
                return 0.0
            _refuse(reply, file)
            for piece in reply.iter_raw():
                self._check()
                wanted = piece[: file.size_bytes - growing.size]
                growing.write(wanted)
                self._moved(len(wanted))
                if len(wanted) < len(piece):
                    break
        return 0.0

    def _continues(self, reply: httpx.Response, growing: _Growing) -> bool:
        """Whether an answer goes on where the file ends: one from the start means that all comes again."""
        if reply.status_code == _OK:
            return growing.size == 0
        said = reply.headers.get("Content-Range", "")
        return reply.status_code != _PARTIAL or said.startswith(f"bytes {growing.size}-")


def _refuse(reply: httpx.Response, file: HubFile) -> None:
    """Raise for an answer that is not the file."""
    if reply.status_code in (_OK, _PARTIAL):
        return
    said = f"{reply.status_code} {reply.reason_phrase}".rstrip()
    code = reply.headers.get("X-Error-Code", "")
    if reply.status_code in _NOT_ALLOWED or code == "GatedRepo":
        raise Denied(f"the hub does not give {file.name} to this caller ({said})", original=f"{said} {code}")
    raise PullFailed(
        f"the hub answers {said} to the request for {file.name}",
        hint="Try again later; if it stays so, the repository has changed: homellm pull asks anew.",
        original=f"{reply.url}: {said} {code}",
    )


def _retry_after(reply: httpx.Response) -> float:
    asked = reply.headers.get("Retry-After", "")
    return min(float(asked), MAX_PAUSE_S) if asked.isdigit() else 0.0


class _Growing:
    """A file that grows, with the digest of what is in it. Errors of the disk are PullFailed."""

    def __init__(self, path: Path, file: HubFile, check: Callable[[], None]) -> None:
        self._path = path
        self._file = file
        self._check = check
        self.size = 0
        self._digest = self._begin()

    def __enter__(self) -> _Growing:
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._stream: BinaryIO = self._path.open("a+b", buffering=0)
        except OSError as error:
            raise disk_failed(error, self._path) from error
        there = self._stream.seek(0, os.SEEK_END)
        if there > self._file.size_bytes:
            there = 0
            self.restart()
        self._stream.seek(0)
        while self.size < there and (piece := self._stream.read(min(CHUNK_BYTES, there - self.size))):
            self._check()
            self._count(piece)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stream.close()

    @property
    def right(self) -> bool:
        """Whether its digest is that of the file; nothing is known of a file whose digest was not told."""
        return not self._file.digest or self._digest.hexdigest() == self._file.blob

    def write(self, data: bytes) -> None:
        """Append."""
        view = memoryview(data)
        try:
            while view:
                written = self._stream.write(view)
                self._count(view[:written])
                view = view[written:]
        except OSError as error:
            raise disk_failed(error, self._path) from error

    def restart(self) -> None:
        """Throw away what is there."""
        self._stream.truncate(0)
        self.size = 0
        self._digest = self._begin()

    def sync(self) -> None:
        """Have it on the disk before it gets the name of a whole file."""
        try:
            os.fsync(self._stream.fileno())
        except OSError as error:
            raise disk_failed(error, self._path) from error

    def _count(self, data: bytes | memoryview) -> None:
        self._digest.update(data)
        self.size += len(data)

    def _begin(self) -> hashlib._Hash:
        if not self._file.digest.startswith("git:"):
            return hashlib.sha256()
        return hashlib.sha1(b"blob %d\0" % self._file.size_bytes, usedforsecurity=False)  # as git names a file


def disk_failed(error: OSError, path: Path) -> PullFailed:
    """An error of the cache's disk in words."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return PullFailed(
            f"the disk of {path.parent} is full",
            hint="Free some space and pull again: it goes on from what came. HF_HOME puts the cache on another disk.",
            id="disk-full",
            original=str(error),
        )
    return PullFailed(
        f"{path.parent} cannot be written: {error.strerror or error}",
        hint="Check its owner and mode, or set HF_HOME to another folder.",
        id="cache-not-writable",
        original=str(error),
    )

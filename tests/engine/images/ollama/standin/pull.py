"""/api/pull: manifest, blobs by ranges from where the registry points to, resumable as Ollama's are."""

import hashlib
import http.client
import json
import socket
import ssl
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from standin.app import App, go_error
from standin.names import Name
from standin.server import Exchange

ACCEPT = "application/vnd.docker.distribution.manifest.v2+json"
ATTEMPTS = 6
PROGRESS_S = 0.06
PARTS, SMALLEST_PART, LARGEST_PART = 16, 100 * 10**6, 1000 * 10**6
CHUNK = 1 << 16
_locks: dict[str, threading.Lock] = {}


class PullError(Exception):
    """The error of a pull, as it stands in the answer."""


class Cancelled(Exception):
    """Nobody listens any more: what came stays on the disk."""


def pull(app: App, exchange: Exchange) -> None:
    request = exchange.document()
    name = app.name_of(request)
    streamed = request.get("stream") is not False
    last: dict[str, Any] = {}
    try:
        for last in pulled(app, name, insecure=bool(request.get("insecure")), gone=exchange.gone):
            if streamed:
                if not exchange.began:
                    exchange.start("application/x-ndjson")
                exchange.row(last)
    except Cancelled:
        return
    except (PullError, OSError) as error:
        last = {"error": go_error(error) if isinstance(error, OSError) else str(error)}
        if streamed and exchange.began:
            exchange.row(last)
        else:
            exchange.json(500, last, "application/json")
        return
    if not streamed:
        exchange.json(200, last, "application/json")


def pulled(app: App, name: Name, *, insecure: bool, gone: Callable[[], bool]) -> Iterator[dict[str, Any]]:
    """Pull it; the rows of the answer. Raises PullError, OSError and Cancelled."""
    base = f"{'http' if insecure else 'https'}://{name.host}/v2/{name.namespace}/{name.model}"
    yield {"status": "pulling manifest"}
    data = _manifest(app, f"{base}/manifests/{name.tag}")
    manifest = json.loads(data)
    rows = [*manifest["layers"], *([manifest["config"]] if manifest.get("config") else [])]
    fresh = []
    for row in rows:
        digest = row["digest"]
        if app.store.blob(digest).exists():
            size = app.store.blob(digest).stat().st_size
            yield {"status": f"pulling {digest[7:19]}", "digest": digest, "total": size, "completed": size}
            continue
        yield from _Download(app, base, digest, gone).rows()
        fresh.append(digest)
    yield {"status": "verifying sha256 digest"}
    for digest in fresh:
        _verify(app.store.blob(digest), digest)
    yield {"status": "writing manifest"}
    app.store.write_manifest(app.store.existing(name), data)
    yield {"status": "success"}


def _verify(path: Path, digest: str) -> None:
    with path.open("rb") as file:
        got = f"sha256:{hashlib.file_digest(file, 'sha256').hexdigest()}"
    if got != digest:
        path.unlink()
        raise PullError(f"digest mismatch, file must be downloaded again: want {digest}, got {got}")


def _manifest(app: App, url: str) -> bytes:
    try:
        with _open(url, headers={"Accept": ACCEPT}) as reply:
            return bytes(reply.read())
    except urllib.error.HTTPError as error:
        error.close()
        reason = "file does not exist" if error.code == 404 else f"{error.code}: {error.reason}"
        raise PullError(f"pull model manifest: {reason}") from error
    except OSError as error:
        failed = f'Get "{url}": {_dial(url, error)}'
        app.journal.request_failed(failed)
        raise PullError(f"pull model manifest: {failed}") from error


def _dial(url: str, error: OSError) -> str:
    """An error of the network as Go words it."""
    reason = getattr(error, "reason", error)
    where = urllib.parse.urlsplit(url)
    port = where.port or (443 if where.scheme == "https" else 80)
    if isinstance(reason, ssl.SSLError):
        return "tls: first record does not look like a TLS handshake"
    if isinstance(reason, socket.gaierror):
        rows = [line.split() for line in Path("/etc/resolv.conf").read_text().splitlines()]
        server = next((row[1] for row in rows if row[:1] == ["nameserver"]), "127.0.0.1")
        return f"dial tcp: lookup {where.hostname} on {server}:53: no such host"
    if isinstance(reason, ConnectionRefusedError):
        return f"dial tcp {where.hostname}:{port}: connect: connection refused"
    if isinstance(reason, TimeoutError):
        return f"dial tcp {where.hostname}:{port}: i/o timeout"
    return str(reason).lower()


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *args: Any, **kwargs: Any) -> None:
        """Blobs are answered with where they lie; the answer itself is wanted."""


_opener = urllib.request.build_opener(_NoRedirect, urllib.request.ProxyHandler({}))


def _open(url: str, method: str = "GET", headers: dict[str, str] | None = None) -> Any:
    return _opener.open(urllib.request.Request(url, headers=headers or {}, method=method), timeout=30)


@dataclass(slots=True)
class _Part:
    """A range of a blob, kept beside the file so that another pull goes on here."""

    path: Path
    number: int
    offset: int
    size: int
    completed: int = 0

    def write(self) -> None:
        row = {"N": self.number, "Offset": self.offset, "Size": self.size, "Completed": self.completed}
        self.path.write_text(json.dumps(row, separators=(",", ":")) + "\n")


class _Download:
    """One blob."""

    def __init__(self, app: App, base: str, digest: str, gone: Callable[[], bool]) -> None:
        self.app, self.gone, self.digest = app, gone, digest
        self.url = f"{base}/blobs/{digest}"
        self.path = app.store.blob(digest)
        self.partial = self.path.with_name(self.path.name + "-partial")
        self.completed = 0

    def rows(self) -> Iterator[dict[str, Any]]:
        """Its rows while it comes; nothing when it was quick."""
        with _alone(self.digest):
            if self.path.exists():
                return
            try:
                parts = self._parts()
            except urllib.error.HTTPError as error:
                error.close()
                raise PullError("file does not exist") from error
            total = sum(part.size for part in parts)
            self.completed = sum(part.completed for part in parts)
            self.app.journal.downloading(self.digest, len(parts), parts[0].size)
            with self.partial.open("r+b" if self.partial.exists() else "w+b") as file:
                file.truncate(total)
                direct = self._direct()
                for part in parts:
                    yield from self._fetch(direct, part, file, total)
            self.partial.replace(self.path)
            for part in parts:
                part.path.unlink()

    def _parts(self) -> list[_Part]:
        found = sorted(
            self.path.parent.glob(f"{self.partial.name}-*"), key=lambda path: int(path.name.rpartition("-")[2])
        )
        if found:
            rows = [json.loads(path.read_text()) for path in found]
            return [_Part(p, r["N"], r["Offset"], r["Size"], r["Completed"]) for p, r in zip(found, rows, strict=True)]
        with _open(self.url, "HEAD") as reply:
            total = int(reply.headers["Content-Length"])
        size = min(max(total // PARTS, SMALLEST_PART), LARGEST_PART)
        parts = []
        for number, offset in enumerate(range(0, total, size)):
            path = self.partial.with_name(f"{self.partial.name}-{number}")
            parts.append(_Part(path, number, offset, min(size, total - offset)))
            parts[-1].write()
        return parts

    def _direct(self) -> str:
        """Where the blob lies: the registry points to it."""
        try:
            with _open(self.url) as reply:
                return str(reply.url)
        except urllib.error.HTTPError as error:
            error.close()
            if error.code in (301, 302, 303, 307, 308):
                return urllib.parse.urljoin(self.url, error.headers["Location"])
            raise PullError("file does not exist") from error

    def _fetch(self, url: str, part: _Part, file: Any, total: int) -> Iterator[dict[str, Any]]:
        shown = time.monotonic()
        for attempt in range(ATTEMPTS):
            try:
                for count in self._pieces(url, part, file):
                    part.completed += count
                    self.completed += count
                    if time.monotonic() - shown > PROGRESS_S:
                        shown = time.monotonic()
                        yield self._row(total)
                return
            except (http.client.IncompleteRead, ConnectionError, TimeoutError) as error:
                words = "unexpected EOF" if isinstance(error, http.client.IncompleteRead) else str(error).lower()
                wait = 2**attempt
                text = f"{self.digest[7:19]} part {part.number} attempt {attempt} failed: {words}, retrying in {wait}s"
                self.app.journal.say("INFO", "download.go:299", text)
                yield from self._waited(wait, total)
            finally:
                part.write()
        raise PullError("max retries exceeded: unexpected EOF")

    def _pieces(self, url: str, part: _Part, file: Any) -> Iterator[int]:
        first, last = part.offset + part.completed, part.offset + part.size - 1
        rate, started, sent = self.app.knobs.pull_bytes_s, time.monotonic(), 0
        if first > last:
            return
        with _open(url, headers={"Range": f"bytes={first}-{last}"}) as reply:
            file.seek(first)
            left = last - first + 1
            while left > 0:
                if self.gone():
                    raise Cancelled
                piece = reply.read1(min(left, CHUNK))
                if not piece:
                    raise http.client.IncompleteRead(b"", left)
                file.write(piece)
                left -= len(piece)
                sent += len(piece)
                yield len(piece)
                if rate:
                    time.sleep(max(0.0, started + sent / rate - time.monotonic()))

    def _waited(self, seconds: float, total: int) -> Iterator[dict[str, Any]]:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if self.gone():
                raise Cancelled
            time.sleep(PROGRESS_S)
            yield self._row(total)

    def _row(self, total: int) -> dict[str, Any]:
        status = f"pulling {self.digest[7:19]}"
        return {"status": status, "digest": self.digest, "total": total, "completed": self.completed}


@contextmanager
def _alone(digest: str) -> Iterator[None]:
    """One download of a blob at a time; the next one finds it here."""
    with _locks.setdefault(digest, threading.Lock()):
        yield

"""A hub on this machine: the part of Hugging Face's API that a download uses, over real HTTP, with faults on request.

Repositories are set with `add`. Files stand in a storage of another host name, to which `resolve` leads (302), as the
hub's do: `127.0.0.1` is the hub, `localhost` its storage. Answers, headers and error codes after the hub's own (its
OpenAPI, and what huggingface_hub expects of it).
"""

from __future__ import annotations

import hashlib
import json
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

COMMIT = "5dc1b7bb0e3fb4d0ab1f1ac8e5e0f2b8f6a4c3d2"
_RANGE = re.compile(r"bytes=(\d+)-(\d*)")
#: Files at least so large are kept as LFS and known by their sha256, smaller ones by git's sha1.
LFS_BYTES = 1024


@dataclass
class Repo:
    """A repository at one commit."""

    files: dict[str, bytes | Path]
    commit: str = COMMIT
    gated: bool = False
    private: bool = False
    branches: tuple[str, ...] = ("main",)

    def data(self, name: str) -> bytes:
        content = self.files[name]
        if isinstance(content, Path):
            content = self.files[name] = content.read_bytes()
        return content


@dataclass
class Asked:
    """A request that came in."""

    method: str
    path: str
    host: str
    token: str | None
    range: str | None


@dataclass
class HubServer:
    """The hub. `cut_after` are numbers of bytes after which the next downloads are cut off, one each.

    `hold` holds every download (a request without an end) after half of it until it is set; `bent` changes what the
    storage sends.
    """

    token: str = "hf_right"
    repos: dict[str, Repo] = field(default_factory=dict)
    asked: list[Asked] = field(default_factory=list)
    cut_after: list[int] = field(default_factory=list)
    busy: list[int] = field(default_factory=list)
    ranges: bool = True
    hold: threading.Event | None = None
    holding: threading.Event = field(default_factory=threading.Event)
    bent: Callable[[bytes], bytes] = field(default=lambda data: data)

    def __post_init__(self) -> None:
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"hub": self}))
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()

    @property
    def port(self) -> int:
        return int(self._server.server_address[1])

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def add(self, name: str, files: dict[str, bytes | Path], **more: Any) -> Repo:
        self.repos[name] = Repo(files, **more)
        return self.repos[name]

    def downloads(self) -> list[Asked]:
        """What was asked of the storage, with a body."""
        return [one for one in self.asked if one.path.startswith("/storage/") and one.method == "GET"]

    def close(self) -> None:
        if self.hold is not None:
            self.hold.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


@contextmanager
def hub_server() -> Iterator[HubServer]:
    server = HubServer()
    try:
        yield server
    finally:
        server.close()


@lru_cache(maxsize=64)
def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


@lru_cache(maxsize=64)
def git_sha1(data: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()


def digest(data: bytes) -> str:
    """What the hub calls a file's content."""
    return sha256(data) if len(data) >= LFS_BYTES else git_sha1(data)


def sibling(name: str, data: bytes) -> dict[str, Any]:
    lfs = {"lfs": {"sha256": sha256(data), "size": len(data), "pointerSize": 134}} if len(data) >= LFS_BYTES else {}
    return {"rfilename": name, "size": len(data), "blobId": git_sha1(data), **lfs}


class _Handler(BaseHTTPRequestHandler):
    hub: HubServer

    def log_message(self, format: str, *args: object) -> None:
        pass

    def do_HEAD(self) -> None:
        self._answer()

    def do_GET(self) -> None:
        self._answer()

    def _answer(self) -> None:
        bearer = self.headers.get("Authorization")
        token = bearer.removeprefix("Bearer ") if bearer else None
        host = (self.headers.get("Host") or "").partition(":")[0]
        path = unquote(urlsplit(self.path).path)
        self.hub.asked.append(Asked(self.command, path, host, token, self.headers.get("Range")))
        if path.startswith("/storage/"):
            self._storage(path.removeprefix("/storage/"))
            return
        if path.startswith("/api/models/"):
            name, _, revision = path.removeprefix("/api/models/").partition("/revision/")
            self._model(name, revision or "main", token)
            return
        found = re.fullmatch(r"/([^/]+/[^/]+)/resolve/([^/]+)/(.+)", path)
        if found is None:
            self._refuse(404, "")
            return
        self._resolve(found[1], found[2], found[3], token)

    def _repo(self, name: str, revision: str, token: str | None) -> Repo | None:
        repo = self.hub.repos.get(name)
        if token is not None and token != self.hub.token:
            self._refuse(401, "", "Invalid credentials in Authorization header")
        elif repo is None or (repo.private and token is None):
            self._refuse(401 if token is None else 404, "RepoNotFound", "Repository not found")
        elif revision not in (*repo.branches, repo.commit):
            self._refuse(404, "RevisionNotFound", "Invalid rev id")
        else:
            return repo
        return None

    def _model(self, name: str, revision: str, token: str | None) -> None:
        repo = self._repo(name, revision, token)
        if repo is None:
            return
        siblings = [sibling(file, repo.data(file)) for file in repo.files]
        self._json(
            {
                "id": name,
                "modelId": name,
                "sha": repo.commit,
                "private": repo.private,
                "gated": "manual" if repo.gated else False,
                "siblings": siblings,
                "tags": ["gguf"],
                "downloads": 1,
            }
        )

    def _resolve(self, name: str, revision: str, file: str, token: str | None) -> None:
        repo = self._repo(name, revision, token)
        if repo is None:
            return
        if file not in repo.files:
            self._refuse(404, "EntryNotFound", "Entry not found")
            return
        if repo.gated and token is None:
            self._refuse(401, "GatedRepo", "Access to this model is restricted")
            return
        data = repo.data(file)
        self.send_response(302)
        self.send_header("Location", f"http://localhost:{self.hub.port}/storage/{name}/{file}")
        self.send_header("X-Repo-Commit", repo.commit)
        self.send_header("X-Linked-Etag", f'"{digest(data)}"')
        self.send_header("X-Linked-Size", str(len(data)))
        self.send_header("Content-Length", "0")
        self.end_headers()

    def _storage(self, path: str) -> None:
        name, file = "/".join(path.split("/")[:2]), "/".join(path.split("/")[2:])
        data = self.hub.bent(self.hub.repos[name].data(file))
        if self.hub.busy:
            self.send_response(self.hub.busy.pop(0))
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        wanted = _RANGE.fullmatch(self.headers.get("Range") or "") if self.hub.ranges else None
        start = int(wanted[1]) if wanted else 0
        end = min(int(wanted[2]) + 1 if wanted and wanted[2] else len(data), len(data))
        if wanted and start >= len(data):
            self.send_response(416)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        self.send_response(206 if wanted else 200)
        self.send_header("Content-Length", str(end - start))
        self.send_header("ETag", f'"{digest(data)}"')
        if wanted:
            self.send_header("Content-Range", f"bytes {start}-{end - 1}/{len(data)}")
        self.end_headers()
        if self.command == "GET":
            self._send(data[start:end], download=not (wanted and wanted[2]))

    def _send(self, data: bytes, *, download: bool) -> None:
        cut = self.hub.cut_after.pop(0) if self.hub.cut_after and download else None
        try:
            if self.hub.hold is not None and download:
                self.wfile.write(data[: len(data) // 2])
                self.wfile.flush()
                self.hub.holding.set()
                self.hub.hold.wait()
                data = data[len(data) // 2 :]
            self.wfile.write(data if cut is None else data[:cut])
        except OSError:
            self.close_connection = True
        if cut is not None:
            self.close_connection = True

    def _json(self, document: dict[str, Any]) -> None:
        body = json.dumps(document).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _refuse(self, status: int, code: str, message: str = "") -> None:
        self.send_response(status)
        if code:
            self.send_header("X-Error-Code", code)
        if message:
            self.send_header("X-Error-Message", message)
        self.send_header("Content-Length", "0")
        self.end_headers()

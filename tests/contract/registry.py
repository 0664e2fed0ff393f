"""A registry in a thread: one small image under any name, with the faults that a name asks for."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import tarfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

_JSON = "application/json"
_MANIFEST = "application/vnd.docker.distribution.manifest.v2+json"


class Registry:
    """Serves on 127.0.0.1, which every engine takes without TLS.

    The repository `homellm-test-image` is there; `homellm-test-denied` wants a login, `homellm-test-flaky` breaks the
    first `flaky` connections off, every other one is unknown.
    """

    def __init__(self, *, note: str) -> None:
        self.flaky = 0
        self.hold = threading.Event()
        self.hold.set()
        layer = _layer(note)
        config = json.dumps(
            {
                "architecture": "amd64",
                "os": "linux",
                "config": {"Cmd": ["/nothing"], "Env": ["A=b"]},
                "rootfs": {"type": "layers", "diff_ids": [_digest(gzip.decompress(layer))]},
                "history": [{"created": "2026-01-01T00:00:00Z", "created_by": note}],
            }
        ).encode()
        self.blobs = {_digest(layer): layer, _digest(config): config}
        self.manifest = json.dumps(
            {
                "schemaVersion": 2,
                "mediaType": _MANIFEST,
                "config": {
                    "mediaType": "application/vnd.docker.container.image.v1+json",
                    "size": len(config),
                    "digest": _digest(config),
                },
                "layers": [
                    {
                        "mediaType": "application/vnd.docker.image.rootfs.diff.tar.gzip",
                        "size": len(layer),
                        "digest": _digest(layer),
                    }
                ],
            }
        ).encode()
        registry = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                registry.answer(self)

            do_HEAD = do_GET  # noqa: N815 - http.server looks it up by this name

            def log_message(self, *args: object) -> None:
                """Quiet."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        self._thread.start()

    @property
    def host(self) -> str:
        """Name of the registry in an image's name."""
        return f"127.0.0.1:{self._server.server_address[1]}"

    def close(self) -> None:
        """Stop serving."""
        self.hold.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def answer(self, request: BaseHTTPRequestHandler) -> None:
        """One request."""
        parts = request.path.strip("/").split("/")
        name = "/".join(parts[1:-2])
        if name == "homellm-test-flaky" and self.flaky > 0:
            self.flaky -= 1
            request.close_connection = True
            return
        _send(request, *self._reply(name, parts))

    def _reply(self, name: str, parts: list[str]) -> tuple[int, bytes, str]:
        """Status, body and its kind."""
        if parts == ["v2"]:
            return 200, b"{}", _JSON
        kind, ref = parts[-2:]
        if name == "homellm-test-denied":
            return 401, _error("UNAUTHORIZED", "authentication required"), _JSON
        if name not in ("homellm-test-image", "homellm-test-flaky"):
            return 404, _error("NAME_UNKNOWN", "repository name not known"), _JSON
        if kind == "manifests":
            if ref not in ("1", _digest(self.manifest)):
                return 404, _error("MANIFEST_UNKNOWN", "manifest unknown"), _JSON
            return 200, self.manifest, _MANIFEST
        self.hold.wait()
        return 200, self.blobs[ref], "application/octet-stream"


def _send(request: BaseHTTPRequestHandler, status: int, body: bytes, kind: str) -> None:
    request.send_response(status)
    request.send_header("Content-Type", kind)
    request.send_header("Content-Length", str(len(body)))
    request.send_header("Docker-Content-Digest", _digest(body))
    request.send_header("Docker-Distribution-Api-Version", "registry/2.0")
    request.end_headers()
    if request.command == "GET":
        request.wfile.write(body)


def _error(code: str, message: str) -> bytes:
    return json.dumps({"errors": [{"code": code, "message": message}]}).encode()


def _layer(note: str) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        entry = tarfile.TarInfo("note")
        entry.size = len(note)
        archive.addfile(entry, io.BytesIO(note.encode()))
    return gzip.compress(buffer.getvalue(), mtime=0)


def _digest(data: bytes) -> str:
    return f"sha256:{hashlib.sha256(data).hexdigest()}"

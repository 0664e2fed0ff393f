"""A registry that Ollama pulls models from, in a thread: http, ranges, and blobs that lie under another host name.

Ollama asks the registry for a blob, follows the answer 307 to another host, and reads there by ranges. Both hosts are
this machine: the second is its address once more, written as IPv6 writes IPv4 (`[::ffff:172.17.0.1]`), so that no
container needs a hosts file.
"""

import json
import re
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from tests.engine.support.ollama_layers import Layer, config_of, layers_of

MANIFEST_KIND = "application/vnd.docker.distribution.manifest.v2+json"
CHUNK = 1 << 16


@dataclass(frozen=True, slots=True)
class Request:
    """What somebody asked: for tests of resuming, `range` is the header as it came."""

    method: str
    path: str
    range: str


class OllamaRegistry:
    """Serves from its making to `close()`. `address` must be one that containers reach: the bridge's gateway.

    Knobs, to be changed at any time: `rate_bytes_s` slows blobs down, `break_after_bytes` cuts the next blob's answer
    off once, `gone` are digests that it no longer has.
    """

    def __init__(self, address: str) -> None:
        self.address = address
        self.rate_bytes_s = 0.0
        self.break_after_bytes: int | None = None
        self.gone: set[str] = set()
        self.requests: list[Request] = []
        self._layers: dict[str, Layer] = {}
        self._manifests: dict[str, bytes] = {}
        self._server = _Server((address, 0), _handler(self))
        self.port = int(self._server.server_address[1])
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)
        self._thread.start()

    @property
    def host(self) -> str:
        """Host and port, as they stand in a store's folder `manifests/`."""
        return f"{self.address}:{self.port}"

    def add(self, name: str, gguf: Path, *, family: str | None = None, **layers: Any) -> str:
        """Offer a model; returns the name to pull, with `"insecure": true`.

        `name` is `model:tag`. `family` is the config's, the GGUF's architecture unless given, `""` for none. `layers`
        are `template`, `system`, `params` (a mapping), `license`, `projector` and `adapter` (paths).
        """
        parts = layers_of(gguf, **layers)
        config = config_of(gguf, parts, family)
        manifest = {
            "schemaVersion": 2,
            "mediaType": MANIFEST_KIND,
            "config": config.entry(),
            "layers": [layer.entry() for layer in parts],
        }
        self._layers |= {layer.digest: layer for layer in (*parts, config)}
        self._manifests[name] = json.dumps(manifest).encode()
        return f"http://{self.host}/library/{name}"

    def manifest(self, name: str) -> Mapping[str, Any]:
        """The manifest of a model that it offers."""
        return dict(json.loads(self._manifests[name]))

    def swap(self, digest: str, data: bytes) -> None:
        """Answer other bytes under that digest from now on."""
        self._layers[digest] = replace(self._layers[digest], source=data, size=len(data))

    def manifest_bytes(self, name: str) -> bytes | None:
        return self._manifests.get(name)

    def layer(self, digest: str) -> Layer | None:
        return None if digest in self.gone else self._layers.get(digest)

    def elsewhere(self, digest: str) -> str:
        """Where a blob really lies."""
        return f"http://[::ffff:{self.address}]:{self.port}/data/{digest}"

    def paced(self, chunks: Iterator[bytes]) -> Iterator[bytes]:
        """The chunks, at the pace and up to the break that are set."""
        limit, self.break_after_bytes = self.break_after_bytes, None
        sent = 0
        for chunk in chunks:
            if limit is not None and sent + len(chunk) > limit:
                yield chunk[: limit - sent]
                raise ConnectionResetError("the registry breaks off, as it was told")
            yield chunk
            sent += len(chunk)
            if self.rate_bytes_s:
                time.sleep(len(chunk) / self.rate_bytes_s)

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that is killed or cancels its pull breaks its connection; nothing else may go wrong."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


def _handler(offered: OllamaRegistry) -> type[BaseHTTPRequestHandler]:
    class Handler(_Handler):
        registry = offered

    return Handler


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    registry: OllamaRegistry

    def do_GET(self) -> None:
        self._answer(body=True)

    def do_HEAD(self) -> None:
        self._answer(body=False)

    def log_message(self, *args: Any) -> None:
        """Its answers are no part of a test's output."""

    def _answer(self, *, body: bool) -> None:
        registry = self.registry
        registry.requests.append(Request(self.command, self.path, self.headers.get("Range") or ""))
        if found := re.fullmatch(r"/v2/library/([^/]+)/manifests/([^/]+)", self.path):
            self._send_manifest(registry.manifest_bytes(f"{found[1]}:{found[2]}"), body=body)
            return
        found = re.fullmatch(r"(/v2/library/[^/]+/blobs|/data)/(sha256:[0-9a-f]{64})", self.path)
        layer = registry.layer(found[2]) if found else None
        if layer is None:
            self._send(404, b"{}", body=body)
        elif body and not self.path.startswith("/data/"):
            self._redirect(registry.elsewhere(layer.digest))
        else:
            self._send_layer(layer, body=body)

    def _send_manifest(self, manifest: bytes | None, *, body: bool) -> None:
        unknown = b'{"errors":[{"code":"MANIFEST_UNKNOWN","message":"manifest unknown"}]}'
        self._send(200 if manifest else 404, manifest or unknown, body=body)

    def _redirect(self, target: str) -> None:
        self.send_response(307)
        self.send_header("Location", target)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def _send(self, status: int, data: bytes, *, body: bool) -> None:
        self.send_response(status)
        self.send_header("Content-Type", MANIFEST_KIND if status == 200 else "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if body:
            self.wfile.write(data)

    def _send_layer(self, layer: Layer, *, body: bool) -> None:
        first, last, status = 0, layer.size - 1, 200
        if asked := re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range") or ""):
            first, last, status = int(asked[1]), min(int(asked[2] or last), last), 206
        self.send_response(status)
        self.send_header("Content-Length", str(last - first + 1))
        if status == 206:
            self.send_header("Content-Range", f"bytes {first}-{last}/{layer.size}")
        self.end_headers()
        if not body:
            return
        try:
            for chunk in self.registry.paced(layer.chunks(first, last - first + 1, CHUNK)):
                self.wfile.write(chunk)
        except (BrokenPipeError, ConnectionResetError):
            # Ollama hangs up when a pull is cancelled; ours is the break that was asked for.
            self.close_connection = True

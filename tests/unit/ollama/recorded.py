"""What a real Ollama 0.33.0 kept and answered, recorded by hand: its store, and its API over a loopback port."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

_FOLDER = Path(__file__).parents[2] / "fixtures" / "ollama"
REGISTRY = "registry.test:18555/library"


def store_files() -> dict[str, str]:
    """The small files of the store by path: manifests, configs, parameters, system prompts."""
    files: dict[str, str] = json.loads((_FOLDER / "store.json").read_text())["files"]
    return files


def write_store(root: Path) -> Path:
    """The store as it was; weights are holes of the right size."""
    recorded = json.loads((_FOLDER / "store.json").read_text())
    for path, text in recorded["files"].items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    for path, size in recorded["large"].items():
        with (root / path).open("wb") as file:
            file.truncate(size)
    return root


def answers() -> list[dict[str, Any]]:
    """Requests and answers, in the order in which they were made."""
    recorded: list[dict[str, Any]] = json.loads((_FOLDER / "answers.json").read_text())["answers"]
    return recorded


class Replay:
    """A server that gives the recorded answer to a request it knows, and 418 to any other one."""

    def __init__(self) -> None:
        self.extra: list[dict[str, Any]] = []
        self.seen: list[tuple[str, str, Any]] = []
        self.url = ""

    def answer(self, method: str, path: str, body: Any) -> dict[str, Any] | None:
        self.seen.append((method, path, body))
        for known in [*self.extra, *answers()]:
            if known["method"] == method and known["path"] == path and known["body"] == body:
                return known
        return None


@contextmanager
def replaying() -> Iterator[Replay]:
    """The recorded API on a loopback port."""
    replay = Replay()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _serve(self) -> None:
            raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            body = json.loads(raw) if raw and "json" in (self.headers.get("Content-Type") or "") else (len(raw) or None)
            known = replay.answer(self.command, self.path, body)
            if known is None:
                known = {"status": 418, "type": "application/json", "answer": '{"error":"not recorded"}'}
            data = known["answer"].encode()
            self.send_response(known["status"])
            self.send_header("Content-Type", known["type"] or "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(data)

        do_GET = do_POST = do_HEAD = do_DELETE = _serve  # noqa: N815 - names of the standard library

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    replay.url = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield replay
    finally:
        server.shutdown()
        server.server_close()
        thread.join(60)

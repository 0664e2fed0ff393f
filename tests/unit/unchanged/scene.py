"""A stack of one model that an `up` has just proved: an engine and a server that answer, and files that stand there.

The engine's answers are those of a real Engine 20.10 about a real container (tests/fixtures/engine-20.10.json); its
process is this one, whose /proc can be read.
"""

from __future__ import annotations

import base64
import copy
import io
import json
import os
import threading
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from socketserver import ThreadingMixIn, UnixStreamServer
from typing import Any

from homellm.adapters import docker_parse
from homellm.domain.evidence import Evidence, Props
from homellm.domain.secret import Secret
from homellm.domain.stack import Model, Source, Stack
from homellm.domain.world import Process
from homellm.unchanged.confirm import confirmed
from homellm.unchanged.files import FileFacts, of_files
from homellm.unchanged.keep import Begun, Proved, begin, keep

RECORDED = json.loads((Path(__file__).parents[2] / "fixtures" / "engine-20.10.json").read_text())
PRINTED = "nuc  1 model · Docker 20.10\n".encode()
KEY = "a-key-of-the-test"
#: An answer: status, body, further headers.
Answer = tuple[int, bytes, Mapping[str, str]]


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self._answer()

    def do_HEAD(self) -> None:
        self._answer()

    def _answer(self) -> None:
        status, body, headers = self.server.answer(self.path, dict(self.headers))  # type: ignore[attr-defined]
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Keep silent."""


class UnixServer(ThreadingMixIn, UnixStreamServer):
    daemon_threads = True


class Served:
    """An HTTP server in threads of its own; `answer` may be replaced."""

    def __init__(self, server: Any, answer: Callable[[str, Mapping[str, str]], Answer]) -> None:
        self.server = server
        self.server.answer = answer
        self._thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        self._thread.start()

    def close(self) -> None:
        self.server.shutdown()
        self._thread.join()
        self.server.server_close()


class Tty(io.StringIO):
    """A stdout that is no terminal, with an encoding as files have it."""

    encoding = "utf-8"  # type: ignore[assignment]


class Scene:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.docs: dict[str, Any] = copy.deepcopy(RECORDED)
        self.docs["info"]["ID"] = f"engine of {folder}"  # the lock is of engine and stack, and tests run side by side
        self.props: dict[str, Any] = {
            "default_generation_settings": {"n_ctx": 4096},
            "total_slots": 2,
            "model_alias": "m0",
            "model_path": "/models/m.gguf",
            "build_info": "b11669",
            "is_sleeping": False,
            "chat_template_caps": {"supports_tools": True},
            "chat_template": "{{ messages }}",
        }
        self.health, self.asked_with = 200, ""
        self.engine = Served(UnixServer(str(folder / "docker.sock"), _Handler), self._engine_says)
        self.server = Served(ThreadingHTTPServer(("127.0.0.1", 0), _Handler), self._server_says)
        self.port: int = self.server.server.server_address[1]
        self.docs["inspect"]["State"]["Pid"] = os.getpid()
        self.docs["inspect"]["NetworkSettings"]["Ports"]["8080/tcp"][0]["HostPort"] = str(self.port)
        self.docs["list"][0]["Ports"][0]["PublicPort"] = self.port
        self.model_file, self.file = folder / "m.gguf", folder / "homellm.yaml"
        self.model_file.write_bytes(b"GGUF and more")
        self.file.write_text("stack: nuc\nmodels: {m0: {source: 'gguf:m.gguf', env: {A: '${A_VALUE}'}}}\n")
        self.docker_config = folder / "docker" / "config.json"
        self.environ = {"HOME": str(folder), "XDG_CACHE_HOME": str(folder / "cache"), "A_VALUE": "a"}
        self.argv = ["-f", str(self.file), "up"]
        self.stdout = Tty()
        image = self.docs["list"][0]["Image"]
        self.model = Model("m0", Source("gguf", "m.gguf", self.model_file), image=image, parallel=2, ctx=4096)
        self.printed = PRINTED

    def close(self) -> None:
        self.engine.close()
        self.server.close()

    def with_key(self) -> None:
        """Give the server a key, as the stack file declares it and its container has it."""
        self.model = replace(self.model, api_key=Secret(KEY))
        self.docs["inspect"]["Config"]["Env"] = ["A=b", f"LLAMA_API_KEY={KEY}"]

    # -- what answers

    def _engine_says(self, path: str, _headers: Mapping[str, str]) -> Answer:
        inspect = self.docs["inspect"]
        if path == f"/containers/{inspect['Id']}/archive?path=%2F.homellm.json":
            if self.docs["record"] is None:
                return 404, b"", {}
            stat = base64.b64encode(json.dumps(self.docs["record"]).encode()).decode()
            return 200, b"", {"X-Docker-Container-Path-Stat": stat}
        found = {
            "/info": self.docs["info"],
            "/containers/json?all=1": self.docs["list"],
            f"/containers/{inspect['Id']}/json": inspect,
            f"/images/{self.model.image}/json": self.docs["image"],
        }.get(path)
        return (404, b"{}", {}) if found is None else (200, json.dumps(found).encode(), {})

    def _server_says(self, path: str, headers: Mapping[str, str]) -> Answer:
        if path == "/health":
            return self.health, b'{"status":"ok"}', {}
        self.asked_with = headers.get("Authorization", "")
        wants = any(text.startswith("LLAMA_API_KEY=") for text in self.docs["inspect"]["Config"]["Env"] or ())
        if wants and self.asked_with != f"Bearer {KEY}":
            return 401, b"{}", {}
        return 200, json.dumps(self.props).encode(), {}

    # -- what an `up` does at its end, and the next one at its beginning

    def evidence(self, **more: Any) -> Evidence:
        """What an ordinary look saw, in the domain's words, by code that the short cut does not share."""
        status = dict(
            line.split(":\t", 1) for line in Path("/proc/self/status").read_text().splitlines() if ":\t" in line
        )
        process = Process(
            pid=os.getpid(),
            cpus=status["Cpus_allowed_list"],
            locked_bytes=int(status["VmLck"].split()[0]) * 1024,
            resident_bytes=1,
            groups=tuple(map(int, status["Groups"].split())),
        )
        seen = {
            "container": docker_parse.container(self.docs["inspect"]),
            "url": f"http://127.0.0.1:{self.port}",
            "reachable": True,
            "healthy": True,
            "props": Props(2, 4096, "m0", "/models/m.gguf", "b11669", False, {"supports_tools": True}),
            "process": process,
        }
        return Evidence(**(seen | more))

    def begin(self) -> Begun:
        """The beginning of an ordinary `up`."""
        begun = begin(self.argv, self.environ, self.stdout, self.file)
        assert begun is not None
        return begun

    def files(self) -> FileFacts:
        """The files that decide, as they are now."""
        return of_files([str(self.model_file), str(self.docker_config)])

    def proved(self, evidence: Evidence | None = None, until: datetime | None = None) -> Proved:
        until = until or datetime.now(UTC).replace(year=2100)
        return Proved(self.model, evidence or self.evidence(), "nuc-m0", int(until.timestamp() * 1e9))

    def keep(self, begun: Begun | None = None, proved: Proved | None = None, files: FileFacts | None = None) -> bool:
        engine = docker_parse.engine_info(self.docs["info"], address=f"unix://{self.folder / 'docker.sock'}")
        stack = Stack("nuc", self.file, (self.model,), variables=frozenset(("A_VALUE",)))
        files = files or self.files()
        return keep(begun or self.begin(), self.environ, stack, engine, (proved or self.proved(),), files, self.printed)

    def confirm(self) -> bytes | None:
        return confirmed(self.argv, self.environ, self.stdout)

    @property
    def kept(self) -> Path:
        """The one file that is kept."""
        (path,) = (self.folder / "cache" / "homellm" / "unchanged").glob("*.json")
        return path

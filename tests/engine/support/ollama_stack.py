"""A stack with one Ollama server, as tests change and bring up it again and again."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import docker

from tests.engine.support.cli import Cli, Result
from tests.engine.support.ollama_store import OllamaStore
from tests.engine.support.ports import free_port

SLOTS, CTX = 3, 512


@dataclass
class Canary:
    """Writes the stack and brings it up. `plain` stays; `hybrid` gets one slot of Ollama and is to move.

    Only the models that are declared are in the file. `server` are keys of the Ollama server, `env` its variables.
    """

    write: Callable[..., Path]
    cli: Cli
    store: OllamaStore
    image: str
    llama_image: str
    server: dict[str, Any] = field(default_factory=dict)
    env: dict[str, str] = field(default_factory=dict)
    models: dict[str, dict[str, Any]] = field(default_factory=dict)
    port: int = field(default_factory=free_port)
    moved_port: int = field(default_factory=free_port)

    def declare(self, name: str, **keys: Any) -> None:
        """Put one model into the stack, on the defaults of the canary; None takes a key away."""
        base = {"source": f"ollama:{name}", "runner": "ollama", "parallel": SLOTS, "ctx": CTX}
        base |= {"image": self.llama_image, "pull": "never"}
        base |= self.models.get(name, {})
        self.models[name] = {key: value for key, value in (base | keys).items() if value is not None}

    def both(self, plain: str = "plain") -> None:
        """Both models: the one that stays, and the hybrid."""
        self.declare(plain)
        self.declare("hybrid", port=self.moved_port)

    def up(self, *arguments: str, **named: Any) -> Result:
        """`homellm up --format json` of what is declared now."""
        self.file()
        return self.cli("up", "--format", "json", *arguments, **named)

    def ask_ollama(self, path: str, body: Any = None, timeout_s: float = 60) -> Any:
        """What Ollama answers on its published port."""
        return ask(f"http://127.0.0.1:{self.port}{path}", body, timeout_s)[1]

    def file(self) -> Path:
        """Write the stack as it is declared now."""
        main = {"image": self.image, "store": str(self.store.root), "pull": "never", "port": self.port}
        main |= {"env": self.env} if self.env else {}
        server = {key: value for key, value in (main | self.server).items() if value is not None}
        return self.write(self.models, ollama={"main": server})


def by_name(result: Result) -> dict[str, dict[str, Any]]:
    """The models of a report, each with its checks by id."""
    return {
        model["name"]: model | {"checks": {check["id"]: check for check in model["checks"]}}
        for model in result.json["models"]
    }


def ask(url: str, body: Any = None, timeout_s: float = 60) -> tuple[int, Any]:
    """Status and JSON of an answer; status 0 without one."""
    data = json.dumps(body).encode() if body is not None else None
    try:
        with urllib.request.urlopen(url, data, timeout=timeout_s) as reply:
            return reply.status, json.load(reply)
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()
    except (urllib.error.URLError, ConnectionError) as error:
        return 0, str(error)


def chat(port: int, model: str) -> int:
    """The status of one short chat, as clients of either server ask."""
    body = {"model": model, "max_tokens": 2, "messages": [{"role": "user", "content": "Hi"}]}
    return ask(f"http://127.0.0.1:{port}/v1/chat/completions", body)[0]


@dataclass
class OllamaLog:
    """What a server's log tells of its loads."""

    api: docker.APIClient
    name: str

    def text(self) -> str:
        return self.api.logs(self.name).decode(errors="replace")

    def loads(self) -> int:
        """How many loads were begun since the container was made."""
        return sum('msg="starting llama-server"' in line or _is_runner(line) for line in self.lines())

    def refusals(self) -> int:
        return sum("does not currently support parallel requests" in line for line in self.lines())

    def lines(self) -> list[str]:
        return self.text().splitlines()


def _is_runner(line: str) -> bool:
    """Whether a model was begun to be loaded before 0.30; each start has a runner without one, which looks for GPUs."""
    return 'msg="starting runner"' in line and " --model " in line

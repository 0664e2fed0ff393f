"""An Ollama in a container, made by docker-py alone: the stand-in, or any other image with Ollama's command."""

import json
import urllib.error
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import docker

from tests.engine.support.ports import free_port
from tests.engine.support.wait import wait_for


class OllamaServer:
    """Runs from its making on; `ready()` waits until it answers. The test's prefix sweeps it away."""

    def __init__(
        self,
        api: docker.APIClient,
        image: str,
        name: str,
        *,
        env: Mapping[str, str] | None = None,
        store: Path | None = None,
        **host: Any,
    ) -> None:
        self.api, self.name, self.port = api, name, free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self._answered = 0
        mounts = [docker.types.Mount("/root/.ollama", str(store), type="bind")] if store else []
        mounts += host.pop("mounts", [])
        bindings = {11434: ("127.0.0.1", self.port)}
        self.id = api.create_container(
            image,
            name=name,
            environment=dict(env or {}),
            ports=[11434],
            host_config=api.create_host_config(mounts=mounts, port_bindings=bindings, **host),
        )["Id"]
        api.start(self.id)

    def ready(self) -> "OllamaServer":
        wait_for(lambda: self.ask("/api/version")[0] == 200, f"{self.name} to answer; log: {self.log()}")
        return self

    def ask(self, path: str, body: Any = None, timeout_s: float = 120) -> tuple[int, Any]:
        """Status and JSON of an answer; status 0 without one."""
        data = json.dumps(body).encode() if body is not None else None
        try:
            with urllib.request.urlopen(self.url + path, data, timeout=timeout_s) as reply:
                answer = reply.status, json.load(reply)
        except urllib.error.HTTPError as error:
            with error:
                answer = error.code, json.load(error)
        except (urllib.error.URLError, ConnectionError) as error:
            return 0, str(error)
        self._answered += 1
        return answer

    def load(self, model: str, **options: Any) -> None:
        """Load a model for good; fails with the answer and the log when it does not."""
        body = {"model": model, "keep_alive": -1, "stream": False, "options": options}
        # Only against a hang: lavapipe shares the CPU with all other tests.
        status, answer = self.ask("/api/generate", body, timeout_s=600)
        assert (status, answer.get("done_reason")) == (200, "load"), f"{status} {answer}\n{self.log()}"

    def log(self) -> str:
        """All that it has printed. The engine takes lines a moment later than they are written, and two streams apart:
        so every answered request must be told of, and two looks must find the same."""
        last = ""

        def settled() -> bool:
            nonlocal last
            before, last = last, self.api.logs(self.id).decode(errors="replace")
            return before == last and last.count("[GIN] ") >= self._answered

        wait_for(lambda: settled() or not self.state()["Running"], f"the log of {self.name} to come to rest")
        return last

    def state(self) -> dict[str, Any]:
        return dict(self.api.inspect_container(self.id)["State"])

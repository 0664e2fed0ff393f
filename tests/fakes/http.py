"""HTTP to the servers of a fake engine: what a llama-server answers, by the container that holds the port."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from homellm.ports import HttpReply
from homellm.runners.recognise import recognise
from tests.fakes.container import FakeContainer
from tests.fakes.state import FakeState

#: Changes what a container answers: (container, path, the usual answer) to an answer.
Twist = Callable[[FakeContainer, str, HttpReply], HttpReply]


def _ok(body: Mapping[str, Any]) -> HttpReply:
    return HttpReply(200, json.dumps(body).encode())


@dataclass
class FakeHttp:
    """Every running container answers /health, /props and the OpenAI endpoints as its own arguments say.

    Before its `ready_at_s` it is loading: 503. `twists` by container name change answers; a name may be that of the
    container when it was made, such as `NAME.next`.

    `dead` are published ports through which nothing comes.
    """

    state: FakeState
    twist: Twist = field(default=lambda container, path, reply: reply)
    asked: list[str] = field(default_factory=list)
    dead: set[int] = field(default_factory=set)

    def get(self, url: str, *, timeout_s: float, api_key: str | None = None) -> HttpReply:
        return self._answer(url, api_key)

    def post(self, url: str, body: Mapping[str, object], *, timeout_s: float, api_key: str | None = None) -> HttpReply:
        return self._answer(url, api_key)

    def _answer(self, url: str, api_key: str | None) -> HttpReply:
        with self.state.lock:
            self.state.settle()
            container = self._holder(url)
            if container is None:
                return HttpReply(0, error="connection refused")
            path = urlsplit(url).path
            self.asked.append(f"{container.name} {path}")
            return self.twist(container, path, self._usual(container, path, api_key))

    def _holder(self, url: str) -> FakeContainer | None:
        where = urlsplit(url)
        for container in self.state.containers.values():
            if not container.running:
                continue
            published = {port for bindings in container.ports.values() for _, port in bindings} - self.dead
            addresses = {endpoint.address for endpoint in container.networks.values()}
            if where.port in published or where.hostname in addresses - {""}:
                return container
        return None

    def _usual(self, container: FakeContainer, path: str, api_key: str | None) -> HttpReply:
        ready_at_s = container.behaviour.ready_at_s
        ran_s = (self.state.clock.elapsed_us - container.started_us) / 1_000_000
        if ready_at_s is None or ran_s < ready_at_s:
            return HttpReply(503, b'{"error":{"message":"Loading model","type":"unavailable_error","code":503}}')
        if path == "/health":
            return _ok({"status": "ok"})
        key = container.env.get("LLAMA_API_KEY")
        if key is not None and key != api_key:
            return HttpReply(401, b'{"error":{"message":"Invalid API Key"}}')
        served = recognise(container.words)
        if path == "/props":
            return _ok(
                {
                    "default_generation_settings": {"n_ctx": served.ctx},
                    "total_slots": served.parallel,
                    "model_alias": served.alias,
                    "model_path": served.model_path,
                    "build_info": "b1-fake",
                    "is_sleeping": False,
                    "chat_template_caps": {},
                }
            )
        return _ok({"model": served.alias, "usage": {"completion_tokens": 1}, "choices": [{}]})

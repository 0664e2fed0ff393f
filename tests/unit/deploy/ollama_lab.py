"""The lab with an Ollama server on its engine: one hybrid that is to move, and ways to make rungs fail."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from homellm.domain.stack import Model, OllamaServer, Source, Stack, Volume
from homellm.runners.recognise import recognise
from tests.fakes.behaviour import Behaviour
from tests.fakes.ollama import FakeOllamas, serving, stored
from tests.unit.deploy.lab import IMAGE, PORT, Lab, good, good_lines, model

OLLAMA = "example/ollama:tag"
SERVER, MOVED = "nuc-main", "nuc-hybrid"
MODELS = (stored("hybrid", "a", "lfm2"), stored("plain", "b", "llama"))
UNREADABLE = "0.00.024.695 E llama_model_load: error loading model: wrong array length; expected 4, got 3\n"
SOURCE = Source("gguf", "", Path("/models/hybrid.gguf"))

Behave = Callable[[str, tuple[str, ...], Mapping[str, str]], Behaviour]


def hybrid(**changes) -> Model:
    """A model that Ollama gives one slot."""
    keys = {"name": "hybrid", "source": Source("ollama", "hybrid"), "runner": "ollama", "server": "main"}
    return model(**(keys | {"parallel": 3, "ctx": 512, "port": PORT} | changes))


def refusing(*rungs: str) -> Behave:
    """Servers of which those of these rungs cannot read the file."""

    def behave(image: str, args: tuple[str, ...], env: Mapping[str, str]) -> Behaviour:
        if args == ("serve",):
            return serving()
        path = recognise(args).model_path or ""
        rung = "bundled" if image == OLLAMA else "llama-server" if "sha256-" in path else "source"
        if rung not in rungs:
            return good(image, args, env)
        return Behaviour(lines=(*good_lines(args)[:2], (0.0, UNREADABLE)), exit_at_s=0.0, exit_code=1)

    return behave


class OllamaLab(Lab):
    """One machine with one Ollama server."""

    server = OllamaServer("main", OLLAMA, port=11434, store=Volume("/srv/ollama", "/root/.ollama"))

    def __post_init__(self) -> None:
        super().__post_init__()
        self.state.add_image(OLLAMA, entrypoint=("/usr/bin/ollama",), command=("serve",))
        self.ollamas = FakeOllamas(self.state, MODELS)

    def stack(self, *models: Model) -> Stack:
        return Stack("nuc", Path("/home/me/homellm.yaml"), models or (hybrid(),), ollama=(self.server,))

    def loads(self) -> list[str]:
        """All loads that Ollama was asked for."""
        return self.ollamas.loads

    def made(self) -> list[str]:
        """The names under which containers were made in the last `up`, in their order."""
        return [str(call.args[0]) for call in self.engine.calls if call.method == "create"]


def lab_on(rung: str) -> OllamaLab:
    """A machine on which the hybrid ends on that rung, or on Ollama itself."""
    order = ("llama-server", "bundled", "source", "ollama")
    return OllamaLab(behave=refusing(*order[: order.index(rung)]))


def declared(rung: str) -> Model:
    """The hybrid as it is declared so that it can end there."""
    return hybrid(fallback_source=SOURCE if rung in ("source", "ollama") else None, image=IMAGE)

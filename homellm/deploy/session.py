"""What a verb works with: the ports to the outside and the options that people gave."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

from homellm.domain.events import Event, Progress
from homellm.domain.world import EngineInfo
from homellm.ports import Clock, Engine, HostPort, Http, ModelFiles, ModelHub, Ollamas

Emit = Callable[[Event], None]


def telling(model: str, emit: Emit) -> Callable[[str], None]:
    """Tells what the proof of a model waits for."""
    return lambda text: emit(Progress(model, "verifying", text))


class DialectCache(Protocol):
    """What images answered to --version and --help, by image id. May forget at any time."""

    def get(self, image_id: str) -> tuple[str, str] | None:
        """(version text, help text), or None."""

    def put(self, image_id: str, version_text: str, help_text: str) -> None:
        """Keep an answer if that is possible; never raises."""


class State(Protocol):
    """What is remembered between runs and no container can hold. Never raises: what is not kept is asked again."""

    def get(self, name: str) -> bytes | None:
        """What was kept under a name, or None."""

    def put(self, name: str, data: bytes) -> None:
        """Keep something under a name if that is possible."""


@dataclass(frozen=True, slots=True)
class Ports:
    """The outside. `lock` gives the one right to change a stack; it raises Locked when somebody else has it.

    `maker` names the namespace within which that lock holds; it becomes a label of what is made (design rule 10).
    """

    engine: Engine
    host: HostPort
    files: ModelFiles
    http: Http
    clock: Clock
    lock: Callable[[EngineInfo, str], AbstractContextManager[object]]
    cache: DialectCache
    ollamas: Ollamas
    state: State
    hub: ModelHub
    maker: str = ""


@dataclass(frozen=True, slots=True)
class Options:
    """What people ask of a verb. `wait_timeout_s` is the total for all models, `stall_timeout_s` for no progress.

    `engine_return_s` is how long an engine that went away during the verb is waited for. `concurrency` makes `check`
    ask as many short requests at once as there are slots.
    Without `fit` a model is started although the reckoning says that it cannot fit into memory.
    With `retry_ollama` what Ollama refused before is asked of it again.
    """

    wait_timeout_s: float = 600
    stall_timeout_s: float = 120
    engine_return_s: float = 60
    force_recreate: bool = False
    remove_orphans: bool = False
    fit: bool = True
    retry_ollama: bool = False
    debug: bool = False
    concurrency: bool = False

    @property
    def anew(self) -> str:
        """Why every container is made anew, as the cause of a step; empty where it is not."""
        return "made anew on request" if self.force_recreate else ""

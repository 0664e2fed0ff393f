"""A hub in memory, with a cache in memory: what is asked of it is kept, and it can be away, full or slow."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from homellm.domain.gguf import GgufHeader
from homellm.domain.hub import HubFile, HubModel, HubRef, NoSuchModel, choose
from homellm.domain.world import ModelFile
from homellm.errors import HubUnreachable, PullFailed
from homellm.ports import PullProgress

COMMIT = "a" * 40


@dataclass
class FakeHub:
    """Implements ports.ModelHub. `repos` are by name, the sizes of their files by name; `here` is the cache.

    `fault` is raised by every pull; `hold` lets pulls wait until it is set or they are closed, `silent` every question.
    """

    repos: dict[str, dict[str, int]] = field(default_factory=dict)
    here: dict[str, HubModel] = field(default_factory=dict)
    begun: dict[str, int] = field(default_factory=dict)
    commit: str = COMMIT
    away: bool = False
    offline: bool = False
    free: int | None = None
    header: GgufHeader | None = None
    fault: PullFailed | None = None
    hold: threading.Event | None = None
    silent: threading.Event | None = None
    held: list[tuple[str, int]] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    pulled: list[str] = field(default_factory=list)
    location: str = "/cache/hub"

    def find(self, ref: HubRef, *, guess: bool = False) -> HubModel | None:
        if str(ref) in self.here or not guess:
            return self.here.get(str(ref))
        return next((model for model in self.here.values() if model.ref.repo == ref.repo), None)

    def resolve(self, ref: HubRef) -> HubModel:
        self.asked.append(str(ref))
        if self.silent is not None:
            self.silent.wait()
        if self.away or self.offline:
            raise HubUnreachable("the model hub http://hub cannot be asked: nobody answers", hint="Check the network.")
        if ref.repo not in self.repos:
            raise PullFailed(f"no repository {ref.repo}", id="repo-absent", hint="Check the name.")
        try:
            files = choose(ref, [HubFile(name, size, "0" * 64) for name, size in self.repos[ref.repo].items()])
        except NoSuchModel as error:
            raise PullFailed(error.reason, id="quant-absent") from error
        here = self.here.get(str(ref))
        if here is not None and here.commit == self.commit:
            return here
        folder = Path(self.location) / ref.repo / self.commit
        return HubModel(ref, self.commit, files, folder, self.begun.get(str(ref), 0))

    def look(self, model: HubModel) -> ModelFile | None:
        self.asked.append(f"header of {model.ref}")
        if self.header is None:
            return None
        return ModelFile(str(model.path), "ok", size_bytes=model.size_bytes, header=self.header)

    def pull(self, model: HubModel) -> FakeHubPull:
        return FakeHubPull(self, model)

    def free_bytes(self) -> int | None:
        return self.free

    def repositories(self) -> tuple[tuple[str, int], ...]:
        return tuple(self.held)

    def bring(self, model: HubModel) -> None:
        self.here[str(model.ref)] = replace(model, here_bytes=model.size_bytes, complete=True)


class FakeHubPull:
    """Half of it, then the rest."""

    def __init__(self, hub: FakeHub, model: HubModel) -> None:
        self._hub = hub
        self._model = model
        self._closed = threading.Event()

    def __iter__(self) -> Iterator[PullProgress]:
        hub, model = self._hub, self._model
        if self._closed.is_set():
            return
        hub.pulled.append(str(model.ref))
        yield PullProgress(model.files[0].name, model.size_bytes // 2, model.size_bytes)
        while hub.hold is not None and not hub.hold.wait(0.01):
            if self._closed.is_set():
                return
        if hub.fault is not None:
            raise hub.fault
        hub.bring(model)
        yield PullProgress(model.files[0].name, model.size_bytes, model.size_bytes)

    def close(self) -> None:
        self._closed.set()

"""Ollama servers on a fake engine: their API by the container that holds the port, their store, their log lines.

The lines are those of a real 0.33 (tests/fixtures/logs/o-canary.log), as far as anybody reads them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from homellm.domain.ollama import ListedModel, LoadedModel, ShownModel, StoredModel
from homellm.domain.ollama_names import parse_name
from homellm.errors import OllamaFailed, OllamaUnreachable
from homellm.ports import PullProgress
from tests.fakes.behaviour import Behaviour
from tests.fakes.container import FakeContainer
from tests.fakes.state import FakeState

VERSION = "0.33.0"
_CONFIG = 'time=2026-11-30T10:13:34.849Z level=INFO source=routes.go:1951 msg="server config" env="map[]"\n'
_LISTENING = (
    'time=2026-11-30T10:13:34.852Z level=INFO source=routes.go:2008 msg="Listening on [::]:11434 (version {version})"\n'
)
_REFUSED = (
    'time=2026-11-30T10:13:35.846Z level=WARN source=sched.go:509 msg="model architecture does not currently support'
    ' parallel requests" architecture={family}\n'
)
_STARTING = (
    'time=2026-11-30T10:13:35.854Z level=INFO source=llama_server.go:433 msg="starting llama-server"'
    ' cmd="/usr/lib/ollama/llama-server --model /root/.ollama/models/blobs/{blob} --port 34491 --host 127.0.0.1'
    ' --no-webui --offline -c {pool} -np {slots} --log-verbosity 4"\n'
)
_LOADED = (
    "srv    load_model: initializing, n_slots = {slots}, n_ctx_slot = {ctx}, kv_unified = 'false'\n",
    "srv  llama_server: model loaded\n",
    'time=2026-11-30T10:13:36.115Z level=INFO source=llama_server.go:1362 msg="llama-server started in 0.26 seconds"\n',
)
DIED = "llama-server process has terminated: signal: killed"
_FAILED = (
    'time=2026-11-30T10:13:36.115Z level=INFO source=sched.go:645 msg="Load failed"'
    f' model=/root/.ollama/models/blobs/{{blob}} error="{DIED}"\n'
)
_FAR = "2319-03-12T18:27:48.116816Z"


def serving(version: str = VERSION) -> Behaviour:
    """A server that answers at once."""
    return Behaviour(lines=((0.0, _CONFIG), (0.0, _LISTENING.format(version=version))))


def stored(name: str, digest: str, family: str) -> StoredModel:
    """A whole model of a store; `digest` is one letter that fills all its digests."""
    return StoredModel(
        name=str(parse_name(name)),
        state="ok",
        digest=digest * 64,
        blob=f"blobs/sha256-{digest * 64}",
        blob_digest=f"sha256:{digest * 64}",
        size_bytes=1000,
        total_bytes=1000,
        family=family,
    )


@dataclass
class FakeOllamas:
    """Every Ollama of one machine. `models` are in its store, `refused` the families that get one slot.

    `version` is what servers say from now on. `loads` are all loads that were asked for. `dies` makes a load fail. A
    model that is unloaded is still seen `lingers` times, as the real one answers before it is done. `blobs` are what
    was uploaded, `calls` what of its API changed the store, in order, `created` the files of each create; `cut` is
    raised by the next upload or create. `dead` are published ports through which nothing comes. `kept` is the
    keep_alive that was asked for last, by model.
    """

    state: FakeState
    models: tuple[StoredModel, ...] = ()
    refused: frozenset[str] = frozenset({"lfm2"})
    version: str = VERSION
    dies: bool = False
    lingers: int = 0
    loads: list[str] = field(default_factory=list)
    in_memory: dict[tuple[str, int], dict[str, LoadedModel]] = field(default_factory=dict)
    leaving: dict[str, int] = field(default_factory=dict)
    blobs: set[str] = field(default_factory=set)
    calls: list[str] = field(default_factory=list)
    created: list[dict[str, str]] = field(default_factory=list)
    cut: BaseException | None = None
    folders: list[Path] = field(default_factory=list)
    registry: tuple[StoredModel, ...] = ()
    dead: set[int] = field(default_factory=set)
    kept: dict[str, int | str] = field(default_factory=dict)

    def api(self, url: str) -> FakeApi:
        return FakeApi(self, url)

    def container_store(self, ref: str, root: str, disk: Path | None) -> FakeStore:
        return FakeStore(self)

    def folder_store(self, root: Path) -> FakeStore:
        return FakeStore(self)

    def make_folder(self, folder: Path) -> bool:
        self.folders.append(folder)
        return False

    def find(self, name: str) -> StoredModel:
        wanted = parse_name(name)
        found = (model for model in self.models if parse_name(model.name).same(wanted))
        return next(found, StoredModel(str(wanted), "absent", f"{wanted.short} is not in the store"))


@dataclass
class FakeStore:
    """The one store of the machine."""

    ollamas: FakeOllamas

    def find(self, name: str) -> StoredModel:
        return self.ollamas.find(name)

    def free_bytes(self) -> int | None:
        return None


@dataclass
class FakeApi:
    """The API at a URL. What is in memory is lost when the container runs anew."""

    ollamas: FakeOllamas
    url: str

    def version(self) -> str:
        self._server()
        return self.ollamas.version

    def show(self, model: str) -> ShownModel:
        self._server()
        return ShownModel(family=self.ollamas.find(model).family, capabilities=("completion",))

    def list_models(self) -> tuple[ListedModel, ...]:
        return tuple(ListedModel(m.name, m.digest, m.size_bytes, m.family) for m in self.ollamas.models)

    def loaded(self) -> tuple[LoadedModel, ...]:
        memory = self._memory(self._server())
        seen = tuple(memory.values())
        for digest in [digest for digest in memory if digest in self.ollamas.leaving]:
            self.ollamas.leaving[digest] -= 1
            if self.ollamas.leaving[digest] <= 0:
                del memory[digest], self.ollamas.leaving[digest]
        return seen

    def load(self, model: str, **options: Any) -> FakeLoad:
        return FakeLoad(self, model, options.get("keep_alive", -1))

    def pull(self, model: str, *, insecure: bool = False, room_bytes: int | None = None) -> FakePull:
        return FakePull(self, model)

    def unload(self, model: str) -> None:
        """By what the name means now: what is in memory from before it meant that stays there."""
        memory, digest = self._memory(self._server()), self.ollamas.find(model).digest
        if digest in memory and self.ollamas.lingers:
            self.ollamas.leaving[digest] = self.ollamas.lingers
        else:
            memory.pop(digest, None)

    def has_blob(self, digest: str) -> bool:
        return digest in self.ollamas.blobs

    def upload(self, digest: str, file: Path) -> FakeWork:
        def bring() -> None:
            self.ollamas.blobs.add(digest)

        return FakeWork(self, f"upload {digest}", bring)

    def create(
        self,
        model: str,
        *,
        source: str | None = None,
        files: Mapping[str, str] | None = None,
        parameters: Mapping[str, Any] | None = None,
        family: str = "",
    ) -> FakeWork:
        """From a model: the same weights. From files: a blob of another digest, and the upload pruned, as of 0.33."""

        def make() -> None:
            if source is not None:
                base = self.ollamas.find(source)
                self.put(replace(base, name=str(parse_name(model)), digest=f"from{base.digest[4:]}"))
                return
            self.ollamas.created.append(dict(files or {}))
            for blob in (files or {}).values():
                if blob not in self.ollamas.blobs:
                    raise OllamaFailed(f"no blob {blob}")
                self.ollamas.blobs.remove(blob)
            self.put(
                replace(stored(model, "0", "lfm2"), digest=f"made{blob[-60:]}", blob=f"blobs/sha256-{blob[-60:]}made")
            )

        return FakeWork(self, f"create {model}", make)

    def copy(self, source: str, model: str) -> None:
        self.ollamas.calls.append(f"copy {source} {model}")
        self.put(replace(self.ollamas.find(source), name=str(parse_name(model))))

    def delete(self, model: str) -> None:
        self.ollamas.calls.append(f"delete {model}")
        self._drop(model)

    def put(self, model: StoredModel) -> None:
        self._drop(model.name)
        self.ollamas.models = (*self.ollamas.models, model)

    def _drop(self, name: str) -> None:
        kept = (one for one in self.ollamas.models if not parse_name(one.name).same(parse_name(name)))
        self.ollamas.models = tuple(kept)

    def _server(self) -> FakeContainer:
        where = urlsplit(self.url)
        with self.ollamas.state.lock:
            self.ollamas.state.settle()
            for container in self.ollamas.state.containers.values():
                published = {at for bindings in container.ports.values() for _, at in bindings}
                addresses = {endpoint.address for endpoint in container.networks.values()} - {""}
                through = where.port in published - self.ollamas.dead or where.hostname in addresses
                if container.running and through:
                    return container
        raise OllamaUnreachable(f"nobody answers at {self.url}")

    def _memory(self, server: FakeContainer) -> dict[str, LoadedModel]:
        return self.ollamas.in_memory.setdefault((server.id, server.started_us), {})

    def take(self, name: str) -> None:
        """Load a model now, and write what Ollama writes."""
        server, model = self._server(), self.ollamas.find(name)
        self.ollamas.loads.append(name)
        asked, ctx = _number(server.env, "OLLAMA_NUM_PARALLEL"), _number(server.env, "OLLAMA_CONTEXT_LENGTH")
        refused = asked > 1 and model.family in self.ollamas.refused
        slots = 1 if refused else asked
        lines = [_REFUSED.format(family=model.family)] if refused else []
        lines.append(_STARTING.format(blob=model.blob_name, pool=ctx * slots, slots=slots))
        if self.ollamas.dies:
            self._write(server, [*lines, _FAILED.format(blob=model.blob_name)])
            raise OllamaFailed(f"{name} could not be loaded: {DIED}", original=DIED)
        memory, most = self._memory(server), _number(server.env, "OLLAMA_MAX_LOADED_MODELS", 0)
        while most and len(memory) >= most:
            del memory[next(iter(memory))]
        self._write(server, [*lines, *(line.format(slots=slots, ctx=ctx) for line in _LOADED)])
        memory[model.digest] = LoadedModel(model.name, model.digest, 1000, 0, ctx, _FAR)

    def is_there(self, name: str) -> bool:
        """Whether a model is in memory with the context that the server would give it."""
        server = self._server()
        found = self._memory(server).get(self.ollamas.find(name).digest)
        return found is not None and found.ctx == _number(server.env, "OLLAMA_CONTEXT_LENGTH")

    def _write(self, server: FakeContainer, lines: list[str]) -> None:
        with self.ollamas.state.lock:
            now = self.ollamas.state.clock.elapsed_us
            server.log += [(now, line.encode()) for line in lines]


@dataclass
class FakeWork:
    """Something that changes the store, carried out when it is iterated."""

    api: FakeApi
    what: str
    do: Callable[[], None]

    def __iter__(self) -> Iterator[PullProgress]:
        cut, self.api.ollamas.cut = self.api.ollamas.cut, None
        if cut is not None:
            raise cut
        self.do()
        self.api.ollamas.calls.append(self.what)
        yield PullProgress("success", 1, 1)

    def close(self) -> None:
        """Nothing goes on by itself."""


@dataclass
class FakePull:
    """A pull of what the registry has, told of in two lines."""

    api: FakeApi
    name: str

    def __iter__(self) -> Iterator[PullProgress]:
        found = next(m for m in self.api.ollamas.registry if parse_name(m.name).same(parse_name(self.name)))
        yield PullProgress("pulling manifest", 0, found.total_bytes)
        self.api.ollamas.models += (found,)
        yield PullProgress("success", found.total_bytes, found.total_bytes)

    def close(self) -> None:
        """Nothing goes on by itself."""


@dataclass
class FakeLoad:
    """One load, as a call that can be given up before it is run."""

    api: FakeApi
    name: str
    keep_alive: int | str
    closed: bool = False

    def run(self) -> None:
        """A load that keeps nothing is an unload (server/routes.go); one of what is there sets its time alone."""
        if self.closed:
            return
        if self.keep_alive == 0:
            self.api.unload(self.name)
            return
        self.api.ollamas.kept[self.name] = self.keep_alive
        if not self.api.is_there(self.name):
            self.api.take(self.name)

    def close(self) -> None:
        self.closed = True


def _number(env: Mapping[str, str], name: str, default: int = 1) -> int:
    return int(env.get(name, default))

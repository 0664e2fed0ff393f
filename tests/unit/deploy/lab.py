"""A whole homellm on a fake engine: verbs as the command line calls them, and the state to look at."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from homellm.deploy.scope import Scope
from homellm.deploy.session import Options, Ports
from homellm.deploy.up import up
from homellm.domain.events import Event
from homellm.domain.reports import StackReport
from homellm.domain.stack import Model, Source, Stack
from homellm.domain.world import Container, FileStamp, FileState, Host, ModelFile, Process
from homellm.runners.recognise import recognise
from tests.fakes.behaviour import Behaviour
from tests.fakes.engine import FakeEngine, Kill
from tests.fakes.http import FakeHttp
from tests.fakes.hub import FakeHub
from tests.fakes.state import FakeState

IMAGE = "example/llama:tag"
HELP = Path(__file__).parents[2] / "fixtures" / "help" / "b11669.txt"
VERSION = "version: 0.7.0 (build 11669, commit Debian)\n"
NAME = "nuc-smol"
PORT = 8081
WEIGHTS = 96_576_768


class FakeFiles:
    """Model files that are all there. `contents` is what they say, by path, `hashed` which were read as a whole."""

    def __init__(self) -> None:
        self.states: dict[str, ModelFile] = {}
        self.contents: dict[str, bytes] = {}
        self.times_ns: dict[str, int] = {}
        self.changed_ns: dict[str, int] = {}
        self.hashed: list[str] = []
        self.sampled: list[str] = []
        self.inodes: dict[str, int] = {}

    def look(self, path: Path) -> ModelFile:
        return self.states.get(str(path), ModelFile(str(path), "ok", WEIGHTS, WEIGHTS, WEIGHTS, "llama"))

    def stamp(self, path: Path) -> FileStamp | None:
        parts = self.look(path).parts or (str(path),)
        if any(part not in self.contents for part in parts):
            return None
        newest = max(self.times_ns.get(part, 0) for part in parts)
        inode = tuple(number for part in parts for number in self.inode(part))
        return FileStamp(sum(len(self.contents[part]) for part in parts), newest, inode)

    def inode(self, name: str) -> tuple[int, ...]:
        return (1, self.inodes.get(name, 1), self.changed_ns.get(name, 0))

    def stat(self, paths: Sequence[Path]) -> tuple[FileState, ...] | None:
        names = [str(path) for path in paths]
        if any(name not in self.contents for name in names):
            return None
        return tuple(
            FileState(
                name,
                len(self.contents[name]),
                self.times_ns.get(name, 0),
                self.changed_ns.get(name, 0),
                self.inode(name),
            )
            for name in names
        )

    def sample(self, paths: Sequence[Path]) -> str:
        names = [str(path) for path in paths]
        self.sampled += names
        if any(name not in self.contents for name in names):
            return ""
        return hashlib.sha256(b"".join(self.contents[name] for name in names)).hexdigest()[:32]

    def sha256(self, path: Path) -> str:
        self.hashed.append(str(path))
        return hashlib.sha256(self.contents[str(path)]).hexdigest()


@dataclass
class FakeHost:
    """A host whose processes have what their container declares."""

    host: Host = field(default_factory=lambda: Host(readable=True, online_cpus=(0, 1, 2, 3), listeners=()))
    cpus: str = "0-3"
    beside: bool = True
    inside: Callable[[str, str], bytes | None] | None = None

    def snapshot(self, ports: Collection[int] | None = None, known: Collection[tuple[str, int]] = ()) -> Host:
        return self.host

    def process(self, container: Container) -> Process | None:
        if not container.running:
            return None
        return Process(pid=container.pid, cpus=self.cpus, locked_bytes=0, resident_bytes=WEIGHTS)

    def reaches_published(self, container: Container) -> bool:
        return self.beside

    def file_of(self, container: Container, name: str) -> bytes | None:
        return None if self.inside is None else self.inside(container.id, f"/{name}") or b""


class FakeCache:
    """Knows the one image."""

    def get(self, image_id: str) -> tuple[str, str] | None:
        return VERSION, HELP.read_text()

    def put(self, image_id: str, version_text: str, help_text: str) -> None:
        raise AssertionError("nobody needs to ask the image")


class FakeKept:
    """Remembers in memory."""

    def __init__(self) -> None:
        self.kept: dict[str, bytes] = {}

    def get(self, name: str) -> bytes | None:
        return self.kept.get(name)

    def put(self, name: str, data: bytes) -> None:
        self.kept[name] = data


def good_lines(args: tuple[str, ...]) -> tuple[tuple[float, str], ...]:
    """What a real server of b11669 prints while it starts well."""
    served = recognise(args)
    texts = (
        "0.00.001.068 I srv  llama_server: initializing ...\n",
        f"0.00.116.530 I srv    load_model: loading model '{served.model_path}'\n",
        f"0.00.508.504 I srv    load_model: initializing, n_slots = {served.parallel}, n_ctx_slot = {served.ctx},"
        " kv_unified = 'false'\n",
        "0.00.510.453 I srv  llama_server: model loaded\n",
        "0.00.510.474 I srv  llama_server: listening on http://0.0.0.0:8080\n",
    )
    return tuple((0.0, text) for text in texts)


def good(image: str, args: tuple[str, ...], env: Mapping[str, str]) -> Behaviour:
    """A server that is ready at once."""
    return Behaviour(lines=good_lines(args))


def bad(image: str, args: tuple[str, ...], env: Mapping[str, str]) -> Behaviour:
    """A server that dies while it loads, of a model that is corrupt; the old declaration (one slot) works."""
    if recognise(args).parallel == 1:
        return good(image, args, env)
    lines = (
        (0.0, "0.00.001.068 I srv  llama_server: initializing ...\n"),
        (
            0.0,
            "0.00.024.695 E llama_model_load: error loading model: tensor 'blk.11.ffn_up.weight' data is not within"
            " the file bounds, model is corrupted or incomplete\n",
        ),
        (0.0, "0.00.024.735 E srv    load_model: failed to load model, '/models/smol.gguf'\n"),
    )
    return Behaviour(lines=lines, exit_at_s=0.0, exit_code=1)


def model(**changes) -> Model:
    base = {
        "name": "smol",
        "source": Source("gguf", "", Path("/models/smol.gguf")),
        "image": IMAGE,
        "port": PORT,
        "places": MappingProxyType({}),
    }
    return Model(**(base | changes))


@dataclass
class Lab:
    """One machine: its engine's state, its host, and as many homellm processes as are run on it."""

    behave: Callable[..., Behaviour] = good
    options: Options = field(default_factory=lambda: Options(engine_return_s=0.0))

    def __post_init__(self) -> None:
        self.state = FakeState(behave=self.behave)
        self.state.path_exists = lambda path: True
        self.state.add_image(IMAGE)
        self.http = FakeHttp(self.state)
        self.host = FakeHost()
        self.files = FakeFiles()
        self.ollamas: Any = None
        self.hub = FakeHub()
        self.kept = FakeKept()
        self.events: list[Event] = []
        self.engine = FakeEngine(self.state)

    def ports(self, kill: Kill | None = None, **engine) -> Ports:
        """The ports of a new process."""
        self.engine = FakeEngine(self.state, kill=kill, **engine)
        return Ports(
            engine=self.engine,
            host=self.host,
            files=self.files,
            http=self.http,
            clock=self.state.clock,
            lock=lambda info, stack: contextlib.nullcontext(),
            cache=FakeCache(),
            ollamas=self.ollamas,
            hub=self.hub,
            state=self.kept,
            maker="here",
        )

    def up(self, *models: Model, only=(), options=None, scope=None, ports=None, kill=None) -> StackReport:
        """`homellm up` in a new process."""
        return up(
            self.stack(*models),
            only,
            ports or self.ports(kill),
            options or self.options,
            scope or Scope(),
            self.events.append,
        )

    @staticmethod
    def stack(*models: Model) -> Stack:
        """The stack file of these models."""
        return Stack("nuc", Path("/home/me/homellm.yaml"), models or (model(),))

    def slots(self, name: str = NAME) -> int | None:
        """How many slots the container of that name serves; None when there is none."""
        container = self.state.by_name(name)
        return recognise(container.words).parallel if container else None

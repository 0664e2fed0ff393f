"""The Protocols to the outside. adapters/ implements them for real, tests/fakes/ for speed and for made faults."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from homellm.domain.events import Event
from homellm.domain.stack import LogSource, RestartPolicy
from homellm.domain.world import (
    Container,
    EngineInfo,
    FileStamp,
    FileState,
    Host,
    Image,
    ModelFile,
    Network,
    Process,
)

if TYPE_CHECKING:
    from homellm.domain.hub import HubModel, HubRef
    from homellm.domain.ollama import ListedModel, LoadedModel, ShownModel, StoredModel

Json = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Created:
    """A container just made and the warnings that the engine gave with it (a discarded limit, say)."""

    id: str
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ProbeResult:
    """What a throwaway container printed (stdout and stderr together) and how it ended."""

    exit_code: int
    output: str


@dataclass(frozen=True, slots=True)
class PullProgress:
    """Bytes of a pull so far, over all layers; `total_bytes` grows while layers are discovered."""

    status: str
    done_bytes: int
    total_bytes: int


class Stream(Protocol):
    """A log or pull stream. Iterating blocks; `close` from another thread ends it within moments."""

    def __iter__(self) -> Iterator[bytes]:
        """Frames as the engine sends them: not lines, and not stamped."""

    def close(self) -> None:
        """End the stream; safe to call twice and from any thread."""


class PullStream(Protocol):
    """A pull under way."""

    def __iter__(self) -> Iterator[PullProgress]:
        """Progress until the image is here. Raises PullFailed."""

    def close(self) -> None:
        """Give up the pull; safe to call twice and from any thread."""


class ContainerFiles(Protocol):
    """Files inside a container, running or not, and so those of its volumes too. Raises as Engine does."""

    def get_file(self, ref: str, path: str) -> bytes | None:
        """Read a small file out of a container, or None when there is none."""

    def get_tree(self, ref: str, path: str) -> Mapping[str, bytes] | None:
        """All files below a folder of a container, by path relative to it; None when there is no such folder.

        For folders of small files: raises EngineRefused beyond a few MiB.
        """

    def file_size(self, ref: str, path: str) -> int | None:
        """Bytes of a file of a container; None when nothing is there, or a folder."""


class Engine(ContainerFiles, Protocol):
    """A Docker Engine. Every method raises EngineUnreachable when it does not answer.

    Those that take a container's id or name raise ContainerGone when there is none, and EngineRefused, with a
    translated message, for every other error of the engine.
    """

    def info(self) -> EngineInfo:
        """The engine itself."""

    def list_containers(self, labels: Mapping[str, str | None]) -> tuple[Container, ...]:
        """All containers, stopped ones too, that carry these labels; a value of None asks for the label alone."""

    def published_ports(self) -> tuple[tuple[str, int, str], ...]:
        """(host address, port, container name) of every port that a running container of anybody publishes."""

    def find_container(self, ref: str) -> Container | None:
        """The container of that id or exact name, or None."""

    def inspect(self, ref: str) -> Json:
        """The engine's own JSON of a container, whole."""

    def create(self, name: str, body: Json) -> Created:
        """Make a container from an API body. Raises NameTaken for a name in use."""

    def start(self, ref: str) -> None:
        """Start a container; one that runs is left alone."""

    def kill(self, ref: str, signal: str) -> None:
        """Send a signal (`SIGTERM`); a container that does not run is left alone."""

    def wait(self, ref: str, timeout_s: float) -> int | None:
        """The exit code once it does not run any more, or None after `timeout_s`."""

    def rename(self, ref: str, name: str) -> None:
        """Give a container another name. Raises NameTaken."""

    def set_restart_policy(self, ref: str, policy: RestartPolicy) -> None:
        """Change the restart policy in place."""

    def remove(self, ref: str) -> None:
        """Remove a container that does not run and its anonymous volumes; one that is gone is left alone.

        Raises NotRemoved when the engine began and could not end it: what is left is dead, and keeps its name.
        """

    def logs(
        self, ref: str, *, since: str | None, follow: bool, tail: int | None = None, until: str | None = None
    ) -> Stream:
        """A container's log, both streams; `since` and `until` are times in the engine's own text."""

    def find_image(self, ref: str) -> Image | None:
        """The image of that name or id if it is here."""

    def images_named(self, repository: str) -> tuple[str, ...]:
        """The names, tags included, of the images here of that repository, the newest first."""

    def pull(self, ref: str) -> PullStream:
        """Bring an image. Nothing happens before the stream is iterated."""

    def probe(
        self, image: str, args: tuple[str, ...], labels: Mapping[str, str], *, entrypoint: tuple[str, ...] | None = None
    ) -> ProbeResult:
        """Run a throwaway container of an image that is here, without network and mounts, and remove it.

        `entrypoint` asks another program of the image than its own.
        """

    def find_network(self, name: str) -> Network | None:
        """The network of that exact name, or None."""

    def create_network(self, name: str, labels: Mapping[str, str]) -> None:
        """Make a bridge network; one of that name is left alone."""

    def connect_network(self, network: str, ref: str, aliases: tuple[str, ...]) -> None:
        """Join a container to a network."""

    def list_networks(self, labels: Mapping[str, str | None]) -> tuple[Network, ...]:
        """All networks that carry these labels."""

    def remove_network(self, name: str) -> None:
        """Remove a network; one that is gone is left alone. Raises EngineRefused while containers use it."""

    def put_file(self, ref: str, path: str, data: bytes) -> None:
        """Write a small file into a container, running or not. Raises EngineRefused for a read-only root."""

    def memory_usage(self, ref: str) -> int | None:
        """Bytes of memory that the container uses now by the engine's own statistics; None when it does not run."""


class HostPort(Protocol):
    """The machine that runs the engine, through the roots that were given."""

    def snapshot(self, ports: Collection[int] | None = None, known: Collection[tuple[str, int]] = ()) -> Host:
        """GPUs, CPUs, memory and listeners as they are now.

        Who listens is looked for at these `ports` alone (None for all), and not where an (address, port) is `known`
        to be a container's: it takes a look at all that every process has open.
        """

    def process(self, container: Container) -> Process | None:
        """The process of a container, None unless its cgroup names the container."""

    def reaches_published(self, container: Container) -> bool:
        """Whether ports that a running container publishes are published on the very machine that homellm sees.

        False for an engine elsewhere, for a homellm in a container of its own, and where it cannot be told.
        """

    def file_of(self, container: Container, name: str) -> bytes | None:
        """The small plain file `name` at the top of a running container's root, as its own process sees it.

        Empty when there is none; None where that cannot be told, and the engine has to be asked.
        """


class ModelFiles(Protocol):
    """The files of models on this machine."""

    def look(self, path: Path) -> ModelFile:
        """What stands at a path; reads a GGUF's header only."""

    def sha256(self, path: Path) -> str:
        """The digest of a whole file, in hex. Raises Refused when it cannot be read."""

    def stat(self, paths: Sequence[Path]) -> tuple[FileState, ...] | None:
        """These files as they are, in this order; None where one of them is not seen, or is no file. Reads none."""

    def stamp(self, path: Path) -> FileStamp | None:
        """Size, time and inode of the file at a path, links followed, of a split one all parts; None without any."""

    def sample(self, paths: Sequence[Path]) -> str:
        """A digest of these files by a part of what they say: of a GGUF the whole header and a block of every tensor.

        Reads a few MiB at most, each file once for each of its inodes. Empty where one of them cannot be read.
        """


@dataclass(frozen=True, slots=True)
class HttpReply:
    """An HTTP answer. `status` 0 means that nobody answered, `error` says why."""

    status: int
    body: bytes = b""
    error: str = ""


class Http(Protocol):
    """HTTP to a server under test. Never raises for a server's fault: it is in the reply."""

    def get(self, url: str, *, timeout_s: float, api_key: str | None = None) -> HttpReply:
        """GET."""

    def post(self, url: str, body: Json, *, timeout_s: float, api_key: str | None = None) -> HttpReply:
        """POST JSON."""


class OllamaApi(Protocol):
    """One Ollama server, by its API.

    Errors are exceptions here, unlike those of Http: an answer is what was asked for, and whoever asks cannot go on
    without it. Every method raises OllamaUnreachable when nobody answers in time, ModelAbsent where a model is named
    that is not there, and OllamaFailed, with a translated message, for every other error of the server.
    """

    def version(self) -> str:
        """Its version, as it says it (`0.33.0`)."""

    def list_models(self) -> tuple[ListedModel, ...]:
        """The models of its store."""

    def show(self, model: str) -> ShownModel:
        """What it knows of a model."""

    def loaded(self) -> tuple[LoadedModel, ...]:
        """The models in memory."""

    def load(
        self, model: str, *, keep_alive: int | str = -1, num_ctx: int | None = None, embedding: bool = False
    ) -> OllamaCall:
        """Load a model, which takes minutes for a large one. Nothing happens before the call is run."""

    def unload(self, model: str) -> None:
        """Take a model out of memory; one that is not loaded is left alone.

        Ollama answers before it is gone: `loaded` tells when.
        """

    def pull(self, model: str, *, insecure: bool = False, room_bytes: int | None = None) -> PullStream:
        """Bring a model; a pull that was broken off goes on where it stood. Raises PullFailed while iterated.

        `room_bytes` is what the store's disk has left: a model that needs more is given up as soon as its size is told.
        """

    def has_blob(self, digest: str) -> bool:
        """Whether the store has the blob `sha256:<hex>`."""

    def upload(self, digest: str, file: Path) -> PullStream:
        """Bring a file of this machine into the store as a blob. Raises OllamaFailed while iterated."""

    def create(
        self,
        model: str,
        *,
        source: str | None = None,
        files: Mapping[str, str] | None = None,
        parameters: Json | None = None,
        family: str = "",
    ) -> PullStream:
        """Make a model from another one (`source`) or from uploaded blobs (`files`: file name -> `sha256:<hex>`).

        `parameters` are set beside those of the source. `family` is what its config names, for a source whose own must
        be kept. Raises OllamaFailed while iterated.
        """

    def copy(self, source: str, model: str) -> None:
        """Give a model a second name: the same manifest, so the same digest."""

    def delete(self, model: str) -> None:
        """Remove a name, and the blobs that no other one uses."""


class Ollamas(Protocol):
    """Ways to Ollama servers and to what they keep."""

    def api(self, url: str) -> OllamaApi:
        """The API of the server at a URL."""

    def folder_store(self, root: Path) -> OllamaStore:
        """The store whose root (the folder with `manifests` and `blobs`) is a folder of this machine."""

    def container_store(self, ref: str, root: str, disk: Path | None) -> OllamaStore:
        """The store that a container, running or not, has at `root`; `disk` is where it lies on this machine."""

    def make_folder(self, folder: Path) -> bool:
        """Make the folder of a store, unless it is there; whether it was made. Raises Refused when it cannot be."""

    def foreign_log(self, source: LogSource) -> Stream:
        """The log of a server that is not ours. Raises Refused when it cannot be read."""


class OllamaCall(Protocol):
    """One long request of an Ollama server."""

    def run(self) -> None:
        """Blocks until it is done. Raises as OllamaApi does; returns early after `close`."""

    def close(self) -> None:
        """Give it up: Ollama then stops loading. Safe to call twice and from any thread."""


class OllamaStore(Protocol):
    """The models that an Ollama server keeps, read from its files. Raises nothing: what is wrong is in the answer."""

    def find(self, name: str) -> StoredModel:
        """The model of that name, resolved as Ollama does; state `absent` when there is none."""

    def models(self) -> tuple[StoredModel, ...]:
        """All models, by name."""

    def with_blob(self, blob: str) -> tuple[StoredModel, ...]:
        """The models whose weights are the blob `sha256-<hex>`, as the log names it."""

    def free_bytes(self) -> int | None:
        """What the store's disk has left; None where that cannot be seen."""


class ModelHub(Protocol):
    """Hugging Face's hub or a mirror of it, and the cache of its files on this machine."""

    @property
    def offline(self) -> bool:
        """Whether nobody may be asked."""

    @property
    def location(self) -> str:
        """The folder of the cache."""

    def find(self, ref: HubRef, *, guess: bool = False) -> HubModel | None:
        """The model if all of it is here. Asks nobody, and with `guess` takes the only quant that is here as meant."""

    def resolve(self, ref: HubRef) -> HubModel:
        """What the source means on the hub now, here or not.

        May take as long as the network lets it. Raises HubUnreachable, and PullFailed for what the hub does not have.
        """

    def look(self, model: HubModel) -> ModelFile | None:
        """What a model that is not here will be, from its header alone; None where that cannot be read."""

    def pull(self, model: HubModel) -> PullStream:
        """Bring what is missing of a model; a pull that was broken off goes on where it stood."""

    def free_bytes(self) -> int | None:
        """What the cache's disk has left; None where that cannot be seen."""

    def repositories(self) -> tuple[tuple[str, int], ...]:
        """The repositories of which the cache holds files, with their bytes, the largest first."""


class Clock(Protocol):
    """Time, so that tests can make it pass."""

    def monotonic(self) -> float:
        """Seconds since some fixed moment; never goes back."""

    def now(self) -> datetime:
        """The wall clock, in UTC."""


class EventSink(Protocol):
    """Where events go: a terminal, plain lines, JSON."""

    def emit(self, event: Event) -> None:
        """Take one event; called from one thread only."""

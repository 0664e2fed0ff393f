"""What a stack file declares, after loading: defaults merged, paths absolute, units resolved."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Literal

from homellm.domain.secret import Secret

RunnerName = Literal["llama-server", "ollama"]
GpuApi = Literal["vulkan", "cuda", "rocm"]
PullPolicy = Literal["missing", "always", "never"]
RestartPolicy = Literal["no", "always", "on-failure", "unless-stopped"]
#: What happens when Ollama gives fewer slots than asked: move to llama-server after a trial, never, or untried.
FallbackPolicy = Literal["llama-server", "none", "predict"]

#: The port on which every llama-server listens inside its container: the health check of the official image asks 8080.
SERVER_PORT = 8080
#: The port on which every Ollama of ours listens inside its container: its image's own.
OLLAMA_PORT = 11434
#: Where Ollama's image keeps its models; the store is mounted there.
OLLAMA_HOME = "/root/.ollama"
OLLAMA_IMAGE = "ollama/ollama:latest"
OLLAMA_ROCM_IMAGE = "ollama/ollama:rocm"
#: The Ollama server that a stack has when it declares none and a model needs one.
DEFAULT_OLLAMA = "main"


@dataclass(frozen=True, slots=True)
class Place:
    """Where in the stack file something stands; line and column count from 1, excerpt is the line itself."""

    file: str
    line: int
    column: int
    excerpt: str = ""

    @property
    def pointed(self) -> str:
        """The line with its number, and a caret under the column; long lines are cut around it."""
        start = max(0, self.column - 80)
        shown = ("…" if start else "") + self.excerpt[start : start + 120]
        before = ("…" if start else "") + self.excerpt[start : self.column - 1]
        gutter = " " * len(str(self.line))
        pad = "".join("\t" if char == "\t" else " " for char in before)
        return f"{self.line} | {shown}\n{gutter} | {pad}^"


@dataclass(frozen=True, slots=True)
class Gpu:
    """A GPU as declared: by PCI address, by `vendor:device` id, or `auto`; exactly one of the three.

    `place` is where its name stands in the file.
    """

    name: str
    api: GpuApi
    pci: str | None = None
    id: str | None = None
    auto: bool = False
    place: Place | None = None


@dataclass(frozen=True, slots=True)
class Source:
    """Where a model's weights come from. `kind` gguf: `path` is absolute; hf and ollama: `ref` is the rest.

    Of an hf source `path` is where its file stands in the hub's cache, set once that is known; the stack file has none.
    """

    kind: Literal["gguf", "hf", "ollama"]
    ref: str
    path: Path | None = None

    def __str__(self) -> str:
        return f"{self.kind}:{(self.kind == 'gguf' and self.path) or self.ref}"


@dataclass(frozen=True, slots=True)
class KvCacheType:
    """Element types of the KV cache, as llama.cpp names them (f16, q8_0, …)."""

    k: str
    v: str


@dataclass(frozen=True, slots=True)
class Volume:
    """A further mount of a container: a host path or a named volume."""

    source: str
    target: str
    read_only: bool = False
    named: bool = False


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A file of an Ollama store, as another container can be given it.

    `path` is absolute on the host, or, with `volume`, relative to that named volume's root. `name` is `sha256-<hex>`.
    """

    path: str
    volume: str | None = None

    @property
    def name(self) -> str:
        """Its file name."""
        return self.path.rpartition("/")[2]


@dataclass(frozen=True, slots=True)
class StoredFiles:
    """The files of an Ollama model that llama-server is started on: weights, projector, adapters."""

    model: StoredFile
    projector: StoredFile | None = None
    adapters: tuple[StoredFile, ...] = ()


@dataclass(frozen=True, slots=True)
class Program:
    """Another program of an image than its own entrypoint, with the variables that it needs to find its libraries."""

    path: str
    env: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True, slots=True)
class LogSettings:
    """The engine's log driver for a container; None leaves the daemon's own. Sizes as Docker writes them (`10m`)."""

    driver: str | None = None
    max_size: str | None = "10m"
    max_files: int | None = 3


@dataclass(frozen=True, slots=True)
class Model:
    """One model: what serves it, from which weights, with which resources.

    `ctx` is the number of tokens of one slot, on every runner. Numbers of bytes end in `_bytes`, of seconds in `_s`.
    None means that the key was not given and the runner's own default holds. `section` is the model's part of the
    stack file before `${}` was replaced, with literal secrets redacted. `places` maps a key of the file to where it
    stands (a key that came from `defaults` points there), and `""` to the model's name.

    `server` names the Ollama server of a model whose source is `ollama:` or whose runner is ollama, after loading
    always the one that is meant. `fallback_source` is where llama-server takes the weights when no build reads those of
    Ollama's store. `stored` and `program` are not of the file: they are set where a model of a store is served by
    llama-server, and where that is the one inside Ollama's image. `unset` has the keys that are not known, to who only
    looks at what runs, because a variable in them is not set (`env.TOKEN` for one of several).
    """

    name: str
    source: Source
    image: str
    runner: RunnerName = "llama-server"
    parallel: int = 1
    ctx: int = 4096
    batch: int | None = None
    ubatch: int | None = None
    gpu: str | None = None
    gpu_layers: Literal["all", "auto"] | int | None = None
    flash_attention: Literal["on", "off", "auto"] | None = None
    kv_cache_type: KvCacheType | None = None
    kv_unified: bool | None = None
    swa_full: bool | None = None
    cache_reuse: int | None = None
    reasoning_preserve: bool | None = None
    jinja: bool | None = None
    mlock: bool = False
    sleep_idle_s: int | None = None
    mmproj: Path | None = None
    chat_template_file: Path | None = None
    embedding: bool = False
    api_key: Secret | None = None
    port: int | None = None
    bind: str = "127.0.0.1"
    pull: PullPolicy = "missing"
    cpuset: str | None = None
    cpu_shares: int | None = None
    memory_bytes: int | None = None
    shm_size_bytes: int | None = None
    restart: RestartPolicy = "unless-stopped"
    stop_grace_s: int = 10
    container_name: str | None = None
    env: Mapping[str, str | Secret] = field(default_factory=lambda: MappingProxyType({}))
    labels: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    volumes: tuple[Volume, ...] = ()
    networks: tuple[str, ...] = ()
    log: LogSettings = field(default_factory=LogSettings)
    extra_args: tuple[str, ...] = ()
    section: str = ""
    places: Mapping[str, Place] = field(default_factory=lambda: MappingProxyType({}), compare=False)
    server: str | None = None
    fallback: FallbackPolicy = "llama-server"
    fallback_source: Source | None = None
    stored: StoredFiles | None = None
    program: Program | None = None
    unset: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class LogSource:
    """Where the log of a server that is not ours is read: a systemd unit, a file, or a container of somebody's."""

    kind: Literal["journal", "file", "container"]
    where: str


@dataclass(frozen=True, slots=True)
class OllamaServer:
    """An Ollama server: one of ours in a container, or one that runs already (`url`).

    `store` is the folder or volume that holds `models/`; None only for a server that is not ours and whose store was
    not told. `keep_alive` is a number of seconds (-1: for ever) or a duration in Ollama's own writing. `llama_args`
    reach its llama-server as LLAMA_ARG_<NAME>, `name` -> value. Without `port` nothing is published.
    None means that Ollama's own default holds. `flash_attention` and `kv_cache_type` are those of its models where the
    server itself says nothing. `declared` is False for the one that a stack has without naming it. `section`,
    `places` and `unset` as for a model.
    """

    name: str
    image: str = OLLAMA_IMAGE
    url: str | None = None
    log_source: LogSource | None = None
    port: int | None = None
    bind: str = "127.0.0.1"
    store: Volume | None = None
    keep_alive: int | str = -1
    max_loaded_models: int | None = None
    max_queue: int | None = None
    load_timeout_s: int | None = None
    kv_cache_type: str | None = None
    flash_attention: Literal["on", "off", "auto"] | None = None
    gpu_overhead_bytes: int | None = None
    sched_spread: bool | None = None
    origins: tuple[str, ...] = ()
    llama_args: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    gpu: str | None = None
    cpuset: str | None = None
    cpu_shares: int | None = None
    memory_bytes: int | None = None
    restart: RestartPolicy = "unless-stopped"
    stop_grace_s: int = 10
    pull: PullPolicy = "missing"
    container_name: str | None = None
    env: Mapping[str, str | Secret] = field(default_factory=lambda: MappingProxyType({}))
    labels: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    volumes: tuple[Volume, ...] = ()
    networks: tuple[str, ...] = ()
    log: LogSettings = field(default_factory=LogSettings)
    declared: bool = True
    section: str = ""
    places: Mapping[str, Place] = field(default_factory=lambda: MappingProxyType({}), compare=False)
    unset: frozenset[str] = frozenset()

    @property
    def ours(self) -> bool:
        """Whether it runs in a container of this stack."""
        return self.url is None


#: What a stack file declares by name and a container is made for.
Declared = Model | OllamaServer


@dataclass(frozen=True, slots=True)
class Stack:
    """A whole stack file. `file` is its absolute path, `variables` are those of the environment that it depends on."""

    name: str
    file: Path
    models: tuple[Model, ...] = ()
    gpus: tuple[Gpu, ...] = ()
    ollama: tuple[OllamaServer, ...] = ()
    variables: frozenset[str] = frozenset()

    def model(self, name: str) -> Model | None:
        """The model of that name, or None."""
        return next((model for model in self.models if model.name == name), None)

    def gpu(self, name: str | None) -> Gpu | None:
        """The GPU of that name, or None."""
        return next((gpu for gpu in self.gpus if gpu.name == name), None)

    def ollama_server(self, name: str | None) -> OllamaServer | None:
        """The Ollama server of that name, or None."""
        return next((server for server in self.ollama if server.name == name), None)

    def models_on(self, server: OllamaServer) -> tuple[Model, ...]:
        """The models that this Ollama server is to serve, in the order of the file."""
        return tuple(model for model in self.models if model.runner == "ollama" and model.server == server.name)

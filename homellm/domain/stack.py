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

#: The port on which every llama-server listens inside its container: the health check of the official image asks 8080.
SERVER_PORT = 8080


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
    """Where a model's weights come from. `kind` gguf: `path` is absolute; hf and ollama: `ref` is the rest."""

    kind: Literal["gguf", "hf", "ollama"]
    ref: str
    path: Path | None = None

    def __str__(self) -> str:
        return f"{self.kind}:{self.path or self.ref}"


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


@dataclass(frozen=True, slots=True)
class Stack:
    """A whole stack file. `file` is its absolute path."""

    name: str
    file: Path
    models: tuple[Model, ...] = ()
    gpus: tuple[Gpu, ...] = ()

    def model(self, name: str) -> Model | None:
        """The model of that name, or None."""
        return next((model for model in self.models if model.name == name), None)

    def gpu(self, name: str | None) -> Gpu | None:
        """The GPU of that name, or None."""
        return next((gpu for gpu in self.gpus if gpu.name == name), None)

"""What was observed of a running server: by its API, its process, its log and a real request."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING

from homellm.domain.signals import Signal
from homellm.domain.world import Container, FileState, HostGpu, Likeness, Process

if TYPE_CHECKING:
    from homellm.domain.ollama import LoadedModel


@dataclass(frozen=True, slots=True)
class MemoryRow:
    """One row of llama-server's memory breakdown, in MiB; None where the table leaves a field empty."""

    device: str
    total_mib: int | None
    free_mib: int | None
    self_mib: int | None
    model_mib: int | None
    context_mib: int | None
    compute_mib: int | None
    unaccounted_mib: int | None


@dataclass(frozen=True, slots=True)
class Load:
    """One load of a model in an Ollama server's log. `blob` is `sha256-<hex>`, as the store names it.

    `refused` is why Ollama gave it one slot whatever was asked: an architecture, `multimodal`, or None.
    `own_format` tells that the runner found a file in Ollama's own format, which llama.cpp's own builds refuse.
    `gpu_libraries` is the folder of GPU libraries that the server found for its GPU (`cuda_v13`), None without one.
    """

    blob: str | None = None
    slots: int | None = None
    ctx_per_slot: int | None = None
    ready: bool = False
    refused: str | None = None
    device: str | None = None
    own_format: bool = False
    gpu_libraries: str | None = None


@dataclass(frozen=True, slots=True)
class LogSummary:
    """What a server's log tells, after all its lines (of the last load, where there are several).

    None means that the log does not tell. `device` is a device's name as the log gives it, or `cpu`.
    `weights_mib` sums the model buffers, by buffer name. `kv_mib` and `recurrent_mib` are the caches' sizes.
    `pool_tokens` is the context of all slots together. `known` tells whether any line was a server's at all.
    `found_no_gpu` tells that a backend looked for a GPU and found none: a problem only where one was asked for.
    `cache_reused` tells that a chunk of a prompt was reused. `server`, `version` and `loads` tell an Ollama server's
    log from a llama-server's: `server` is `ollama` there.
    """

    ready: bool = False
    slots: int | None = None
    ctx_per_slot: int | None = None
    kv_unified: bool | None = None
    device: str | None = None
    device_pci: str | None = None
    layers_offloaded: str | None = None
    slots_used: int = 0
    memory: tuple[MemoryRow, ...] = ()
    model_path: str | None = None
    build: str | None = None
    verbosity: int | None = None
    weights_mib: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))
    kv_mib: float | None = None
    recurrent_mib: float | None = None
    compute_mib: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))
    threads: int | None = None
    batch: int | None = None
    ubatch: int | None = None
    flash_attention: str | None = None
    kv_types: tuple[str, str] | None = None
    problems: tuple[Signal, ...] = ()
    pool_tokens: int | None = None
    cache_reused: bool = False
    known: bool = False
    server: str | None = None
    version: str | None = None
    loads: tuple[Load, ...] = ()
    found_no_gpu: bool = False


@dataclass(frozen=True, slots=True)
class Props:
    """GET /props, as far as it is used. `n_ctx` is the context of one slot in tokens.

    `modalities` are those that it takes besides text (`vision`, `audio`); None of a build that does not tell.
    """

    total_slots: int | None = None
    n_ctx: int | None = None
    model_alias: str | None = None
    model_path: str | None = None
    build_info: str | None = None
    sleeping: bool | None = None
    template_caps: Mapping[str, bool] = field(default_factory=lambda: MappingProxyType({}))
    modalities: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Chat:
    """One real chat request. `tokens` is the number of tokens that came back, `error` the server's own words.

    `called` tells that a tool was called, which only one that was offered a tool can.
    """

    status: int
    model: str | None = None
    tokens: int | None = None
    error: str = ""
    called: bool = False


@dataclass(frozen=True, slots=True)
class Overlap:
    """So many short requests at once. `slots` is the most in which the server was seen at work at one moment.

    `slots` is None when no `source` (`/slots`, `/metrics`) told. `conclusive` says that the server was looked at often
    enough while all requests were under way, so that fewer slots are a fact. `error` is why a request failed.
    """

    requests: int
    slots: int | None = None
    source: str = ""
    conclusive: bool = False
    error: str = ""


@dataclass(frozen=True, slots=True)
class FilesSeen:
    """The files that the present run of a server `loaded`, and the paths of those that are others now (`changed`).

    `unseen` are those of which nothing is known now: they are gone, or this user may not look. `likeness` is what
    is known of the others, of several the least (world.Likeness).
    """

    loaded: tuple[FileState, ...]
    changed: tuple[str, ...] = ()
    unseen: tuple[str, ...] = ()
    likeness: Likeness = "dated"


@dataclass(frozen=True, slots=True)
class Evidence:
    """Everything a verification saw; None for a witness that could not be asked.

    `reachable` tells whether there was any way from here to the server's port; `url` is the one that was used.
    `dead_port` is where its port is published and nobody answers, though the container's own address does.
    `log` covers the present run only; `log_from_start` is False when its first lines are lost to rotation, and then
    what it tells of the load may be a part. `recorded` names what the record of this run remembers and the log has
    lost: fields of `log`, `problem:<id>`, `chat`. `overlap` is there when it was asked for.
    `gpu` is the host's GPU that was declared, after resolution. `weights_bytes` come from the model file's header.
    `tool_call` is a request that must call a tool, asked only where the model's template claims that it can.
    `reckoned_bytes` is what the model was to take on all devices together, None where that is not known exactly.
    `proved` is the last request of this run that was answered, and `busy` the number of slots where all of them served
    others, so that the one of now was not: 0 where that is not so.
    `bridges` are the host's addresses that only its own containers reach, as far as they are known.
    `files` is None where nobody knows what the server loaded, or what stands there now.
    """

    container: Container | None = None
    url: str = ""
    reachable: bool = False
    dead_port: str = ""
    healthy: bool | None = None
    props: Props | None = None
    chat: Chat | None = None
    log: LogSummary = field(default_factory=LogSummary)
    log_from_start: bool = True
    process: Process | None = None
    gpu: HostGpu | None = None
    weights_bytes: int | None = None
    ready_s: float | None = None
    tool_call: Chat | None = None
    reckoned_bytes: int | None = None
    recorded: frozenset[str] = frozenset()
    overlap: Overlap | None = None
    proved: Chat | None = None
    busy: int = 0
    files: FilesSeen | None = None
    bridges: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class OllamaEvidence:
    """What was seen of one model on an Ollama server.

    `load` is the last load of its blob in the server's present run, None when the log does not tell of one; `loads` are
    all of them. `loaded` is the model in /api/ps, None when it is not in memory, and `asked_ps` tells whether that
    could be asked.
    """

    container: Container | None = None
    url: str = ""
    version: str = ""
    load: Load | None = None
    loads: tuple[Load, ...] = ()
    loaded: LoadedModel | None = None
    asked_ps: bool = False
    chat: Chat | None = None
    log: LogSummary = field(default_factory=LogSummary)
    gpu: HostGpu | None = None
    ready_s: float | None = None
    bridges: frozenset[str] = frozenset()

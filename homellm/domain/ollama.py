"""What Ollama has of a model: the store's manifest and layers, read; and what its API tells of a loaded one."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal

#: A value of a params layer: what a Modelfile's PARAMETER lines became.
Param = bool | int | float | str | tuple[str, ...]

StoredState = Literal[
    "ok",
    "absent",
    "cloud",
    "safetensors",
    "no-weights",
    "blob-missing",
    "blob-truncated",
    "partial",
    "unreadable",
]

#: States in which another pull of the same name puts things right.
PULL_CURES: tuple[StoredState, ...] = ("absent", "blob-missing", "blob-truncated", "partial", "unreadable")


@dataclass(frozen=True, slots=True)
class StoredModel:
    """One model of an Ollama store, from its name to its layers.

    `name` is the whole name as the store has it (`registry.ollama.ai/library/lfm2.5:2.6b`). `state` says whether its
    weights can be used, `reason` why not, as a sentence that names model and blob. `digest` is the sha256 of the
    manifest in hex, as /api/tags gives it, `config_digest` and `blob_digest` are `sha256:<hex>`. Paths (`blob`,
    `projectors`, `adapters`, `draft`) are relative to the store's root: `blobs/sha256-<hex>`. `size_bytes` is that of
    the weights, `total_bytes` that of all layers. `family`, `families`, `quantization`, `parameter_size`, `renderer`
    and `parser` come from the config blob; a `family` may be empty, and Ollama's refusals go by it alone. `messages`
    counts the messages that the model begins every conversation with.
    """

    name: str
    state: StoredState
    reason: str = ""
    digest: str = ""
    blob: str | None = None
    blob_digest: str | None = None
    size_bytes: int = 0
    total_bytes: int = 0
    projectors: tuple[str, ...] = ()
    adapters: tuple[str, ...] = ()
    draft: str | None = None
    template: str | None = None
    system: str | None = None
    params: Mapping[str, Param] = field(default_factory=lambda: MappingProxyType({}))
    messages: int = 0
    family: str = ""
    families: tuple[str, ...] = ()
    quantization: str = ""
    parameter_size: str = ""
    renderer: str = ""
    parser: str = ""
    remote_host: str = ""
    config_digest: str = ""

    @property
    def usable(self) -> bool:
        """Whether its weights are whole and here."""
        return self.state == "ok"

    @property
    def blob_name(self) -> str | None:
        """The weights' file as the log names it, `sha256-<hex>`."""
        return self.blob.rpartition("/")[2] if self.blob else None

    @property
    def num_ctx(self) -> int | None:
        """The context that its own parameters ask for, which beats the server's default; None without one."""
        value = self.params.get("num_ctx")
        return value if isinstance(value, int) and not isinstance(value, bool) else None


@dataclass(frozen=True, slots=True)
class MadeFrom:
    """The file that a model was made from, as it was then; of a split one all its parts, `path` being the first.

    `mtime_ns` is that of the newest, counted from the Unix epoch. `digests` are the sha256 of each whole file, in hex.
    `inode` is that of all parts (world.FileStamp), `sample` stands for what they say (ports.ModelFiles.sample); both
    are empty where an older homellm made the model.
    """

    path: str
    size_bytes: int
    mtime_ns: int
    digests: tuple[str, ...] = ()
    inode: tuple[int, ...] = ()
    sample: str = ""


@dataclass(frozen=True, slots=True)
class LoadedModel:
    """One model in memory, as GET /api/ps tells. `ctx` is one slot's context; no API tells the number of slots.

    `size_bytes` is all that it takes, `vram_bytes` the part in the GPU's memory: 0 means that it computes on the CPU.
    `expires_at` is the server's own text (RFC 3339), far in the future for one that stays.
    """

    name: str
    digest: str
    size_bytes: int
    vram_bytes: int
    ctx: int | None = None
    expires_at: str = ""


@dataclass(frozen=True, slots=True)
class ListedModel:
    """One model of GET /api/tags. `digest` is the manifest's sha256 in hex."""

    name: str
    digest: str
    size_bytes: int
    family: str = ""


@dataclass(frozen=True, slots=True)
class ShownModel:
    """POST /api/show, as far as it is used. `blob_path` is where the server itself finds the weights."""

    family: str = ""
    families: tuple[str, ...] = ()
    quantization: str = ""
    capabilities: tuple[str, ...] = ()
    blob_path: str | None = None
    template: str = ""
    system: str = ""
    parameters: str = ""
    architecture: str = ""
    remote_host: str = ""

    @property
    def embedding(self) -> bool:
        """Whether it makes embeddings and no text: Ollama gives such models one slot without a word."""
        return "embedding" in self.capabilities and "completion" not in self.capabilities


_PARAMETER = re.compile(r"(\S+)\s+(.*\S)")


def stored_from_api(listed: ListedModel, shown: ShownModel) -> StoredModel:
    """What the API alone tells of a model, for a server whose store cannot be read.

    Layers other than weights are unknown: adapters and projectors do not show. `state` is cloud for a model that runs
    elsewhere, no-weights where no path of the weights is told.
    """
    blob = "/".join(shown.blob_path.split("/")[-2:]) if shown.blob_path else None
    state: StoredState = "cloud" if shown.remote_host else "ok" if blob else "no-weights"
    return StoredModel(
        name=listed.name,
        state=state,
        reason="" if state == "ok" else f"{listed.name} has no weights here",
        digest=listed.digest,
        blob=blob,
        blob_digest=blob.rpartition("/")[2].replace("-", ":") if blob else None,
        size_bytes=listed.size_bytes,
        total_bytes=listed.size_bytes,
        system=shown.system or None,
        params=MappingProxyType(_parameters(shown.parameters)),
        family=shown.family,
        families=shown.families,
        quantization=shown.quantization,
        remote_host=shown.remote_host,
    )


def _parameters(text: str) -> dict[str, Param]:
    """The lines of /api/show's `parameters`: a name, blanks, and a number or a quoted text; `stop` comes repeatedly."""
    found: dict[str, Param] = {}
    for line in text.splitlines():
        match = _PARAMETER.fullmatch(line.strip())
        if match is None:
            continue
        name, value = match[1], _value(match[2])
        if name == "stop":
            before = found.get(name, ())
            found[name] = (*(before if isinstance(before, tuple) else ()), str(value))
        else:
            found[name] = value
    return found


def _value(text: str) -> bool | int | float | str:
    if text.startswith('"'):
        try:
            return str(json.loads(text))
        except ValueError:
            return text.strip('"')
    if text in ("true", "false"):
        return text == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text

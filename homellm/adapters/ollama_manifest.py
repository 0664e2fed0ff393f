"""A manifest of Ollama's store and what its layers say -> StoredModel. Files are reached through what is passed in.

Source of the format: manifest/manifest.go, types/model/config.go and `GetModel` in server/images.go of Ollama 0.33.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from hashlib import sha256
from types import MappingProxyType
from typing import Protocol

from homellm.domain.ollama import Param, StoredModel, StoredState
from homellm.domain.ollama_names import OllamaName

#: The most that is read of a manifest, a config, a template, a system prompt or parameters.
TEXT_LIMIT_BYTES = 1024 * 1024

_KIND = "application/vnd.ollama.image."
_DIGEST = re.compile(r"sha256[:-]([0-9a-fA-F]{64})")


class StoreUnreadable(Exception):
    """A file of the store cannot be read; the text says why."""


class StoreFiles(Protocol):
    """The files of a store, by path relative to its root. Every method raises StoreUnreadable."""

    def manifests(self) -> Mapping[str, bytes]:
        """All manifests, `manifests/host/namespace/model/tag` -> content; empty for a store without any."""

    def size(self, path: str) -> int | None:
        """Bytes of a file, None when there is none."""

    def read(self, path: str) -> bytes | None:
        """The content of a file of at most TEXT_LIMIT_BYTES, None when there is none."""


@dataclass(frozen=True, slots=True)
class Layer:
    """One layer. `kind` is what follows `application/vnd.ollama.image.`; `path` where its blob stands in the store."""

    kind: str
    digest: str
    size: int
    path: str

    @property
    def file(self) -> str:
        """The blob's file name."""
        return self.path.rpartition("/")[2]


def read_model(name: OllamaName, manifest: bytes, files: StoreFiles) -> StoredModel:
    """What the store has of a model. Whatever is wrong is in its state and reason."""
    model = StoredModel(name=str(name), state="ok", digest=sha256(manifest).hexdigest())
    try:
        layers, config = _layers(manifest)
        return _read(model, name, layers, config, files)
    except _Wrong as wrong:
        return replace(model, state=wrong.state, reason=f"{name.short}: {wrong}")
    except StoreUnreadable as error:
        return replace(model, state="unreadable", reason=f"{name.short}: {error}")


class _Wrong(Exception):
    def __init__(self, state: StoredState, text: str) -> None:
        super().__init__(text)
        self.state = state


def _read(
    model: StoredModel, name: OllamaName, layers: tuple[Layer, ...], config: Layer | None, files: StoreFiles
) -> StoredModel:
    weights = [layer for layer in layers if layer.kind == "model"]
    model = replace(
        model,
        total_bytes=sum(layer.size for layer in layers) + (config.size if config else 0),
        config_digest=config.digest if config else "",
        projectors=_paths(layers, "projector"),
        adapters=_paths(layers, "adapter"),
        draft=next(iter(_paths(layers, "draft")), None),
    )
    if weights:  # several: the last one is the one that Ollama loads
        last = weights[-1]
        model = replace(model, blob=last.path, blob_digest=last.digest, size_bytes=last.size)
    model = _with_config(model, config, files)
    state = _kind_of_model(model, layers)
    if state is not None:
        return replace(model, state=state[0], reason=f"{name.short} {state[1]}")
    broken = _broken_blob(layers, config, weights[-1], files)
    if broken is not None:
        return replace(model, state=broken[0], reason=f"of {name.short} {broken[1]}")
    return _with_texts(model, layers, files)


def _layers(manifest: bytes) -> tuple[tuple[Layer, ...], Layer | None]:
    try:
        whole = json.loads(manifest)
    except ValueError as error:
        raise _Wrong("unreadable", "its manifest is no JSON") from error
    if not isinstance(whole, dict) or not isinstance(whole.get("layers") or [], list):
        raise _Wrong("unreadable", "its manifest has no list of layers")
    config = whole.get("config")
    given = isinstance(config, dict) and bool(config.get("digest"))
    return tuple(_layer(entry) for entry in whole.get("layers") or []), _layer(config) if given else None


def _layer(entry: object) -> Layer:
    if not isinstance(entry, dict):
        raise _Wrong("unreadable", "its manifest has a layer that is none")
    kind, digest, size = (entry.get(key) for key in ("mediaType", "digest", "size"))
    found = _DIGEST.fullmatch(digest) if isinstance(digest, str) else None
    if found is None or not isinstance(kind, str) or not isinstance(size, int) or size < 0:
        raise _Wrong("unreadable", "its manifest has a layer without a digest or size")
    return Layer(kind.removeprefix(_KIND), f"sha256:{found[1]}", size, f"blobs/sha256-{found[1]}")


def _paths(layers: tuple[Layer, ...], kind: str) -> tuple[str, ...]:
    return tuple(layer.path for layer in layers if layer.kind == kind)


def _kind_of_model(model: StoredModel, layers: tuple[Layer, ...]) -> tuple[StoredState, str] | None:
    """Models that have no weights which llama-server could read."""
    if model.remote_host:
        return "cloud", f"is a cloud model: it runs on {model.remote_host} and has no weights here"
    if any(layer.kind == "tensor" for layer in layers):
        return "safetensors", "is kept as safetensors, which llama-server cannot read"
    if model.blob is None:
        return "no-weights", "has no weights in the store: its manifest names no model layer"
    return None


def _broken_blob(
    layers: tuple[Layer, ...], config: Layer | None, weights: Layer, files: StoreFiles
) -> tuple[StoredState, str] | None:
    """The first blob that is not as the manifest says, the weights before all others."""
    ordered = [weights, *(layer for layer in layers if layer is not weights), *([config] if config else [])]
    for layer in ordered:
        what = "the weights" if layer is weights else f"its {_name_of(layer)}"
        size = files.size(layer.path)
        if size is None and files.size(f"{layer.path}-partial") is not None:
            return "partial", f"the blob {layer.file} ({what}) is only partly here: its download was broken off"
        if size is None:
            return "blob-missing", f"the blob {layer.file} ({what}, {_mb(layer.size)}) is missing from the store"
        if size < layer.size:
            return "blob-truncated", f"the blob {layer.file} ({what}) is cut short: {_mb(size)} of {_mb(layer.size)}"
        if size > layer.size:
            return (
                "unreadable",
                f"the blob {layer.file} ({what}) is not what its manifest says: {size} bytes, not {layer.size}",
            )
    return None


def _name_of(layer: Layer) -> str:
    return "config" if "/" in layer.kind else layer.kind


def _mb(size: int) -> str:
    """A number of bytes for a sentence."""
    return f"{size} bytes" if size < 10_000 else f"{size / 1e6:.0f} MB" if size >= 1_000_000 else f"{size / 1e3:.0f} kB"  # noqa: PLR2004


def _with_config(model: StoredModel, config: Layer | None, files: StoreFiles) -> StoredModel:
    """What the config blob says; one that is missing is found by the check of the blobs."""
    raw = files.read(config.path) if config else None
    if raw is None:
        return model
    said = _json(raw, "config")
    if not isinstance(said, dict):
        raise _Wrong("unreadable", "its config is no mapping")
    families = said.get("model_families")
    if said.get("model_format") == "safetensors" and model.blob is None:
        raise _Wrong("safetensors", "it is kept as safetensors, which llama-server cannot read")
    return replace(
        model,
        family=_text(said, "model_family"),
        families=tuple(str(one) for one in families) if isinstance(families, list) else (),
        quantization=_text(said, "file_type"),
        parameter_size=_text(said, "model_type"),
        renderer=_text(said, "renderer"),
        parser=_text(said, "parser"),
        remote_host=_text(said, "remote_host"),
    )


def _text(said: Mapping[str, object], key: str) -> str:
    value = said.get(key)
    return value if isinstance(value, str) else ""


def _with_texts(model: StoredModel, layers: tuple[Layer, ...], files: StoreFiles) -> StoredModel:
    """Template, system prompt, parameters and messages; of several layers of a kind the last one counts."""
    template = _last_text(layers, ("template", "prompt"), files)
    system = _last_text(layers, ("system",), files)
    params = _last_text(layers, ("params",), files)
    messages = _last_text(layers, ("messages",), files)
    said = _json(params.encode(), "parameters") if params else {}
    begun = _json(messages.encode(), "messages") if messages else []
    return replace(
        model,
        template=template,
        system=system,
        params=MappingProxyType(_params(said)),
        messages=len(begun) if isinstance(begun, list) else 0,
    )


def _last_text(layers: tuple[Layer, ...], kinds: tuple[str, ...], files: StoreFiles) -> str | None:
    found = [layer for layer in layers if layer.kind in kinds]
    raw = files.read(found[-1].path) if found else None
    return raw.decode("utf-8", "replace") if raw is not None else None


def _params(said: object) -> dict[str, Param]:
    if not isinstance(said, dict):
        raise _Wrong("unreadable", "its parameters are no mapping")
    params: dict[str, Param] = {}
    for name, value in said.items():
        if isinstance(value, list):
            params[str(name)] = tuple(str(item) for item in value)
        elif isinstance(value, bool | int | float | str):
            params[str(name)] = value
    return params


def _json(raw: bytes, what: str) -> object:
    try:
        whole: object = json.loads(raw)
    except ValueError as error:
        raise _Wrong("unreadable", f"its {what} blob is no JSON") from error
    return whole

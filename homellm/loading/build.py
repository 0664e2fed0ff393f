"""Merged keys to the domain's Stack: defaults filled in, units in the fields' names, secrets as secrets."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from types import MappingProxyType
from typing import Any

from homellm.domain.keys import KEY_OF_FIELD
from homellm.domain.names import default_store
from homellm.domain.secret import Secret, looks_secret
from homellm.domain.stack import (
    OLLAMA_HOME,
    OLLAMA_IMAGE,
    OLLAMA_ROCM_IMAGE,
    Gpu,
    GpuApi,
    LogSettings,
    Model,
    OllamaServer,
    Place,
    Stack,
    Volume,
)
from homellm.loading.contradictions import ROTATING_DRIVERS
from homellm.loading.findings import SourceText
from homellm.loading.key_types import LogKeys
from homellm.loading.keys import GpuKeys
from homellm.loading.merge import MergedModel
from homellm.loading.ollama_checks import llama_variable

_OFFICIAL_IMAGE = "ghcr.io/ggml-org/llama.cpp:server"

#: Keys whose field of Model says its unit.
_RENAMED = {key: field for field, key in KEY_OF_FIELD.items()}


def official_image(api: GpuApi | None) -> str:
    """The official server image for a GPU's api, or for the CPU."""
    return _OFFICIAL_IMAGE if api is None else f"{_OFFICIAL_IMAGE}-{api}"


def build_gpu(name: str, keys: GpuKeys, place: Place) -> Gpu:
    """A declared GPU; `pci: auto` and `id: auto` mean `auto: true`."""
    auto = keys.auto or "auto" in (keys.pci, keys.id)
    return Gpu(name, keys.api, None if auto else keys.pci, None if auto else keys.id, auto, place)


def build_stack(
    name: str, file: Path, gpus: tuple[Gpu, ...], models: Iterable[Model], servers: Iterable[OllamaServer] = ()
) -> Stack:
    """The stack."""
    return Stack(name, file, tuple(models), gpus, tuple(servers))


def build_model(merged: MergedModel, gpus: tuple[Gpu, ...], section: str, source: SourceText) -> Model:
    """One model whose keys have all been found right."""
    fields: dict[str, Any] = {_RENAMED.get(key, key): value for key, value in merged.values.items()}
    api = next((gpu.api for gpu in gpus if gpu.name == fields.get("gpu")), None)
    fields.setdefault("image", official_image(api))
    if "api_key" in fields:
        fields["api_key"] = Secret(fields["api_key"])
    fields["env"] = MappingProxyType({name: _variable(name, text) for name, text in fields.get("env", {}).items()})
    fields["labels"] = MappingProxyType(dict(fields.get("labels", {})))
    for key in ("volumes", "extra_args"):
        fields[key] = tuple(fields.get(key, ()))
    fields["log"] = _log(fields.get("log"))
    return Model(
        name=merged.name,
        **fields,
        section=section,
        places=_places(merged, source),
        unset=merged.unset(gpu=fields.get("gpu")),
    )


def build_server(
    merged: MergedModel, stack: str, gpus: tuple[Gpu, ...], section: str, source: SourceText
) -> OllamaServer:
    """One Ollama server whose keys have all been found right; one that is not ours has nothing of a container."""
    given = {_RENAMED.get(key, key): value for key, value in merged.values.items()}
    places = _places(merged, source)
    own = {key: value for key, value in given.items() if key in ("url", "store", "keep_alive")}
    own["log_source"] = given.get("log_from")
    if "url" in given:
        return OllamaServer(name=merged.name, **own, section=section, places=places, unset=merged.unset())
    fields: dict[str, Any] = {key: value for key, value in given.items() if key not in ("log_from", *own)}
    api = next((gpu.api for gpu in gpus if gpu.name == fields.get("gpu")), None)
    fields.setdefault("image", OLLAMA_ROCM_IMAGE if api == "rocm" else OLLAMA_IMAGE)
    own.setdefault("store", Volume(default_store(stack, merged.name), OLLAMA_HOME, named=True))
    fields["env"] = MappingProxyType({name: _variable(name, text) for name, text in fields.get("env", {}).items()})
    fields["labels"] = MappingProxyType(dict(fields.get("labels", {})))
    arguments = {llama_variable(name): text for name, text in fields.get("llama_args", {}).items()}
    fields["llama_args"] = MappingProxyType(arguments)
    for key in ("volumes", "origins"):
        fields[key] = tuple(fields.get(key, ()))
    fields["log"] = _log(fields.get("log"))
    declared = (merged.section, merged.name) in merged.document.marks
    unset = merged.unset(gpu=fields.get("gpu"))
    return OllamaServer(
        name=merged.name, **own, **fields, declared=declared, section=section, places=places, unset=unset
    )


def _variable(name: str, text: str) -> str | Secret:
    return Secret(text) if looks_secret(name) else text


def _log(keys: LogKeys | None) -> LogSettings:
    """The rotation of the files; a driver that keeps none has none."""
    default = LogSettings()
    if keys is None:
        return default
    if keys.driver is not None and keys.driver not in ROTATING_DRIVERS:
        return LogSettings(keys.driver, None, None)
    return LogSettings(keys.driver, keys.max_size or default.max_size, keys.max_files or default.max_files)


def _places(merged: MergedModel, source: SourceText) -> MappingProxyType[str, Place]:
    """Every key of the model, dotted for what lies inside (`env.A`, `extra_args.0`), and `""` for its name."""
    document, own = merged.document, (merged.section, merged.name)
    places = {"": source.place(document.mark(own))}
    for base in (("defaults",), own):
        for path in document.inside.get(base, ()):
            words = path[len(base) :]
            if words and words[0] in merged.values and merged.path(*words) == path:
                places[".".join(str(word) for word in words)] = source.place(document.marks[path])
    return MappingProxyType(places)

"""The stack as homellm understood it, with the keys of a stack file: defaults merged, units resolved, secrets hidden.

Pure but for the YAML library, which is loaded when text is asked for.
"""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

from homellm.domain.keys import KEY_OF_FIELD
from homellm.domain.secret import REDACTED, Secret, looks_secret
from homellm.domain.stack import Gpu, Model, OllamaServer, Source, Stack, Volume

_DURATIONS = ("sleep_idle", "stop_grace", "load_timeout")
#: What is no key of the file.
_OWN = ("name", "section", "places", "stored", "program", "declared", "unset")
#: What can be said of an Ollama that is not ours, and how the places of its log are written.
_FOREIGN = ("url", "keep_alive")
_LOGS = {"journal": "journal", "container": "docker"}
#: What only a model of an Ollama server has.
_OLLAMA = ("server", "fallback", "fallback_source")


def config_document(stack: Stack) -> dict[str, object]:
    """The stack with the keys of a stack file, as plain data."""
    document: dict[str, object] = {"stack": stack.name}
    if stack.gpus:
        document["gpus"] = {gpu.name: _gpu(gpu) for gpu in stack.gpus}
    if stack.ollama:
        document["ollama"] = {server.name: _server(server) for server in stack.ollama}
    document["models"] = {model.name: _model(model) for model in stack.models}
    return document


def config_text(stack: Stack) -> str:
    """The same as a stack file that means the same, but for what is redacted."""
    from ruamel.yaml import YAML  # noqa: PLC0415 - heavy, and only this verb writes YAML

    yaml = YAML()
    yaml.default_flow_style = False
    yaml.width = 4096
    out = io.StringIO()
    yaml.dump(_escaped(config_document(stack)), out)
    return out.getvalue()


def _gpu(gpu: Gpu) -> dict[str, object]:
    chosen = {"pci": gpu.pci, "id": gpu.id, "auto": gpu.auto or None}
    return {"api": gpu.api, **{key: value for key, value in chosen.items() if value is not None}}


def _server(server: OllamaServer) -> dict[str, object]:
    keys = _keys(server)
    source = server.log_source
    keys.pop("log_source", None)
    if not server.ours:
        keys = {name: value for name, value in keys.items() if name in _FOREIGN}
    if source is not None:
        keys["log_from"] = source.where if source.kind == "file" else f"{_LOGS[source.kind]}:{source.where}"
    if server.store is not None:
        keys["store"] = f"volume:{server.store.source}" if server.store.named else server.store.source
    return keys


def _model(model: Model) -> dict[str, object]:
    keys = _keys(model)
    if "ollama" not in (model.runner, model.source.kind):
        keys = {name: value for name, value in keys.items() if name not in _OLLAMA}
    if model.extra_args:
        keys["extra_args"] = _without_secrets(model.extra_args)
    return keys


def _keys(section: Model | OllamaServer) -> dict[str, object]:
    """Every key that has a value, by its name in the file."""
    keys: dict[str, object] = {}
    for field in fields(section):
        name, value = KEY_OF_FIELD.get(field.name, field.name), getattr(section, field.name)
        if name in _OWN or value is None or value in ((), {}):
            continue
        keys[name] = f"{value}s" if name in _DURATIONS else _plain(value)
    return keys


def _plain(value: object) -> object:
    """A value as the file has it."""
    match value:
        case Secret():
            return REDACTED
        case Path() | Source():
            return str(value)
        case Volume():
            return f"{value.source}:{value.target}{':ro' if value.read_only else ''}"
        case Mapping():
            return {str(key): _plain(inner) for key, inner in value.items()}
        case tuple():
            return [_plain(inner) for inner in value]
    return _part(value) if is_dataclass(value) else value


def _part(value: Any) -> dict[str, object]:
    """A key that has keys of its own."""
    inner = {field.name: getattr(value, field.name) for field in fields(value)}
    return {name: _plain(given) for name, given in inner.items() if given is not None}


def _without_secrets(words: tuple[str, ...]) -> list[str]:
    """Arguments of the server's own, a value behind a flag that names a secret hidden."""
    shown, hide = [], False
    for word in words:
        flag, equals, _ = word.partition("=")
        if hide:
            shown.append(REDACTED)
        elif equals and looks_secret(flag.lstrip("-").replace("-", "_")):
            shown.append(f"{flag}={REDACTED}")
        else:
            shown.append(word)
        hide = not hide and not equals and word.startswith("-") and looks_secret(word.lstrip("-").replace("-", "_"))
    return shown


def _escaped(value: object) -> object:
    """`$` doubled, since a stack file's `${}` would be replaced on reading."""
    if isinstance(value, str):
        return value.replace("$", "$$")
    if isinstance(value, dict):
        return {key: _escaped(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_escaped(inner) for inner in value]
    return value

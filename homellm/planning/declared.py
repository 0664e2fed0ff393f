"""What a stack file declares of one container, as its label keeps it, to be held against the file later. Pure.

By meaning and not by words: after `defaults`, variables and units, with what follows from other parts of the file (a
GPU by its address, the settings of an Ollama server by its models). Asked for are neither engine nor host, so that who
only looks can compare. Left out is what makes no other container: `pull`, and `restart`, which is changed in place.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import fields
from hashlib import sha256
from pathlib import Path
from typing import TypeAlias

from homellm.domain.keys import KEY_OF_FIELD
from homellm.domain.names import LABEL_DECLARED, container_name, network_name, server_container_name
from homellm.domain.secret import REDACTED, Secret, fingerprint
from homellm.domain.stack import Declared, KvCacheType, Model, OllamaServer, Source, Stack, Volume
from homellm.domain.world import Container

Plain: TypeAlias = str | int | float | list[str]
#: Keys of the file with what they mean; `env.NAME` for each of what stands in `env`, `labels`, `llama_args`.
Declaration: TypeAlias = Mapping[str, Plain]

#: Keys that follow from the models of an Ollama server.
OF_MODELS = "models."
_LEFT_OUT = frozenset(
    {"name", "section", "places", "unset", "pull", "restart", "stored", "program", "declared", "url", "log_source"}
)
#: Free text may hold a secret, and programs of others export labels: so it is kept as a digest of so many characters.
_DIGEST = 16
_DIGESTS = ("env", "labels", "llama_args", "extra_args")
#: How the key of `api_key` reaches a llama-server.
KEY_VARIABLE = "LLAMA_API_KEY"


def declaration(declared: Declared, stack: Stack) -> Declaration:
    """What is declared of a model or an Ollama server of ours. A secret is only said to be there."""
    found = dict(_own(declared, stack))
    if isinstance(declared, OllamaServer):
        found |= _of_models(declared, stack)
    elif "ollama" not in (declared.runner, declared.source.kind):
        found.pop("fallback", None)  # of the ladder, which begins on an Ollama
    if "port" not in found:
        found.pop("bind", None)  # published nowhere
    return found


def declared_label(declared: Declared, stack: Stack) -> dict[str, str]:
    """The label that keeps it."""
    return {LABEL_DECLARED: declared_text(declared, stack)}


def declared_text(declared: Declared, stack: Stack) -> str:
    """It as one text; equal texts mean the same, but for secrets."""
    return json.dumps(declaration(declared, stack), sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def read_declared(text: str) -> Declaration | None:
    """A text of `declared_text` read back; None for one that is none, as of a container of an older homellm."""
    try:
        found = json.loads(text) if text else None
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def differing(one: Declaration, other: Declaration, unset: frozenset[str] = frozenset()) -> tuple[str, ...]:
    """The keys in which two declarations differ, but for those that are `unset`: nothing is known of them."""
    keys = sorted({*one, *other} - unset)
    return tuple(key for key in keys if one.get(key) != other.get(key))


def is_digest(key: str) -> bool:
    """Whether the value of a key is kept as a digest, or not at all."""
    return key.partition(".")[0] in _DIGESTS


def unset_of(declared: Declared, stack: Stack) -> frozenset[str]:
    """The keys of a declaration that are not known to who only looks, because a variable in them is not set."""
    if isinstance(declared, Model):
        return declared.unset
    of_models = {key for model in stack.models_on(declared) for key in model.unset}
    return declared.unset | {f"{OF_MODELS}{key}" for key in of_models}


def changed_secrets(declared: Declared, container: Container) -> tuple[str, ...]:
    """The keys whose secret is another one than that which the container was given."""
    return tuple(
        key for key, variable, secret in _secrets(declared) if container.variables.get(variable) != fingerprint(secret)
    )


def _secrets(declared: Declared) -> Iterator[tuple[str, str, Secret]]:
    """(key, the variable by which it reaches the container, the secret)."""
    if isinstance(declared, Model) and declared.api_key is not None:
        yield "api_key", KEY_VARIABLE, declared.api_key
    yield from ((f"env.{name}", name, value) for name, value in declared.env.items() if isinstance(value, Secret))


def _own(declared: Declared, stack: Stack) -> Iterator[tuple[str, Plain]]:
    name = container_name(stack, declared) if isinstance(declared, Model) else server_container_name(stack, declared)
    for field in fields(declared):
        if field.name in _LEFT_OUT or (field.default is False and getattr(declared, field.name) is False):
            continue
        key, value = KEY_OF_FIELD.get(field.name, field.name), getattr(declared, field.name)
        if key == "container_name":
            value = name
        elif key == "gpu":
            value = _gpu(declared.gpu, stack)
        elif key == "networks":
            value = sorted({*declared.networks} - {network_name(stack.name)})
        elif key == "extra_args":
            value = _digest(json.dumps(value)) if value else None
        yield from _plain(key, value)


def _plain(key: str, value: object) -> Iterator[tuple[str, Plain]]:
    """A value as JSON has it; nothing for what is empty, so that a key of a later homellm changes no older label."""
    if value is None:
        return
    if isinstance(value, Mapping):
        for name, text in value.items():
            yield f"{key}.{name}", REDACTED if isinstance(text, Secret) else _digest(str(text))
    elif isinstance(value, tuple | list):
        if value:
            yield key, sorted(map(_text, value))
    elif isinstance(value, str | int | float):
        yield key, value
    else:
        yield key, _text(value)


def _text(value: object) -> str:
    match value:
        case Secret():
            return REDACTED
        case Volume(source, target, read_only, named):
            return f"{'volume' if named else 'bind'} {source}:{target}{':ro' if read_only else ''}"
        case KvCacheType(k, v):
            return k if k == v else f"k {k}, v {v}"
        case Source() | Path() | str():
            return str(value)
    return " ".join(f"{field.name}={getattr(value, field.name)}" for field in fields(value))  # type: ignore[arg-type]


def _gpu(name: str | None, stack: Stack) -> str | None:
    """A GPU by what it is chosen by: its name in the file means nothing outside."""
    gpu = stack.gpu(name)
    return name if gpu is None else f"{gpu.api} {gpu.pci or gpu.id or 'auto'}"


def _digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()[:_DIGEST]


def _of_models(server: OllamaServer, stack: Stack) -> Iterator[tuple[str, Plain]]:
    """What a server is given for its models."""
    from homellm.runners.ollama_server import loaded_at_once, server_ctx, slots_of  # noqa: PLC0415 - for Ollama alone

    models = stack.models_on(server)
    found = {
        f"{OF_MODELS}parallel": slots_of(models),
        f"{OF_MODELS}ctx": server_ctx(models),
        f"{OF_MODELS}mlock": any(model.mlock for model in models) or None,
        "max_loaded_models": loaded_at_once(server, models),
    }
    yield from ((key, value) for key, value in found.items() if value is not None)

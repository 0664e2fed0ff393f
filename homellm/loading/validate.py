"""Plain data against the schema: every error in words of ours, at its place; then what is right, without the rest."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ValidationError

from homellm.loading.absent import ABSENT_MODEL_KEYS, ABSENT_STACK_KEYS
from homellm.loading.compound import Folders
from homellm.loading.document import Document
from homellm.loading.findings import Findings
from homellm.loading.key_types import LogKeys
from homellm.loading.keys import GpuKeys, ModelKeys, StackKeys
from homellm.loading.ollama_keys import OllamaKeys
from homellm.loading.paths import KeyPath, label, model_of, section_depth, shorten, where
from homellm.loading.values import NOT_YET, nearest

#: What people know these keys by elsewhere (Compose, Ollama, llama.cpp), for suggestions.
SYNONYMS = {
    "n_ctx": "ctx",
    "num_ctx": "ctx",
    "context": "ctx",
    "context_length": "ctx",
    "slots": "parallel",
    "n_parallel": "parallel",
    "num_parallel": "parallel",
    "threads": "cpuset",
    "cpus": "cpuset",
    "cpuset_cpus": "cpuset",
    "ports": "port",
    "host": "bind",
    "mem_limit": "memory",
    "command": "extra_args",
    "args": "extra_args",
    "environment": "env",
    "ngl": "gpu_layers",
    "n_gpu_layers": "gpu_layers",
    "num_gpu": "gpu_layers",
    "model": "source",
    "logging": "log",
    "pull_policy": "pull",
    "stop_grace_period": "stop_grace",
    "device": "gpu",
    "devices": "gpu",
    "name": "stack",
    "models_dir": "store",
    "path": "store",
    "max_models": "max_loaded_models",
    "allowed_origins": "origins",
    "log_source": "log_from",
}


def validate(document: Document, folders: Folders, findings: Findings) -> StackKeys:
    """The keys that are right. Those that are not have been noted and dropped from the document."""
    try:
        return StackKeys.model_validate(document.data, context=folders)
    except ValidationError as error:
        found = error.errors(include_url=False, include_input=False)
        # Unknown keys first: what one of them was meant to be is then not called missing as well.
        for details in sorted(found, key=lambda one: one["type"] != "extra_forbidden"):
            path = details["loc"]
            _note(details["type"], path, details.get("ctx", {}), document, findings)
            document.drop(_whole_key(path))
    return StackKeys.model_validate(document.data, context=folders)


def _whole_key(path: KeyPath) -> KeyPath:
    """The key that falls with an error at `path`: a model's key, a whole GPU, a key of `defaults`, or a top key."""
    return path[:2] if path[0] == "gpus" else path[: section_depth(path) + 1]


def _note(type: str, path: KeyPath, context: dict[str, Any], document: Document, findings: Findings) -> None:
    model = model_of(path)
    if type == "extra_forbidden":
        _note_unknown(path, document, findings)
    elif type == "missing":
        if path in document.bad:
            return
        message = f"{label(path[:-1])} has no `{path[-1]}`"
        findings.add("missing-key", document.mark(path), message, "Write `api: vulkan`, cuda or rocm.", model)
    elif "message" in context:
        is_name = path[-1] == "[key]"  # as pydantic points at the name of a label, and not at its value
        path = path[:-1] if is_name else path
        mark = document.mark(path) if is_name else document.value_mark(path)
        findings.add(type, mark, f"{label(path)} {context['message']}", context["hint"], model)
    else:
        kind = "a list" if type == "list_type" else "a mapping of keys"
        hint = (
            "Write one item a line, each after a `- `." if type == "list_type" else "Write `key: value` lines below it."
        )
        findings.add("wrong-type", document.value_mark(path), f"{label(path)} must be {kind}", hint, model)


def _note_unknown(path: KeyPath, document: Document, findings: Findings) -> None:
    key, model = str(path[-1]), model_of(path)
    depth = section_depth(path)
    inner = path[depth:-1]
    place = f" in {label(path[:-1])}" if inner else where(path)
    absent = (ABSENT_MODEL_KEYS if depth else ABSENT_STACK_KEYS).get(key) if not inner else None
    if absent is not None:
        message = f"`{key}`{place} is {NOT_YET}"
        findings.add("not-in-this-version", document.mark(path), message, absent, model)
        return
    known = tuple(_keys_at(path).model_fields)
    synonym = SYNONYMS.get(key.lower())
    meant = synonym if synonym in known else nearest(key, known)
    suggestion = f"; did you mean `{meant}`?" if meant else ""
    if meant and (*path[:-1], meant) not in document.marks:
        document.bad.add((*path[:-1], meant))
    hint = "" if suggestion else _hint_for_unknown(key, path, known)
    findings.add("unknown-key", document.mark(path), f"unknown key `{shorten(key)}`{place}{suggestion}", hint, model)


def _keys_at(path: KeyPath) -> type[BaseModel]:
    """The keys that are known where the last word of `path` stands."""
    if "log" in path[section_depth(path) : -1]:
        return LogKeys
    if not section_depth(path):
        return StackKeys
    named: dict[str, type[BaseModel]] = {"gpus": GpuKeys, "ollama": OllamaKeys}
    return named.get(str(path[0]), ModelKeys)


def _hint_for_unknown(key: str, path: KeyPath, known: tuple[str, ...]) -> str:
    if not section_depth(path) and key in ModelKeys.model_fields:
        return f"`{key}` is a key of a model: put it below the model's name, under `models`, or under `defaults`."
    if path[0] == "ollama" and key in ModelKeys.model_fields:
        return f"`{key}` is a key of a model: give it to the models of this server, or under `defaults`."
    if not section_depth(path) and key in ("services", "version"):
        return "This looks like a Compose file; a stack file has `stack:` and `models:`."
    return f"Known here: {', '.join(known)}."

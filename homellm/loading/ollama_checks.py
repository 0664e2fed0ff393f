"""What is right key by key and yet cannot be meant: within one Ollama server, and in a model that Ollama serves."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from homellm.domain.ollama_settings import LLAMA_PREFIX, PASSED_BY_OLLAMA, owner_of_ollama_env
from homellm.domain.stack import OLLAMA_HOME, KvCacheType
from homellm.loading.contradictions import check_container, check_gpu
from homellm.loading.findings import Findings
from homellm.loading.merge import MergedModel
from homellm.loading.paths import shorten, where

#: What can be said of an Ollama that is not ours; everything else would have to be set there.
_FOREIGN = frozenset({"url", "log_from", "store", "keep_alive"})
_ARGUMENT = re.compile(r"[A-Z][A-Z0-9_]*")
_FULL_WIDTH = ("f32", "f16", "bf16")
_KEY_HINTS = {
    "parallel": "Set `parallel` at its models.",
    "ctx": "Set `ctx` at its models.",
    "mlock": "Set `mlock: true` at its models.",
    "port": "`port` is the port published on the host.",
}


def check_server(server: MergedModel, gpus: Mapping[str, Any], findings: Findings) -> None:
    """Note every contradiction of one Ollama server; `gpus` are the names under `gpus`, right or wrong."""
    if "url" in server.values:
        _check_foreign(server, findings)
        return
    if "log_from" in server.values:
        message = f"`log_from`{where(server.path('log_from'))} means nothing: its log is its container's"
        findings.add(
            "contradiction", server.mark("log_from"), message, "Remove it, or give the `url` of a foreign one."
        )
    if server.says("gpu"):
        check_gpu(server, gpus, findings)
    check_container(server, findings)
    _check_mounts(server, findings)
    _check_cache(server, findings)
    _check_env(server, findings)
    _check_llama_args(server, findings)


def _check_foreign(server: MergedModel, findings: Findings) -> None:
    for key in server.values:
        if key not in _FOREIGN and server.says(key):
            message = f"`{key}`{where(server.path(key))} cannot be set: the Ollama at `url` is not homellm's"
            findings.add("contradiction", server.mark(key), message, "Set it there, or remove `url`.")


def _check_mounts(server: MergedModel, findings: Findings) -> None:
    for number, volume in enumerate(server.values.get("volumes") or []):
        if volume.target == OLLAMA_HOME or OLLAMA_HOME.startswith(f"{volume.target.rstrip('/')}/"):
            message = f"a volume{where(server.path('volumes'))} is mounted on `{volume.target}`, where its store is"
            findings.add("contradiction", server.mark("volumes", number), message, "Use `store:` for it.")


def _check_cache(server: MergedModel, findings: Findings) -> None:
    kind = server.values.get("kv_cache_type")
    if kind is None or server.values.get("flash_attention") != "off" or kind in _FULL_WIDTH:
        return
    if server.says("kv_cache_type"):
        message = f"`kv_cache_type`{where(server.path('kv_cache_type'))} is {kind}, which needs flash attention"
        hint = "Set `flash_attention: on`, or take f16."
        findings.add("contradiction", server.mark("kv_cache_type"), message, hint)


def _check_env(server: MergedModel, findings: Findings) -> None:
    for name in server.values.get("env") or {}:
        mark = server.mark("env", name)
        owner = owner_of_ollama_env(name)
        if not name or any(char in name for char in "=\0") or name != name.strip():
            findings.add("wrong-value", mark, f"`{shorten(name)}` in `env` is no name of a variable")
        elif owner is not None:
            message = f"`{name}` in `env` is what the key `{owner.key}` says: {owner.because}"
            findings.add("owned-by-key", mark, message, _hint(owner.key))


def _hint(key: str) -> str:
    return _KEY_HINTS.get(key, f"Use the key `{key}` instead.")


def llama_variable(name: str) -> str:
    """The variable of an argument of llama-server: `cache-reuse` and `LLAMA_ARG_CACHE_REUSE` are the same."""
    word = name.strip().lstrip("-").upper().replace("-", "_")
    return LLAMA_PREFIX + word.removeprefix(LLAMA_PREFIX)


def _check_llama_args(server: MergedModel, findings: Findings) -> None:
    seen: dict[str, str] = {}
    for name in server.values.get("llama_args") or {}:
        mark = server.mark("llama_args", name)
        variable = llama_variable(name)
        owner = owner_of_ollama_env(variable)
        if not _ARGUMENT.fullmatch(variable.removeprefix(LLAMA_PREFIX)):
            message = f"`{shorten(name)}` in `llama_args` is no argument of llama-server"
            findings.add("wrong-value", mark, message, "Write it as its --help does, without dashes: `cache_reuse`.")
        elif owner is not None:
            message = f"`{shorten(name)}` in `llama_args` is what the key `{owner.key}` says: {owner.because}"
            findings.add("owned-by-key", mark, message, _hint(owner.key))
        elif variable.removeprefix(LLAMA_PREFIX) in PASSED_BY_OLLAMA:
            message = f"`{shorten(name)}` in `llama_args` has no effect: Ollama itself passes it to its llama-server"
            findings.add("contradiction", mark, message, "Remove it.")
        elif variable in seen or variable in (server.values.get("env") or {}):
            other = f"`{shorten(seen[variable])}` of `llama_args`" if variable in seen else "a variable of `env`"
            message = f"`{shorten(name)}` in `llama_args` is {variable}, which {other} is too"
            findings.add("duplicate-key", mark, message, "Keep one.")
        seen.setdefault(variable, name)


def check_ollama_model(model: MergedModel, findings: Findings) -> None:
    """Note what a model asks for that no Ollama can give."""
    if model.values.get("runner") != "ollama":
        return
    if "api_key" in model.values:
        message = f"`api_key`{where(model.path('api_key'))} would protect nothing: Ollama asks no one for a key"
        hint = "Remove it, or set `runner: llama-server`."
        findings.add("contradiction", model.mark("api_key"), message, hint, model.name)
    kinds = model.values.get("kv_cache_type")
    if isinstance(kinds, KvCacheType) and kinds.k != kinds.v:
        message = (
            f"`kv_cache_type`{where(model.path('kv_cache_type'))} has two types, and Ollama takes one for K and V alike"
        )
        findings.add("contradiction", model.mark("kv_cache_type"), message, "Name one type.", model.name)

"""Which Ollama server a model is meant for, and what a server takes over from its models."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from homellm.domain.ollama_names import parse_name
from homellm.domain.stack import DEFAULT_OLLAMA, KvCacheType, Source
from homellm.loading.findings import Findings
from homellm.loading.merge import MergedModel
from homellm.loading.paths import shorten, where
from homellm.loading.values import nearest

#: The context of a model that names none (docs/stack-file.md).
_CTX = 4096
_ONLY_WITH_OLLAMA = ("server", "fallback", "fallback_source")


def needs_server(model: MergedModel) -> bool:
    """Whether a model is served by Ollama or has its weights in Ollama's store."""
    return model.values["runner"] == "ollama" or _kind(model) == "ollama"


def settle_runners(models: Sequence[MergedModel]) -> None:
    """Give every model its runner: Ollama for a source of Ollama's, else llama-server."""
    for model in models:
        model.values.setdefault("runner", "ollama" if _kind(model) == "ollama" else "llama-server")


def _kind(model: MergedModel) -> str:
    source = model.values.get("source")
    return source.kind if source is not None else ""


def settle_servers(models: Sequence[MergedModel], servers: Sequence[MergedModel], findings: Findings) -> None:
    """Give every model that needs one its server, and every server what its models say for it; note what cannot be."""
    names = tuple(server.name for server in servers)
    for model in models:
        if needs_server(model):
            _choose(model, names, findings)
        else:
            _note_useless(model, findings)
    for server in servers:
        on_it = [m for m in models if m.values["runner"] == "ollama" and m.values.get("server") == server.name]
        _check_parallel(server, on_it, findings)
        _check_contexts(server, on_it, findings)
        _check_names(server, on_it, findings)
        _take_over(server, on_it, findings)


def _choose(model: MergedModel, names: tuple[str, ...], findings: Findings) -> None:
    wanted = model.values.get("server")
    if wanted is None and "server" not in model.wrong:
        if len(names) == 1:
            model.values["server"] = names[0]
            return
        message = f"model `{shorten(model.name)}` does not say which Ollama server it is for"
        hint = f"Write `server:` with one of {', '.join(names)}."
        findings.add("missing-key", model.mark(), message, hint, model.name)
    elif wanted is not None and wanted not in names:
        near = nearest(wanted, names)
        message = f"no Ollama server `{shorten(wanted)}` stands under `ollama`"
        message += f"; did you mean `{near}`?" if near else ""
        hint = f"There: {', '.join(names)}." if names != (DEFAULT_OLLAMA,) or near else _declare(wanted)
        findings.add("unknown-server", model.value_mark("server"), message, hint, model.name)


def _declare(name: str) -> str:
    return f"Declare it: `ollama: {{{shorten(name)}: {{}}}}`."


def _note_useless(model: MergedModel, findings: Findings) -> None:
    for key in _ONLY_WITH_OLLAMA:
        if model.says(key) and key in model.values:
            message = f"`{key}`{where(model.path(key))} means nothing: no Ollama serves it or has its weights"
            hint = "Remove it, or set `runner: ollama`."
            findings.add("contradiction", model.mark(key), message, hint, model.name)


def _check_parallel(server: MergedModel, models: Sequence[MergedModel], findings: Findings) -> None:
    """One server has one number of slots."""
    sure = [model for model in models if "parallel" not in model.wrong]
    for first, second in pairwise(sure):
        slots = [model.values.get("parallel", 1) for model in (first, second)]
        if slots[0] != slots[1]:
            message = (
                f"models {_told(first, second, 'parallel')} are on the Ollama server `{shorten(server.name)}` and "
                f"differ in `parallel` ({slots[0]} and {slots[1]}): it has one number of slots for all its models"
            )
            hint = (
                "Give both the same `parallel`, or declare a second server under `ollama:` and name it with `server:` "
                f"in `{shorten(second.name)}`."
            )
            findings.add("parallel-differs", _mark(second, "parallel"), message, hint, second.name)


def _check_contexts(server: MergedModel, models: Sequence[MergedModel], findings: Findings) -> None:
    """Ollama has each weights' file in memory once (`schedulerModelKey` in server/sched.go): with one context."""
    seen: dict[str, MergedModel] = {}
    for model in models:
        source = model.values.get("source")
        if source is None or "ctx" in model.wrong:
            continue
        first = seen.setdefault(_weights(source), model)
        asked = [one.values.get("ctx", _CTX) for one in (first, model)]
        if asked[0] != asked[1]:
            message = (
                f"models {_told(first, model, 'ctx')} are the same weights on the Ollama server "
                f"`{shorten(server.name)}` with {asked[0]} and {asked[1]} tokens a slot: it has them in memory once, "
                "so each request to one would put out the other"
            )
            hint = (
                "Give both the same `ctx`, set `runner: llama-server` at one of them, or declare a second server under "
                "`ollama:`."
            )
            findings.add("contradiction", _mark(model, "ctx"), message, hint, model.name)


def _weights(source: Source) -> str:
    """What two sources share that mean the same model."""
    try:
        return str(parse_name(source.ref)).lower() if source.kind == "ollama" else str(source)
    except ValueError:
        return str(source)


def _told(first: MergedModel, second: MergedModel, key: str) -> str:
    words = [f"`{shorten(model.name)}` (line {_mark(model, key).line})" for model in (first, second)]
    return " and ".join(words)


def _mark(model: MergedModel, key: str) -> Any:
    return model.mark(key) if key in model.values else model.mark()


def _check_names(server: MergedModel, models: Sequence[MergedModel], findings: Findings) -> None:
    """Clients ask Ollama by the model's name, so it must be one of Ollama's, and no second one for it."""
    seen: dict[str, MergedModel] = {}
    for model in models:
        try:
            known = str(parse_name(model.name)).lower()
        except ValueError as error:
            message = f"the model's name `{shorten(model.name)}` {error}, and Ollama is to serve it"
            findings.add("model-name", model.mark(), message, "Take another name.", model.name)
            continue
        if known in seen:
            message = (
                f"models {_told(seen[known], model, '')} are one and the same name to the Ollama server "
                f"`{shorten(server.name)}`"
            )
            hint = "Rename one of them; to Ollama `x` is `x:latest`, in upper and lower case alike."
            findings.add("model-name", model.mark(), message, hint, model.name)
        seen.setdefault(known, model)


def _take_over(server: MergedModel, models: Sequence[MergedModel], findings: Findings) -> None:
    """What is a server's alone and may stand at its models: they must agree."""
    for key in ("gpu", "flash_attention", "kv_cache_type"):
        given = [(model, _plain(model.values[key])) for model in models if model.values.get(key) is not None]
        own = server.values.get(key)
        if own is not None:
            for model, value in given:
                if value != own:
                    _note_differs(server, model, key, value, own, findings)
            continue
        for (first, one), (second, other) in pairwise(given):
            if one != other:
                message = (
                    f"models {_told(first, second, key)} are on the Ollama server `{shorten(server.name)}` and differ "
                    f"in `{key}` ({one} and {other}): it has one for all its models"
                )
                hint = "Give both the same, or declare a second server under `ollama:` and name it with `server:`."
                findings.add("contradiction", second.mark(key), message, hint, second.name)
        if given and key not in server.wrong:
            server.values[key] = given[0][1]


def _plain(value: Any) -> Any:
    """A value as a server has it: one type for K and V."""
    if isinstance(value, KvCacheType):
        return value.k if value.k == value.v else f"k {value.k}, v {value.v}"
    return value


def _note_differs(server: MergedModel, model: MergedModel, key: str, value: Any, own: Any, findings: Findings) -> None:
    message = (
        f"`{key}`{where(model.path(key))} is {value}, but its Ollama server `{shorten(server.name)}` has {own} for all "
        "its models"
    )
    hint = "Remove one of the two, or declare a second server under `ollama:`."
    findings.add("contradiction", model.mark(key), message, hint, model.name)

"""Readers of `source` and `fallback_source`: where a model's weights come from."""

from __future__ import annotations

import re
from typing import Any

from pydantic import ValidationInfo

from homellm.domain.hub import parse_ref
from homellm.domain.ollama_names import parse_name
from homellm.domain.stack import Source
from homellm.loading.compound import absolute
from homellm.loading.paths import shorten
from homellm.loading.values import complain, filled, listing, nearest

#: What looks like a model of the hub, with a quant or without.
_REPOSITORY = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*(:[\w.-]+)?")


def source(value: Any, info: ValidationInfo) -> Source:
    """`gguf:PATH`, `hf:ORG/REPO[:QUANT]` or `ollama:MODEL`."""
    kind, rest = _kind_of_source(filled(value).strip(), ("gguf", "hf", "ollama"), "source")
    return _ollama_model(rest) if kind == "ollama" else _readable(kind, rest, "source", info)


def fallback_source(value: Any, info: ValidationInfo) -> Source:
    """`gguf:PATH` or `hf:ORG/REPO[:QUANT]`: what llama-server itself can read."""
    word = filled(value).strip()
    if word.startswith("ollama:"):
        raise complain(
            "wrong-value",
            "is a model of Ollama's store, which is tried before it anyway",
            "Write `fallback_source: gguf:/path/to/model.gguf`, or `hf:org/repo:Q4_K_M`.",
        )
    return _readable(*_kind_of_source(word, ("gguf", "hf"), "fallback_source"), "fallback_source", info)


def _kind_of_source(word: str, kinds: tuple[str, ...], key: str) -> tuple[str, str]:
    """What stands before the first colon, one of `kinds`, and the rest."""
    kind, colon, rest = word.partition(":")
    if not colon or kind not in kinds:
        known = listing([f"`{one}:`" for one in kinds])
        reason = f"is `{shorten(word)}`, which does not begin with {known}"
        raise complain("wrong-value", reason, _source_hint(word, kinds, key))
    return kind, rest.strip()


def _readable(kind: str, rest: str, key: str, info: ValidationInfo) -> Source:
    """A file here, or one of the hub."""
    if kind == "hf":
        return _hub_model(rest, key)
    if not rest:
        raise complain("wrong-value", "names no file after `gguf:`", f"Write `{key}: gguf:/path/to/model.gguf`.")
    return Source("gguf", rest, absolute(rest, info))


def _ollama_model(rest: str) -> Source:
    try:
        name = parse_name(rest)
    except ValueError as error:
        hint = "Write `source: ollama:model:tag`, as `ollama pull` takes it."
        raise complain("wrong-value", str(error), hint) from error
    if name.cloud:
        raise complain(
            "wrong-value",
            f"is `{shorten(rest)}`, a cloud model: it runs on other machines, and nothing here could be proved of it",
            "Choose a tag with weights.",
        )
    return Source("ollama", rest)


def _hub_model(rest: str, key: str) -> Source:
    try:
        return Source("hf", str(parse_ref(rest)))
    except ValueError as error:
        hint = f"Write `{key}: hf:org/repo:Q4_K_M`, or `hf:org/repo/file.gguf`."
        raise complain("wrong-value", f"is `{shorten(rest)}`, which {error}", hint) from error


def _source_hint(word: str, kinds: tuple[str, ...], key: str) -> str:
    if word.startswith(("/", "~", ".")) or (word.endswith(".gguf") and ":" not in word):
        return f"Write `{key}: gguf:{shorten(word)}`."
    if re.match(r"(https?://)?(hf\b|hugging)", word):
        return f"Write `{key}: hf:org/repo:Q4_K_M`, or `hf:org/repo/file.gguf`."
    if _REPOSITORY.fullmatch(word) and "hf" in kinds:
        return f"Write `{key}: hf:{shorten(word)}`; or `{key}: gguf:/path/to/model.gguf` for a file on this machine."
    kind, colon, _ = word.partition(":")
    near = nearest(kind, kinds) if colon else None
    return f"Did you mean `{near}:`?" if near else f"Write `{key}: gguf:/path/to/model.gguf`."

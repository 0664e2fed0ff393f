"""A container of ours back to what it serves, from its own argv: what a predecessor is held against after an undo."""

from __future__ import annotations

from dataclasses import dataclass

from homellm.domain.secret import Secret


@dataclass(frozen=True, slots=True)
class Served:
    """What a llama-server container was started to serve. `ctx` is of one slot; None where argv does not tell.

    `api_key` is the one that its environment names, None without one.
    """

    alias: str | None
    model_path: str | None
    parallel: int | None
    ctx: int | None
    embedding: bool = False
    api_key: Secret | None = None


_ALIAS = ("--alias", "-a")
_MODEL = ("--model", "-m")
_PARALLEL = ("--parallel", "-np")
_EMBEDDING = ("--embedding", "--embeddings")
_KEY = "LLAMA_API_KEY="
_CTX = ("--ctx-size", "-c")


def recognise(args: tuple[str, ...], env: tuple[str, ...] = ()) -> Served:
    """What these arguments of a llama-server say; the last one of a flag counts, as the server takes it.

    `env` are the variables that it was started with, as the engine writes them (`NAME=value`).
    """
    parallel = _number(_last(args, _PARALLEL))
    keys = [entry.removeprefix(_KEY) for entry in env if entry.startswith(_KEY) and entry != _KEY]
    total = _number(_last(args, _CTX))
    return Served(
        alias=_last(args, _ALIAS),
        model_path=_last(args, _MODEL),
        parallel=parallel,
        ctx=total // parallel if total and parallel else None,
        embedding=any(word in _EMBEDDING for word in args),
        api_key=Secret(keys[-1]) if keys else None,
    )


def _last(args: tuple[str, ...], flags: tuple[str, ...]) -> str | None:
    found = [args[i + 1] for i, word in enumerate(args[:-1]) if word in flags]
    return found[-1] if found else None


def _number(text: str | None) -> int | None:
    return int(text) if text is not None and text.isdecimal() else None

"""The models that a command line names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from homellm.errors import ExitCode, Problem, UsageError

if TYPE_CHECKING:
    from homellm.domain.stack import Stack


def select(stack: Stack, names: Sequence[str] | None, *, servers: bool = False) -> tuple[str, ...]:
    """The named models in the order of the stack file, each once; empty when none is named, which means all.

    With `servers` the Ollama servers of the stack can be named as well. Raises UsageError for names that the stack does
    not have, with the nearest that it has.
    """
    known = [model.name for model in stack.models]
    if servers:
        known += [server.name for server in stack.ollama if server.ours and server.name not in known]
    unknown = [name for name in dict.fromkeys(names or ()) if name not in known]
    if unknown:
        problems = tuple(_unknown(stack, name, known) for name in unknown)
        raise UsageError(problems[0].message, problems=problems)
    return tuple(name for name in known if name in (names or ()))


def _unknown(stack: Stack, name: str, known: list[str]) -> Problem:
    return Problem(
        id="no-such-model",
        message=f"the stack {stack.name} has no model {name}",
        hint=_as_server(stack, name) or nearest(name, known) or f"It has: {', '.join(known) or 'none'}.",
        exit_code=ExitCode.USAGE,
    )


def _as_server(stack: Stack, name: str) -> str:
    """That a name is one of the Ollama servers, where models are asked for; empty where it is none."""
    server = stack.ollama_server(name)
    if server is None:
        return ""
    served = ", ".join(model.name for model in stack.models_on(server))
    return f"{name} is an Ollama server: name the models on it, {served}." if served else f"{name} is an Ollama server."


def nearest(word: str, known: Sequence[str]) -> str:
    """`Did you mean up?`, or nothing when no word is near."""
    from difflib import get_close_matches

    lowered = {name.lower(): name for name in known}
    close = get_close_matches(word.lower(), list(lowered), n=1)
    return f"Did you mean {lowered[close[0]]}?" if close else ""

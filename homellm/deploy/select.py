"""Which models of a stack a verb is for."""

from __future__ import annotations

import difflib

from homellm.domain.stack import Model, OllamaServer, Stack
from homellm.errors import UsageError


def select(stack: Stack, only: tuple[str, ...]) -> tuple[Model, ...]:
    """The models named in `only`, in the order of the file; all of them for none named.

    Raises UsageError for a name that the stack lacks, with the nearest one.
    """
    names = [model.name for model in stack.models]
    for name in only:
        if name not in names:
            near = difflib.get_close_matches(name, names, n=1)
            hint = f"Did you mean {near[0]}?" if near else f"Models here: {', '.join(names) or 'none'}."
            raise UsageError(f"the stack {stack.name} has no model {name}", hint=hint, id="no-such-model")
    return tuple(model for model in stack.models if not only or model.name in only)


def servers_of(stack: Stack, models: tuple[Model, ...]) -> tuple[OllamaServer, ...]:
    """The Ollama servers that these models need, in the order of the file."""
    names = {model.server for model in models if model.runner == "ollama"}
    return tuple(server for server in stack.ollama if server.name in names)

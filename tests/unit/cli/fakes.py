"""A stack, ports and verbs of deploy that touch nothing, for the command line alone."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

from homellm.cli import wiring
from homellm.domain.reports import ModelReport, StackReport
from homellm.domain.stack import Model, Source, Stack
from homellm.domain.verdicts import State

STACK = Stack(
    name="nuc",
    file=Path("/srv/homellm.yaml"),
    models=tuple(Model(name=name, source=Source("gguf", "/m.gguf"), image="x") for name in ("lfm2.5", "embed")),
)
VERIFIED = StackReport("nuc", (ModelReport("lfm2.5", State.VERIFIED), ModelReport("embed", State.VERIFIED)))


def module_of(verb: str) -> str:
    """Where deploy has a verb."""
    return f"homellm.deploy.{'preview' if verb == 'plan' else verb}"


def install(verb: str, act: Callable[..., object]) -> None:
    """Put stack, ports and one verb in place for good: for a process of its own."""
    setattr(wiring, "load_stack", lambda *_: STACK)  # noqa: B010 - mypy takes no assignment to a function
    setattr(wiring, "connect", lambda *_: SimpleNamespace())  # noqa: B010
    sys.modules[module_of(verb)] = SimpleNamespace(**{verb: act})  # type: ignore[assignment]

"""The command line with everything below it replaced."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from types import SimpleNamespace

import pytest

from homellm.cli import wiring
from homellm.cli.options import Common
from homellm.domain.stack import Stack
from tests.unit.cli.fakes import STACK, module_of


@dataclass
class Seen:
    """What the command line asked for."""

    commons: list[Common] = field(default_factory=list)
    connected: int = 0
    calls: list[tuple[object, ...]] = field(default_factory=list)


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> Seen:
    """What the command line asked of loading and wiring, both replaced."""
    what = Seen()

    def load(common: Common) -> Stack:
        what.commons.append(common)
        return STACK

    def connect() -> object:
        what.connected += 1
        return SimpleNamespace()

    monkeypatch.setattr(wiring, "load_stack", load)
    monkeypatch.setattr(wiring, "connect", connect)
    return what


@pytest.fixture
def verb(monkeypatch: pytest.MonkeyPatch, seen: Seen) -> Callable[[str, Callable[..., object]], None]:
    """Put a verb of deploy in place; its arguments are then seen."""

    def put(name: str, act: Callable[..., object]) -> None:
        def recorded(*args: object, **named: object) -> object:
            seen.calls.append((*args, named) if named else args)
            return act(*args, **named)

        monkeypatch.setitem(sys.modules, module_of(name), SimpleNamespace(**{name: recorded}))

    return put

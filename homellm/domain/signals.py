"""Signals: what one line of a server's log means."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

Fact = int | float | str | bool | None


@dataclass(frozen=True, slots=True)
class Signal:
    """One line understood. `id` is the kind, `line` the server's own words without prefixes, `facts` what it tells.

    `problem` says that the id is one of the problems that `explain` lists; `hint` what to do about it. `fatal` says
    that the server cannot become ready after it. `stamped` tells whether the server's own prefix stood before the
    line, `source` which child of a router wrote it (empty for the server itself), `origin` which of several containers
    whose logs came together (empty for the only one).
    """

    id: str
    line: str
    facts: Mapping[str, Fact] = field(default_factory=lambda: MappingProxyType({}))
    problem: bool = False
    fatal: bool = False
    hint: str = ""
    stamped: bool = False
    source: str = ""
    origin: str = ""

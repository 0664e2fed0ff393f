"""The problems of a log: each kind once for each thing it concerns, with how often it came, in bounded memory."""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType

from homellm.domain.signals import Fact, Signal

#: More different ones of a kind than this are counted on the last one kept.
PER_ID = 8


class Problems:
    """Problems in the order in which they first came."""

    def __init__(self) -> None:
        self._kept: dict[tuple[str, Fact], Signal] = {}
        self._counts: dict[tuple[str, Fact], int] = {}

    def add(self, signal: Signal) -> None:
        """Note a problem, or that it came again."""
        key = (signal.id, signal.facts.get("subject"))
        if key not in self._kept:
            same = [kept for kept in self._kept if kept[0] == signal.id]
            if len(same) >= PER_ID:
                key = same[-1]
            else:
                self._kept[key] = signal
        self._counts[key] = self._counts.get(key, 0) + 1
        # The last of them says how a load ended: a problem that was survived once may be fatal the next time.
        if signal.fatal and not self._kept[key].fatal:
            self._kept[key] = replace(self._kept[key], fatal=True)

    def kept(self) -> tuple[Signal, ...]:
        """Every problem with `count` among its facts."""
        return tuple(
            replace(signal, facts=MappingProxyType({**signal.facts, "count": self._counts[key]}))
            for key, signal in self._kept.items()
        )

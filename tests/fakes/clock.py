"""A clock that stands still until it is moved. Safe from any thread."""

from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta

_START = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
_MICRO = 1_000_000


class FakeClock:
    """A Clock for tests.

    Time passes by `advance`, by `tick_s` at every reading of `monotonic`, and, with `auto`, by whatever waits on it:
    a wait of the fake engine then jumps to its end, or to the next thing that is due before. Everything that waits
    for something to happen holds `condition`, which `advance` notifies.
    """

    def __init__(self, start: datetime = _START, *, tick_s: float = 0.0, auto: bool = True) -> None:
        self.condition = threading.Condition()
        self.auto = auto
        self.tick_s = tick_s
        self._start = start
        self._elapsed_us = 0

    @property
    def elapsed_us(self) -> int:
        """Microseconds since the clock was made."""
        with self.condition:
            return self._elapsed_us

    def monotonic(self) -> float:
        """Seconds since the clock was made."""
        with self.condition:
            if self.tick_s:
                self.advance(self.tick_s)
            return self._elapsed_us / _MICRO

    def now(self) -> datetime:
        """The wall clock."""
        return self.at(self.elapsed_us)

    def at(self, elapsed_us: int) -> datetime:
        """The wall clock at some moment."""
        return self._start + timedelta(microseconds=elapsed_us)

    def advance(self, seconds: float) -> None:
        """Let time pass."""
        self.advance_to(self.elapsed_us + round(seconds * _MICRO))

    def advance_to(self, elapsed_us: int) -> None:
        """Let time pass up to a moment; one that is over changes nothing."""
        with self.condition:
            if elapsed_us > self._elapsed_us:
                self._elapsed_us = elapsed_us
                self.condition.notify_all()

"""The machine's own time."""

from __future__ import annotations

import time
from datetime import UTC, datetime


class SystemClock:
    """A Clock on the system's time."""

    def monotonic(self) -> float:
        """Seconds since some fixed moment; never goes back."""
        return time.monotonic()

    def now(self) -> datetime:
        """The wall clock, in UTC."""
        return datetime.now(UTC)

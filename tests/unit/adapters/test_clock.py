"""The system's clock."""

from __future__ import annotations

import time
from datetime import UTC, datetime

from homellm.adapters.clock import SystemClock


def test_monotonic_is_the_systems_monotonic_time_in_seconds() -> None:
    before, read, after = time.monotonic(), SystemClock().monotonic(), time.monotonic()
    assert before <= read <= after


def test_now_is_in_utc() -> None:
    before, now, after = datetime.now(UTC), SystemClock().now(), datetime.now(UTC)
    assert before <= now <= after
    assert now.utcoffset() is not None
    assert now.tzinfo is UTC

"""Waiting on a condition, never for a time: the suite has no other way to wait."""

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

PAUSE_S = 0.05
#: A limit keeps a suite from hanging and proves nothing: it is far above what any machine needs.
GUARD_S = 240.0


def wait_for(condition: Callable[[], T | None], what: str, timeout_s: float = GUARD_S) -> T:
    """The first true value of `condition`; fails with `what` and its last value after `timeout_s`."""
    deadline = time.monotonic() + timeout_s
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() >= deadline:
            raise AssertionError(f"waited {timeout_s:g} s in vain for {what}; the last value was {value!r}")
        time.sleep(PAUSE_S)

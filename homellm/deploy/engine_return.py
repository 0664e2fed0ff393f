"""Do something once an engine that went away in the middle is back: a daemon restart takes seconds."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from homellm.errors import EngineUnreachable

_PAUSE_S = 0.25
Result = TypeVar("Result")


def once_reachable(call: Callable[[], Result], timeout_s: float) -> Result:
    """The result of `call`, tried again while the engine cannot be reached.

    It is the call itself that is tried again: a daemon that is going down answers a question on one connection while
    it refuses the next one (seen by running). Raises EngineUnreachable after `timeout_s`.
    """
    try:
        return call()
    except EngineUnreachable:
        if timeout_s <= 0:
            raise
    # Loaded when something has to be tried again, which is rare.
    from tenacity import Retrying, retry_if_exception_type, stop_after_delay, wait_fixed  # noqa: PLC0415 - heavy

    attempts = Retrying(
        retry=retry_if_exception_type(EngineUnreachable),
        stop=stop_after_delay(timeout_s),
        wait=wait_fixed(_PAUSE_S),
        reraise=True,
    )
    return attempts(call)

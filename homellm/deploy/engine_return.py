"""Wait for an engine that went away in the middle: a daemon restart takes seconds."""

from __future__ import annotations

from tenacity import Retrying, retry_if_exception_type, stop_after_delay, wait_fixed

from homellm.deploy.session import Ports
from homellm.errors import EngineUnreachable

_PAUSE_S = 0.25


def wait_for_engine(ports: Ports, timeout_s: float) -> None:
    """Return once the engine answers again. Raises EngineUnreachable when it does not within `timeout_s`."""
    attempts = Retrying(
        retry=retry_if_exception_type(EngineUnreachable),
        stop=stop_after_delay(timeout_s),
        wait=wait_fixed(_PAUSE_S),
        reraise=True,
    )
    attempts(ports.engine.info)

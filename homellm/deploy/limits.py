"""How long a verb may take."""

from __future__ import annotations

from dataclasses import dataclass

from homellm.deploy.session import Options, Ports


@dataclass(frozen=True, slots=True)
class Limits:
    """Until when, on the clock's own scale, and how long nothing may move."""

    deadline: float
    stall_timeout_s: float
    total_s: float

    @staticmethod
    def of(options: Options, ports: Ports) -> Limits:
        """The limits of a verb that begins now."""
        return Limits(
            deadline=ports.clock.monotonic() + options.wait_timeout_s,
            stall_timeout_s=options.stall_timeout_s,
            total_s=options.wait_timeout_s,
        )

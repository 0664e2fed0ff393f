"""What the process of a fake container does once it is started."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

MIB = 2**20


@dataclass(frozen=True, slots=True)
class Behaviour:
    """A process as the engine sees it. Times are seconds after the start.

    `lines` are written to the log as they are (give the newline). `exit_at_s` None runs until it is told to end.
    Before `ready_at_s` SIGTERM and SIGINT are ignored, as a process with number 1 does that has no handler yet (a
    llama-server that loads); `ready_at_s` None never listens to them. From then on `term_signals` of them end it with
    `term_exit_code`. `healthy_at_s` is when the engine's health check passes, where the container has one.
    `memory_bytes` is used at the start and grows by `growth_bytes_s`. `start_error` is a text of the engine with
    which the start itself is refused.
    """

    lines: tuple[tuple[float, str], ...] = ()
    exit_at_s: float | None = None
    exit_code: int = 0
    oom_killed: bool = False
    ready_at_s: float | None = 0.0
    term_signals: int = 1
    term_exit_code: int = 0
    healthy_at_s: float | None = None
    memory_bytes: int = 10 * MIB
    growth_bytes_s: float = 0.0
    start_error: str | None = None


#: Chooses by (image as the body names it, the words after the program, the environment).
Behave = Callable[[str, tuple[str, ...], Mapping[str, str]], Behaviour]


def idle(image: str, args: tuple[str, ...], env: Mapping[str, str]) -> Behaviour:
    """Runs in silence until it is told to end."""
    return Behaviour()

"""What `doctor` found: the host, the engine, what would stop the stack, and what is worth knowing."""

from __future__ import annotations

from dataclasses import dataclass

from homellm.domain.open_webui import WebUi
from homellm.domain.stack import GpuApi
from homellm.domain.world import EngineInfo, Host, HostGpu
from homellm.errors import ExitCode, Problem, worst


@dataclass(frozen=True, slots=True)
class CardState:
    """A GPU of the host, how containers would use it, and what keeps them from it; no api for a mere display."""

    card: HostGpu
    api: GpuApi | None
    problem: Problem | None = None

    @property
    def usable(self) -> bool:
        """Whether a container can be given it now."""
        return self.api is not None and self.problem is None


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """Everything of one `doctor`. `stack` is None without a stack file that is right, `engine` where none answers.

    A problem with exit code OK is advice; all others would stop the stack.
    """

    host: Host
    engine: EngineInfo | None = None
    stack: str | None = None
    models: int = 0
    cards: tuple[CardState, ...] = ()
    web_uis: tuple[WebUi, ...] = ()
    problems: tuple[Problem, ...] = ()

    @property
    def stopping(self) -> tuple[Problem, ...]:
        """What would stop the stack, or keeps it from being looked at."""
        return tuple(problem for problem in self.problems if problem.exit_code is not ExitCode.OK)

    @property
    def advice(self) -> tuple[Problem, ...]:
        """What stops nothing and is worth knowing."""
        return tuple(problem for problem in self.problems if problem.exit_code is ExitCode.OK)

    @property
    def exit_code(self) -> ExitCode:
        """The exit code of the verb."""
        return worst([problem.exit_code for problem in self.problems])

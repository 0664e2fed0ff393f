"""What a verb found, as people and programs are told it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from homellm.domain.evidence import Evidence
from homellm.domain.steps import Step
from homellm.domain.verdicts import State, Verdict
from homellm.domain.world import EngineInfo
from homellm.errors import ExitCode, Problem, worst


@dataclass(frozen=True, slots=True)
class Fallback:
    """Why a model is served by another runner than the declared one."""

    from_runner: str
    reason: str
    line: str
    rung: str
    since: str


@dataclass(frozen=True, slots=True)
class ModelReport:
    """One model. After an undo `container`, `runner` and `endpoint` are those of what serves now.

    `ready_s` are the seconds from start to ready, None when nothing was started. `slots`, `ctx` and `device` are the
    observed ones, for the line that people read. `changed` tells whether any step was carried out. `seen` is what the
    verdicts rest on, of a model served by llama-server. `edited` tells whether its part of the stack file changed since
    its container was made, None where that was not looked at.
    """

    name: str
    state: State
    runner: str | None = None
    container: str | None = None
    endpoint: str | None = None
    ready_s: float | None = None
    checks: tuple[Verdict, ...] = ()
    fallback: Fallback | None = None
    problems: tuple[Problem, ...] = ()
    notes: tuple[str, ...] = ()
    slots: int | None = None
    ctx: int | None = None
    device: str | None = None
    changed: bool = False
    edited: bool | None = None
    seen: Evidence | None = field(default=None, compare=False, repr=False)

    @property
    def exit_code(self) -> ExitCode:
        """The exit code that this model alone would give."""
        codes = [problem.exit_code for problem in self.problems]
        if self.state is State.FAILED and not codes:
            codes.append(ExitCode.REFUSED)
        if self.state is State.DEGRADED:
            codes.append(ExitCode.DEGRADED)
        return worst(codes)


@dataclass(frozen=True, slots=True)
class StackReport:
    """A whole stack. `problems` are those that concern no single model; `removed` names what `down` took away.

    `engine` is the one that an `up` began with. `orphans` are the containers of models that the file has not any more,
    None where nobody looked for them.
    """

    stack: str
    models: tuple[ModelReport, ...] = ()
    problems: tuple[Problem, ...] = ()
    removed: tuple[str, ...] = ()
    orphans: tuple[str, ...] | None = None
    engine: EngineInfo | None = field(default=None, compare=False, repr=False)

    @property
    def exit_code(self) -> ExitCode:
        """The exit code of the verb."""
        return worst([m.exit_code for m in self.models] + [p.exit_code for p in self.problems])


#: What a plan does with a model or an Ollama server, in a word.
PlanAction = Literal["keep", "start", "replace", "start again", "finish", "adjust", "load", "move back"]


@dataclass(frozen=True, slots=True)
class PlanSummary:
    """What all steps of one model, or of an Ollama server of ours, come to. `because` is empty for what is kept."""

    name: str
    action: PlanAction
    because: str = ""


@dataclass(frozen=True, slots=True)
class PlanReport:
    """What `plan` and `up --dry-run` say. `assumed` lists the models whose flags nobody could ask the image for.

    `notes` are worth knowing and stop nothing, by the name of whom they concern: of those that something is done to.
    `advice` is what holds of the memory of Ollama's models whether or not anything is done.
    """

    stack: str
    steps: tuple[Step, ...] = ()
    problems: tuple[Problem, ...] = ()
    assumed: tuple[str, ...] = ()
    summaries: tuple[PlanSummary, ...] = ()
    notes: tuple[tuple[str, str], ...] = ()
    advice: tuple[Problem, ...] = ()

    @property
    def changes(self) -> bool:
        """Whether anything would be done."""
        return bool(self.steps)

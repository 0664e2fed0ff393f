"""Several units that are to have each other's ports: their plans as one, which is carried out or taken back as a whole.

All successors are made while the old ones serve; all old ones are stopped; every successor is started and proved; and
only then does any of them get its declared policy, which is the mark of a swap that lacks nothing but its renames. So a
run that is killed leaves either old ones that can all come back, or successors that are all proved. Renames fail for
nobody else's sake: they stay with each unit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from homellm.domain.places import problem_at
from homellm.domain.stack import Model
from homellm.domain.steps import (
    CreateContainer,
    Plan,
    RemoveContainer,
    SetRestartPolicy,
    StartContainer,
    Step,
    VerifyModel,
)
from homellm.errors import Problem
from homellm.planning.units import Unit


@dataclass(frozen=True, slots=True)
class Together:
    """`swap` is carried out as a whole, then `commits`, each by itself; both by the names of the units."""

    swap: Plan
    commits: Mapping[str, Plan]

    @property
    def steps(self) -> tuple[Step, ...]:
        """All of them in their order."""
        return self.swap.steps + tuple(step for plan in self.commits.values() for step in plan.steps)


def together(plans: Mapping[str, Plan]) -> Together:
    """The plans of units, by name, as one.

    Each is a swap, which makes a successor, starts, verifies and renames it; or it starts again what is declared, which
    a run that was killed has stopped.
    """
    phases = {name: _phases(plan.steps) for name, plan in plans.items()}
    shared = zip(*(parts[:-1] for parts in phases.values()), strict=True)
    swap = Plan(tuple(step for phase in shared for steps in phase for step in steps))
    return Together(swap, {name: Plan(parts[-1]) for name, parts in phases.items()})


def _phases(steps: tuple[Step, ...]) -> tuple[tuple[Step, ...], ...]:
    """Made, old one stopped, successor proved, its policy set, renamed."""
    made = _leading(steps, CreateContainer, RemoveContainer)
    verified = next((at for at, step in enumerate(steps, start=1) if isinstance(step, VerifyModel)), None)
    if verified is None:
        return steps[:made], (), (), (), steps[made:]
    started = max(at for at, step in enumerate(steps[:verified]) if isinstance(step, StartContainer))
    policy = verified + _leading(steps[verified:], SetRestartPolicy)
    return steps[:made], steps[made:started], steps[started:verified], steps[verified:policy], steps[policy:]


def _leading(steps: Sequence[Step], *kinds: type[Step]) -> int:
    return next((at for at, step in enumerate(steps) if not isinstance(step, kinds)), len(steps))


def from_the_start(unit: Unit) -> Unit:
    """A unit whose successor, left by a run that was killed, is made anew: it must not be proved before its partners.

    As one that does not run it is neither gone on with nor committed.
    """
    return unit if unit.next is None else replace(unit, next=replace(unit.next, status="exited"))


def held_back(model: Model, other: str, problem: Problem) -> Problem:
    """Why `model` cannot move: it moves together with another one, which cannot."""
    return problem_at(
        model,
        "port",
        id="held-back",
        message=f"{model.name} and {other} are to move together, and {other} cannot: {problem.message}",
        hint=f"Mend that first, or give {model.name} another port.",
    )

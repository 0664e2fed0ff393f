"""Names that a swap is going to give, held by somebody else: told before anything is stopped for it."""

from __future__ import annotations

from collections.abc import Iterable

from homellm.domain.steps import CreateContainer, Plan, RenameContainer, Step
from homellm.errors import Problem
from homellm.planning.held_names import name_taken
from homellm.planning.units import Unit
from homellm.ports import Engine


def taken_names(plan: Plan, unit: Unit, model: str, stack: str, engine: Engine) -> tuple[Problem, ...]:
    """A problem for every name of a successor, a failure or a predecessor that is not free for `plan` and its undo.

    Only the names that it gives are asked for, so that a plan without steps costs nothing. Raises EngineUnreachable.
    """
    own = {container.name for container in unit.containers}
    found: list[Problem] = []
    for name in sorted(names_given(plan.steps) - own):
        holder = engine.find_container(name)
        if holder is not None:
            found.append(name_taken(holder, model, stack))
    return tuple(found)


def names_given(steps: Iterable[Step]) -> set[str]:
    """Every name that these steps, or what undoes them, give to a container."""
    return {_given(again) for step in steps for again in (step, *step.undo)} - {""}


def _given(step: Step) -> str:
    match step:
        case CreateContainer():
            return step.target
        case RenameContainer():
            return step.name
        case _:
            return ""

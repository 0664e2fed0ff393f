"""What is wanted of a unit, what is there, and what is known to stop it: all before anything is made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from homellm.deploy.job import Job
from homellm.domain.engine_time import engine_time
from homellm.domain.names import LABEL_HASH, LABEL_MAKER, container_name
from homellm.domain.stack import Model, Stack
from homellm.domain.world import World
from homellm.errors import ExitCode, Problem
from homellm.planning.context import ctx_note, ctx_problem
from homellm.planning.desired import Desired, desire
from homellm.planning.preflight import preflight
from homellm.planning.together import from_the_start, held_back
from homellm.planning.units import Unit, sort_unit

#: What is wanted, what is there, and what is known to stop it.
Settled = tuple[Desired, Unit, tuple[Problem, ...]]
#: A `.next` of another namespace that is younger than this is taken for the work of another homellm.
YOUNG_S = 900.0


def unit_of(model: Model, stack: Stack, world: World) -> Unit:
    """What the engine holds of a model."""
    return sort_unit(container_name(stack, model), model.name, world.containers)


def settle(model: Model, stack: Stack, world: World, *, fit: bool = True) -> Settled:
    """What is wanted, what is there, and what is known to stop it before anything is made.

    Advice, which stops nothing, is among the notes of what is wanted.
    """
    desired = desire(model, stack, world)
    unit = unit_of(model, stack, world)
    kept = runs_as_declared(unit, desired)
    found = desired.problems + preflight(model, stack, unit, world, fit=fit, kept=kept)
    of_context = filter(None, (ctx_problem(model, world), ctx_note(model)))
    return with_advice(desired, (*found, *of_context), unit)


def settle_together(models: Sequence[Model], stack: Stack, world: World, *, fit: bool = True) -> dict[str, Settled]:
    """The same for models that move together, by their names: what stops one of them holds back the others."""
    found = {model.name: settle(model, stack, world, fit=fit) for model in models}
    stopped = {name: problems[0] for name, (_, _, problems) in found.items() if problems}
    for model in models:
        desired, unit, problems = found[model.name]
        if not problems:
            problems = tuple(held_back(model, name, problem) for name, problem in stopped.items())[:1]
        found[model.name] = desired, from_the_start(unit), problems
    return found


def runs_as_declared(unit: Unit, desired: Desired) -> bool:
    """Whether a unit's container runs and is made of what is declared now."""
    current = unit.current
    return current is not None and current.running and current.label(LABEL_HASH) == desired.hash != ""


def with_advice(desired: Desired, found: tuple[Problem, ...], unit: Unit) -> Settled:
    """Sort what was found into notes, for what only may stand in the way, and problems, for what does."""
    advice = tuple(f"{p.message}. {p.hint}".rstrip() for p in found if p.exit_code is ExitCode.OK)
    stopping = tuple(p for p in found if p.exit_code is not ExitCode.OK)
    return replace(desired, notes=desired.notes + advice), unit, stopping


def other_at_work(unit: Unit, name: str, job: Job) -> tuple[Problem, ...]:
    """The second guard: the lock holds in one network namespace, a young `.next` tells of others (design rule 10)."""
    successor = unit.next
    if successor is None or successor.label(LABEL_MAKER) == job.ports.maker:
        return ()
    age_s = (job.ports.clock.now() - engine_time(successor.created_at)).total_seconds()
    if age_s > YOUNG_S:
        return ()
    return (
        Problem(
            id="locked",
            message=f"another homellm, in another container or on another machine, is at work on {name}:"
            f" {successor.name} was made {age_s:.0f} s ago",
            hint=f"Wait for it. If it is gone for good, remove the container: docker rm -f {successor.name}",
            model=name,
        ),
    )

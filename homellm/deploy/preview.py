"""`plan` and `up --dry-run`: what would be done, with causes and undos, and nothing done."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from homellm.deploy.free_names import taken_names
from homellm.deploy.gather import gather
from homellm.deploy.job import Job
from homellm.deploy.limits import Limits
from homellm.deploy.loaded_files import with_outdated
from homellm.deploy.orphans import orphan_steps, without
from homellm.deploy.pull import missing_images, with_images
from homellm.deploy.pull_models import ask_hub
from homellm.deploy.scope import Scope
from homellm.deploy.select import select, servers_of
from homellm.deploy.session import Options, Ports
from homellm.deploy.settle import Settled, settle, settle_together
from homellm.deploy.up import network_step
from homellm.domain.reports import PlanAction, PlanReport, PlanSummary
from homellm.domain.stack import Model, OllamaServer, Stack
from homellm.domain.steps import CreateContainer, Plan, RemoveContainer, StartContainer, Step, VerifyModel
from homellm.domain.world import World
from homellm.errors import Problem, Refused
from homellm.planning.desired import Desired
from homellm.planning.orphans import orphan_containers
from homellm.planning.port_moves import Wave, port_moves
from homellm.planning.reconcile import reconcile
from homellm.planning.together import together
from homellm.planning.units import Unit


def plan(stack: Stack, only: tuple[str, ...], ports: Ports, options: Options) -> PlanReport:
    """The steps that `up` would carry out now.

    Never pulls: with an image absent there is a step for it, and the flags of its model are assumed. A model that is
    to come from a hub is asked for there, and its header is read.
    """
    files = ask_hub(stack, select(stack, only), ports, options, Scope(), lambda _event: None)
    stack = files.located(stack)
    models = tuple(model for model in select(stack, only) if model.name not in files.problems)
    world = gather(stack, models, ports)
    orphans = orphan_containers(stack, world.containers) if options.remove_orphans and not only else ()
    world = without(world, orphans)
    moves = port_moves(models, stack, world)
    world = files.in_world(moves.vacated(world))
    pulls: list[Step] = [*missing_images(with_images(stack, models), ports).values(), *files.steps.values()]
    network = network_step(stack, world)
    steps: list[Step] = [*orphan_steps(orphans)]
    problems: list[Problem] = [problem for found in files.problems.values() for problem in found]
    assumed: list[str] = []
    summaries: list[PlanSummary] = []
    notes: list[tuple[str, str]] = []
    swapped: set[str] = set()
    of_servers: dict[str, tuple[str, ...]] = {}
    swap = partial(_swap, stack=stack, ports=ports, options=options, problems=problems)
    job = Job(stack, world, ports, options, Scope(), Limits.of(options, ports))
    circle = _settled_together(moves.waves, stack, world, options)
    plans: dict[str, Plan] = {}
    for wave, one in ((found, one) for found in moves.waves for one in found.all):
        if isinstance(one, OllamaServer):
            if not one.ours:
                continue
            from homellm.deploy.ollama_server import settle_server  # noqa: PLC0415 - for stacks with an Ollama alone

            settled = settle_server(one, stack, world, fit=options.fit)
            own = swap(settled)
            of_servers[one.name] = settled[0].notes
            swapped |= {one.name} if own else set()
            summaries += _summary(one.name, settled, own)
            steps += own or ()
            continue
        model = one
        if model.runner == "ollama":
            loads = _on_ollama(model, job, swap, problems, swapped=model.server in swapped)
            summaries += [_of_ollama(model.name, loads)] if loads is not None else []
            steps += loads or ()
            continue
        desired, unit, found = circle.get(model.name) or settle(model, stack, world, fit=options.fit)
        if desired.assumed:
            assumed.append(model.name)
        unit = with_outdated(unit, ports, local=world.engine.local)
        own = swap((desired, unit, found))
        summaries += _summary(model.name, (desired, unit, found), own)
        plans[model.name] = Plan(own or ())
        steps += _of_all(plans, wave.models) if wave.together else plans[model.name].steps
        notes += ((model.name, note) for note in (desired.notes if own else ()))
    before: list[Step] = [*pulls, network] if network is not None and steps else pulls
    return PlanReport(
        stack=stack.name,
        steps=(*before, *steps),
        problems=tuple(problems),
        assumed=tuple(assumed),
        summaries=tuple(summaries),
        notes=(*_told_of_servers(of_servers, steps, stack), *notes),
        advice=_of_memory(servers_of(stack, models), stack, world) if options.fit else (),
    )


def _settled_together(waves: tuple[Wave, ...], stack: Stack, world: World, options: Options) -> dict[str, Settled]:
    """What is wanted and there of the models that move together."""
    found: dict[str, Settled] = {}
    for wave in waves:
        if wave.together:
            found |= settle_together(wave.models, stack, world, fit=options.fit)
    return found


def _of_all(plans: Mapping[str, Plan], models: tuple[Model, ...]) -> tuple[Step, ...]:
    """The steps of models that move together, once all of them are planned; none where one of them cannot move."""
    if not all(plans.get(model.name) for model in models):
        return ()
    return together({model.name: plans[model.name] for model in models}).steps


def _told_of_servers(
    notes: Mapping[str, tuple[str, ...]], steps: Sequence[Step], stack: Stack
) -> tuple[tuple[str, str], ...]:
    """The notes on each Ollama server to which, or to a model of which, something is done."""
    concerned = {step.model for step in steps}
    touched = [
        server.name
        for server in stack.ollama
        if concerned & {server.name, *(model.name for model in stack.models_on(server))}
    ]
    return tuple((name, note) for name in touched for note in notes.get(name, ()))


def _of_memory(servers: tuple[OllamaServer, ...], stack: Stack, world: World) -> tuple[Problem, ...]:
    if not servers:
        return ()
    from homellm.planning.memory_ollama import memory_advice  # noqa: PLC0415 - for stacks with an Ollama alone

    return tuple(problem for server in servers for problem in memory_advice(server, stack, world))


def _summary(
    name: str, settled: tuple[Desired, Unit, tuple[Problem, ...]], steps: tuple[Step, ...] | None
) -> tuple[PlanSummary, ...]:
    """What the steps of one unit come to; nothing for one that cannot come to anything."""
    if steps is None:
        return ()
    if not steps:
        return (PlanSummary(name, "keep"),)
    made = next((step for step in steps if isinstance(step, CreateContainer)), None)
    if made is not None:
        return (PlanSummary(name, "start" if settled[1].current is None else "replace", made.cause),)
    begun = next((step for step in steps if isinstance(step, StartContainer | VerifyModel)), None)
    if begun is None:
        return (PlanSummary(name, "adjust", steps[0].cause),)
    return (PlanSummary(name, "start again" if isinstance(begun, StartContainer) else "finish", begun.cause),)


def _on_ollama(
    model: Model,
    job: Job,
    swap: Callable[[Settled], tuple[Step, ...] | None],
    problems: list[Problem],
    *,
    swapped: bool,
) -> tuple[Step, ...] | None:
    """The steps of a model on Ollama; None, and its problems besides, where its store lacks what may not be pulled."""
    from homellm.deploy.ollama_preview import steps_on_ollama  # noqa: PLC0415 - for stacks with an Ollama alone

    try:
        return steps_on_ollama(model, job, lambda settled: swap(settled) or (), swapped=swapped)
    except Refused as error:
        problems += (replace(problem, model=model.name) for problem in error.problems)
        return None


def _of_ollama(name: str, steps: tuple[Step, ...]) -> PlanSummary:
    """What the steps of a model on Ollama come to: it is loaded, or a server that it moved to is made anew or goes."""
    actions: tuple[tuple[type[Step], PlanAction], ...] = (
        (CreateContainer, "replace"),
        (RemoveContainer, "move back"),
        (VerifyModel, "load"),
    )
    for kind, action in actions:
        found = next((step for step in steps if isinstance(step, kind)), None)
        if found is not None:
            return PlanSummary(name, action, found.cause)
    return PlanSummary(name, "keep")


def _swap(
    settled: tuple[Desired, Unit, tuple[Problem, ...]],
    stack: Stack,
    ports: Ports,
    options: Options,
    problems: list[Problem],
) -> tuple[Step, ...] | None:
    """The steps of one unit; None, and its problems noted, when something is known to stop it."""
    desired, unit, found = settled
    if found:
        problems += found
        return None
    swap = reconcile(desired, unit, anew=options.anew)
    taken = taken_names(swap, unit, desired.unit, stack.name, ports.engine)
    problems += taken
    return None if taken else swap.steps

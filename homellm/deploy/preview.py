"""`plan` and `up --dry-run`: what would be done, with causes and undos, and nothing done."""

from __future__ import annotations

from itertools import chain

from homellm.deploy.free_names import taken_names
from homellm.deploy.gather import gather
from homellm.deploy.ollama_look import ps_on_ollama, server_container
from homellm.deploy.ollama_made import looks_changed
from homellm.deploy.ollama_record import read_server_record
from homellm.deploy.ollama_server import settle_server
from homellm.deploy.orphans import orphan_steps, without
from homellm.deploy.pull import missing_images, with_images
from homellm.deploy.pull_models import ask_hub
from homellm.deploy.scope import Scope
from homellm.deploy.select import select, servers_of
from homellm.deploy.session import Options, Ports
from homellm.deploy.settle import settle, unit_of
from homellm.deploy.up import network_step
from homellm.domain.names import server_container_name
from homellm.domain.reports import PlanReport
from homellm.domain.stack import Model, Stack
from homellm.domain.steps import Step, VerifyModel
from homellm.domain.verdicts import State
from homellm.domain.world import World
from homellm.errors import Problem
from homellm.planning.desired import Desired
from homellm.planning.orphans import orphan_containers
from homellm.planning.port_moves import port_moves
from homellm.planning.reconcile import reconcile
from homellm.planning.units import Unit
from homellm.runners.ollama_models import served_name


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
    for server in servers_of(stack, models):
        if server.ours:
            settled = settle_server(server, stack, world)
            steps += _swap(settled, stack, ports, options, problems)
    for model in chain.from_iterable(moves.waves):
        if model.runner == "ollama":
            steps += _on_ollama(model, stack, world, ports, swapped=len(steps) > len(orphans))
            continue
        settled = settle(model, stack, world, fit=options.fit)
        if settled[0].assumed:
            assumed.append(model.name)
        steps += _swap(settled, stack, ports, options, problems)
    before: list[Step] = [*pulls, network] if network is not None and steps else pulls
    return PlanReport(stack=stack.name, steps=(*before, *steps), problems=tuple(problems), assumed=tuple(assumed))


def _swap(
    settled: tuple[Desired, Unit, tuple[Problem, ...]],
    stack: Stack,
    ports: Ports,
    options: Options,
    problems: list[Problem],
) -> tuple[Step, ...]:
    """The steps of one unit; none, and its problems noted, when something is known to stop it."""
    desired, unit, found = settled
    if found:
        problems += found
        return ()
    swap = reconcile(desired, unit, force=options.force_recreate)
    taken = taken_names(swap, unit, desired.unit, stack.name, ports.engine)
    problems += taken
    return () if taken else swap.steps


def _on_ollama(model: Model, stack: Stack, world: World, ports: Ports, *, swapped: bool) -> tuple[Step, ...]:
    """What Ollama gives is only known once it has loaded the model: that is the step, unless it is known already."""
    server = stack.ollama_server(model.server)
    changed = _of_another_file(model, stack, world, ports)
    if unit_of(model, stack, world).current is not None and not changed:
        return ()  # it has moved; the server that serves it now is looked at, and nothing is started
    known = ps_on_ollama(model, stack, world.containers, ports)
    if known.state in (State.VERIFIED, State.DEGRADED) and not swapped and not changed:
        return ()
    cause = f"{changed} " if changed else ""
    cause += "Ollama loads it and its slots are counted"
    if model.fallback != "none":
        cause += f"; with fewer than {model.parallel} it moves to llama-server"
        cause += _pulled_then(model)
    target = (
        server_container_name(stack, server) if server is not None and server.ours else (server.url if server else "")
    )
    return (VerifyModel(target=target or "", model=model.name, cause=cause),)


def _of_another_file(model: Model, stack: Stack, world: World, ports: Ports) -> str:
    """Why Ollama's model is not that of the file which the stack file names, by the record of its server."""
    server = stack.ollama_server(model.server)
    container = server_container(model, stack, world.containers)
    if model.source.kind == "ollama" or server is None or (server.ours and container is None):
        return ""
    record = read_server_record(container, server.url or "", ports)
    return looks_changed(model, served_name(model), record, ports.files)


def _pulled_then(model: Model) -> str:
    """That its last source would have to be pulled; nobody is asked for it before the model needs it."""
    last = model.fallback_source
    if last is None or last.kind != "hf" or last.path is not None or model.pull == "never":
        return ""
    return f", and {last} is pulled if nothing reads Ollama's file"

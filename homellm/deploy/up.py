"""`up`: make what is declared so, and prove it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from homellm.deploy.doomed import is_doomed, known_to_fail, pulls_for
from homellm.deploy.gather import gather
from homellm.deploy.job import Job
from homellm.deploy.limits import Limits
from homellm.deploy.orphans import remove_orphans
from homellm.deploy.probes import sweep_probes
from homellm.deploy.pull import run_pulls, unready
from homellm.deploy.pull_models import ask_hub
from homellm.deploy.scope import Scope
from homellm.deploy.select import select
from homellm.deploy.session import Emit, Options, Ports
from homellm.deploy.telling import failed_report
from homellm.deploy.threads import ahead, side_by_side
from homellm.domain.events import ModelFinished, Note, StackFinished, StackOpened, StepFinished, StepStarted
from homellm.domain.names import LABEL_STACK, container_name, network_name, server_container_name
from homellm.domain.reports import ModelReport, StackReport
from homellm.domain.stack import Model, OllamaServer, Stack
from homellm.domain.steps import CreateNetwork
from homellm.domain.world import World
from homellm.errors import EngineRefused, ExitCode, HomellmError, Problem
from homellm.planning.orphans import orphan_containers
from homellm.planning.port_moves import Wave, port_moves
from homellm.planning.units import sort_unit

if TYPE_CHECKING:
    from homellm.deploy.ollama_reached import Reached


def up(stack: Stack, only: tuple[str, ...], ports: Ports, options: Options, scope: Scope, emit: Emit) -> StackReport:
    """Bring the models named (all, for none named) to what the stack declares, and verify them.

    One model's fault does not stop the others. Raises UsageError, EngineUnreachable, Locked; everything else is in
    the report.
    """
    models = select(stack, only)
    info = ports.engine.info()
    with ports.lock(info, stack.name):
        opened = StackOpened(stack.name, tuple(m.name for m in models), (f"Docker {info.version}",))
        emit(opened)
        sweep_probes(ports)
        files = ask_hub(stack, models, ports, options, scope, emit)
        stack = files.located(stack)
        models = select(stack, only)
        removed = _remove_orphans(stack, only, ports, options, scope, emit)
        early = gather(stack, models, ports)
        moved = port_moves(models, stack, early).vacated(early)
        doomed = known_to_fail(stack, models, files.in_world(moved), options)
        files, images = pulls_for(stack, models, doomed, files, ports)
        pulled = run_pulls(images, ports, scope, emit, files)
        limits = Limits.of(options, ports)  # what is pulled takes as long as it takes
        ready = tuple(model for model in models if not unready(model, stack, pulled, files))
        unchanged = not images and not files.steps and ready == models
        world = early if unchanged else gather(stack, ready, ports)
        _ensure_network(stack, world, tuple(m for m in ready if not is_doomed(m, doomed)), ports, emit)
        job = Job(stack, world, ports, options, scope, limits)
        reports = _converge_all(ready, job, emit)
        for model in models:
            if model.name not in reports:
                reports[model.name] = _not_ready(
                    model, unready(model, stack, pulled, files), replace(job, world=early), emit
                )
                emit(ModelFinished(reports[model.name]))
        _tell_orphans(stack, only, world, emit)
        _drop_unused_network(stack, world, ports)
    report = StackReport(
        stack=stack.name,
        models=tuple(reports[model.name] for model in models),
        problems=_interruption(scope),
        removed=removed,
        engine=info,
    )
    emit(StackFinished(report))
    return report


def _converge_all(models: tuple[Model, ...], job: Job, emit: Emit) -> dict[str, ModelReport]:
    """Ollama servers first, then all models side by side, but for those that are to have the port of another one."""
    reached: dict[str, Reached | HomellmError] = {}
    reports: dict[str, ModelReport] = {}
    moves = port_moves(models, job.stack, job.world)
    for number, wave in enumerate(moves.waves):
        try:
            turn = job if number == 0 else replace(job, world=gather(job.stack, _concerned(wave, models), job.ports))
        except HomellmError as error:
            reached |= {server.name: error for server in wave.servers}
            work = {model.name: partial(_not_begun, model, error) for model in wave.models}
        else:
            if wave.together:
                reports |= _together(wave.models, replace(turn, world=moves.vacated(turn.world)), emit)
                continue
            reach_one: dict[str, Callable[[Emit], Reached | HomellmError]] = {
                server.name: partial(_reach, server, turn) for server in wave.servers
            }
            reached |= side_by_side(reach_one, emit)
            work = {model.name: partial(_converge, model, reached, turn) for model in wave.models}
        reports |= side_by_side(work, emit)
    return reports


def _together(models: tuple[Model, ...], job: Job, emit: Emit) -> dict[str, ModelReport]:
    """Models that are to have each other's ports, in a world in which they have left theirs."""
    from homellm.deploy.together import converge_together  # noqa: PLC0415 - rarely needed

    return side_by_side({models[0].name: partial(converge_together, models, job)}, emit)[models[0].name]


def _concerned(wave: Wave, models: tuple[Model, ...]) -> tuple[Model, ...]:
    """The models of a wave, and those whose servers are in it."""
    servers = {server.name for server in wave.servers}
    return tuple(m for m in models if m in wave.models or (m.runner == "ollama" and m.server in servers))


def _not_ready(model: Model, problems: tuple[Problem, ...], job: Job, emit: Emit) -> ModelReport:
    """A model that something could not be pulled for, with what it has, or the Ollama server that it is declared on."""
    if model.runner == "llama-server":
        from homellm.deploy.converge import given_up  # noqa: PLC0415 - see _converging

        return given_up(model, problems, job, emit)
    stack, world = job.stack, job.world
    own = sort_unit(container_name(stack, model), model.name, world.containers).current
    server = stack.ollama_server(model.server) if own is None else None
    if server is not None:
        own = sort_unit(server_container_name(stack, server), server.name, world.containers).current
    return failed_report(model, problems, job.ports.engine.find_container(own.name) if own is not None else None)


def _not_begun(model: Model, error: HomellmError, emit: Emit) -> ModelReport:
    report = failed_report(model, error.problems, None)
    emit(ModelFinished(report))
    return report


def _reach(server: OllamaServer, job: Job, emit: Emit) -> Reached | HomellmError:
    from homellm.deploy.ollama_server import reach  # noqa: PLC0415 - what serves Ollama's models, for stacks with some

    try:
        return reach(server, job, emit)
    except HomellmError as error:
        return error


def _converge(model: Model, reached: Mapping[str, Reached | HomellmError], job: Job, emit: Emit) -> ModelReport:
    server = reached.get(model.server or "") if model.runner == "ollama" else None
    if server is None:
        report = _converging()(model, job, emit)
    elif isinstance(server, HomellmError):
        report = failed_report(model, server.problems, None)
    else:
        from homellm.deploy.ollama_ladder import serve  # noqa: PLC0415 - see _reach

        report = serve(model, server, job, emit)
    emit(ModelFinished(report))
    return report


def _converging() -> Callable[[Model, Job, Emit], ModelReport]:
    """What makes a server as declared and proves it: a fifth of all that is loaded, so when it is needed."""
    from homellm.deploy.converge import converge  # noqa: PLC0415 - see above

    return converge


def network_step(stack: Stack, world: World) -> CreateNetwork | None:
    """The step that makes the stack's network, None when it is there."""
    name = network_name(stack.name)
    if name in world.networks:
        return None
    return CreateNetwork(target=name, stack=stack.name, cause="the containers of the stack reach each other there")


def _ensure_network(stack: Stack, world: World, models: tuple[Model, ...], ports: Ports, emit: Emit) -> None:
    step = network_step(stack, world)
    if step is None or not models:
        return
    emit(StepStarted(step))
    ahead(_converging)  # the engine takes 60 ms and more for a network
    ports.engine.create_network(step.target, {LABEL_STACK: stack.name})
    emit(StepFinished(step))


def _drop_unused_network(stack: Stack, world: World, ports: Ports) -> None:
    """A network that this run made and that nothing came to use is not left behind."""
    if network_name(stack.name) in world.networks or ports.engine.list_containers({LABEL_STACK: stack.name}):
        return
    try:
        ports.engine.remove_network(network_name(stack.name))
    except EngineRefused:
        return  # somebody else's container uses it meanwhile


def _remove_orphans(
    stack: Stack, only: tuple[str, ...], ports: Ports, options: Options, scope: Scope, emit: Emit
) -> tuple[str, ...]:
    if only or not options.remove_orphans:
        return ()
    found = orphan_containers(stack, ports.engine.list_containers({LABEL_STACK: stack.name}))
    return remove_orphans(found, ports, scope, emit)


def _tell_orphans(stack: Stack, only: tuple[str, ...], world: World, emit: Emit) -> None:
    found = orphan_containers(stack, world.containers)
    if not found or only:
        return
    names = ", ".join(container.name for container in found)
    emit(Note(f"not in the stack file any more: {names}. homellm up --remove-orphans removes it.", warning=True))


def _interruption(scope: Scope) -> tuple[Problem, ...]:
    if not scope.cancelled:
        return ()
    return (
        Problem(
            id="interrupted",
            message="interrupted; what was begun and not proved was taken back",
            hint="Run homellm up again to go on.",
            exit_code=ExitCode.INTERRUPTED,
        ),
    )

"""`up`: make what is declared so, and prove it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from homellm.deploy.converge import converge
from homellm.deploy.gather import gather
from homellm.deploy.job import Job
from homellm.deploy.orphans import orphan_containers, remove_orphans
from homellm.deploy.pull import missing_images, run_pulls
from homellm.deploy.scope import Scope
from homellm.deploy.select import select
from homellm.deploy.session import Emit, Options, Ports
from homellm.deploy.threads import side_by_side
from homellm.deploy.verify import Limits
from homellm.domain.events import ModelFinished, Note, StackFinished, StackOpened, StepFinished, StepStarted
from homellm.domain.names import LABEL_STACK, network_name
from homellm.domain.reports import ModelReport, StackReport
from homellm.domain.stack import Model, Stack
from homellm.domain.steps import CreateNetwork
from homellm.domain.verdicts import State
from homellm.domain.world import World
from homellm.errors import EngineRefused, ExitCode, Problem


def up(stack: Stack, only: tuple[str, ...], ports: Ports, options: Options, scope: Scope, emit: Emit) -> StackReport:
    """Bring the models named (all, for none named) to what the stack declares, and verify them.

    One model's fault does not stop the others. Raises UsageError, EngineUnreachable, Locked; everything else is in
    the report.
    """
    models = select(stack, only)
    info = ports.engine.info()
    with ports.lock(info, stack.name):
        limits = Limits.of(options, ports)
        opened = StackOpened(stack.name, tuple(m.name for m in models), (f"Docker {info.version}",))
        emit(opened)
        pulled = run_pulls(missing_images(models, ports), models, ports, scope, emit)
        ready = tuple(model for model in models if model.name not in pulled)
        world = gather(stack, ready, ports)
        _ensure_network(stack, world, ready, ports, emit)
        job = Job(stack, world, ports, options, scope, limits)
        reports = _converge_all(ready, job, emit)
        for name, problems in pulled.items():
            reports[name] = ModelReport(name=name, state=State.FAILED, problems=problems)
            emit(ModelFinished(reports[name]))
        removed = _orphans(stack, only, world, job, emit)
        _drop_unused_network(stack, world, ports)
    report = StackReport(
        stack=stack.name,
        models=tuple(reports[model.name] for model in models),
        problems=_interruption(scope),
        removed=removed,
    )
    emit(StackFinished(report))
    return report


def _converge_all(models: tuple[Model, ...], job: Job, emit: Emit) -> dict[str, ModelReport]:
    def one(model: Model, emit_here: Emit) -> ModelReport:
        report = converge(model, job, emit_here)
        emit_here(ModelFinished(report))
        return report

    work: dict[str, Callable[[Emit], ModelReport]] = {model.name: partial(one, model) for model in models}
    return side_by_side(work, emit)


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


def _orphans(stack: Stack, only: tuple[str, ...], world: World, job: Job, emit: Emit) -> tuple[str, ...]:
    found = orphan_containers(stack, world)
    if not found or only:
        return ()
    if job.options.remove_orphans:
        return remove_orphans(found, job.ports, job.scope, emit)
    names = ", ".join(container.name for container in found)
    emit(Note(f"not in the stack file any more: {names}. homellm up --remove-orphans removes it.", warning=True))
    return ()


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

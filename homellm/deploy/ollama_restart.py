"""`restart` where Ollama serves: its servers first, then their models are loaded and proved again."""

from __future__ import annotations

from dataclasses import replace

from homellm.deploy.job import Job
from homellm.deploy.ollama_ladder import serve
from homellm.deploy.ollama_server import await_answer, find, server_unit
from homellm.deploy.select import servers_of
from homellm.deploy.session import Emit
from homellm.deploy.settle import unit_of
from homellm.deploy.stopping import stop
from homellm.deploy.telling import failed_report
from homellm.domain.events import StepFinished, StepStarted
from homellm.domain.reports import ModelReport
from homellm.domain.stack import Model
from homellm.domain.steps import StartContainer, Step, StopContainer
from homellm.domain.verdicts import State
from homellm.domain.world import Container
from homellm.errors import HomellmError


def restart_servers(models: tuple[Model, ...], job: Job, emit: Emit) -> None:
    """Stop and start the Ollama servers of these models, and the llama-servers that some of them moved to.

    After a Ctrl-C no further one is stopped.
    """
    for server in servers_of(job.stack, models):
        if job.scope.cancelled:
            return
        current = server_unit(server, job.stack, job.world).current
        if current is not None:
            _again(current, server.name, server.stop_grace_s, job, emit)
    for model in models:
        moved = unit_of(model, job.stack, job.world).current if model.runner == "ollama" else None
        if moved is not None and not job.scope.cancelled:
            _again(moved, model.name, model.stop_grace_s, job, emit)


def _again(container: Container, name: str, grace_s: int, job: Job, emit: Emit) -> None:
    cause = "asked for by homellm restart"
    steps: tuple[Step, ...] = (
        StopContainer(target=container.name, model=name, grace_s=grace_s, cause=cause),
        StartContainer(target=container.name, model=name, cause=cause),
    )
    for step in steps:
        emit(StepStarted(step))
        if isinstance(step, StopContainer):
            stop(container.id, grace_s, job.ports, job.scope)
        else:
            job.ports.engine.start(container.id)
        emit(StepFinished(step))


def serve_again(model: Model, job: Job, emit: Emit) -> ModelReport:
    """Load a model anew and prove it, wherever it is served; after a Ctrl-C the report says how to look at it."""
    report = _served(model, job, emit)
    if not job.scope.cancelled or report.state is not State.FAILED or report.notes:
        return report
    return replace(report, notes=(f"It is not proved yet: homellm check {model.name} looks at it.",))


def _served(model: Model, job: Job, emit: Emit) -> ModelReport:
    server = next(one for one in job.stack.ollama if one.name == model.server)
    try:
        current = server_unit(server, job.stack, job.world).current
        if current is not None:
            await_answer(server, current.name, job, emit)
        reached = find(server, job.stack, job.ports)
    except HomellmError as error:
        return failed_report(model, error.problems, None)
    return serve(model, reached, job, emit)

"""`restart` where Ollama serves: its servers first, then their models are loaded and proved again, as they are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from homellm.deploy.gather import gather
from homellm.deploy.job import Job
from homellm.deploy.ollama_doomed import server_known_to_fail
from homellm.deploy.ollama_load import observe
from homellm.deploy.ollama_look import as_moved, check_on_ollama, named_there
from homellm.deploy.ollama_ps import told
from homellm.deploy.ollama_record import outcomes_of
from homellm.deploy.ollama_server import await_answer, find, server_unit
from homellm.deploy.restart_one import again, restart_one
from homellm.deploy.scope import Scope
from homellm.deploy.select import servers_of
from homellm.deploy.session import Emit
from homellm.deploy.settle import unit_of
from homellm.deploy.swap import Swap
from homellm.deploy.telling import failed_report, with_shadow
from homellm.domain.reports import ModelReport
from homellm.domain.stack import Model, OllamaServer
from homellm.domain.verdicts import State
from homellm.domain.world import Container
from homellm.errors import HomellmError, Problem
from homellm.health.checks.ollama import shadow_load


@dataclass(frozen=True, slots=True)
class NotRestarted:
    """Why a server did not come up again, or was left alone: `stopped` tells whether anything was done to it."""

    problems: tuple[Problem, ...]
    stopped: bool


def restart_servers(models: tuple[Model, ...], job: Job, emit: Emit) -> Mapping[str, NotRestarted]:
    """Stop and start the Ollama servers of these models; those that were not, or do not answer again, by their names.

    A server is not restarted for models that have moved from it, but where all of the stack are meant. Something known
    to keep it or one of its models from coming up again leaves it as it is. After a Ctrl-C no further one is stopped.
    """
    failed: dict[str, NotRestarted] = {}
    for server in servers_of(job.stack, _on_ollama(models, job)):
        current = server_unit(server, job.stack, job.world).current
        if current is None or job.scope.cancelled:
            continue
        doomed = server_known_to_fail(server, job)
        if doomed:
            failed[server.name] = NotRestarted(doomed, stopped=False)
            continue
        problems = _again(current, server, job, emit)
        if problems:
            failed[server.name] = NotRestarted(problems, stopped=True)
    return failed


def _on_ollama(models: tuple[Model, ...], job: Job) -> tuple[Model, ...]:
    if models == job.stack.models:
        return models
    return tuple(model for model in models if unit_of(model, job.stack, job.world).current is None)


def _again(current: Container, server: OllamaServer, job: Job, emit: Emit) -> tuple[Problem, ...]:
    def prove(ref: str, scope: Scope) -> None:
        await_answer(server, ref, replace(job, scope=scope), emit)

    swap = Swap(job.ports, job.scope, emit, prove, job.options.engine_return_s)
    try:
        swap.run(again(current, server.name, server.stop_grace_s))
    except HomellmError as error:
        return error.problems
    return ()


def serve_again(model: Model, job: Job, failed: Mapping[str, NotRestarted], emit: Emit) -> ModelReport:
    """Load a model anew and prove it, or restart what it moved to; a changed stack file is told and not applied.

    `failed` are the servers that were not restarted. After a Ctrl-C the report says how to look at it.
    """
    try:
        report = _served(model, job, failed, emit)
    except HomellmError as error:
        report = failed_report(model, error.problems, None)
    if not job.scope.cancelled or report.state is not State.FAILED or report.notes:
        return report
    return replace(report, notes=(f"It is not proved yet: homellm check {model.name} looks at it.",))


def _served(model: Model, job: Job, failed: Mapping[str, NotRestarted], emit: Emit) -> ModelReport:
    own = unit_of(model, job.stack, job.world).current
    if own is not None:
        return _moved_again(model, own, job, emit)
    held = failed.get(str(model.server))
    if held is None:
        return check_on_ollama(model, job, emit, anew=True)
    report = failed_report(model, held.problems, None)
    if held.stopped:
        return report
    return replace(report, notes=(f"Its Ollama server {model.server} was not stopped: homellm check looks at it.",))


def _moved_again(model: Model, own: Container, job: Job, emit: Emit) -> ModelReport:
    """What a model has moved to, restarted as any llama-server; its Ollama tells what it is made of."""
    server = next(one for one in job.stack.ollama if one.name == model.server)
    try:
        reached = find(server, job.stack, job.ports)
        named = named_there(model, reached)
        outcomes = outcomes_of(model.name, own, named.record)
        fallback = told(outcomes)
        moved = as_moved(model, named, outcomes, job)
    except HomellmError as error:
        left = f"{own.name} was not touched" + (" and runs on." if own.running else ".")
        return replace(failed_report(model, error.problems, own), notes=(left,))
    world = gather(job.stack, (moved,), job.ports)
    report = replace(restart_one(moved, replace(job, world=world), emit), fallback=fallback)
    if report.state is State.FAILED:
        return report
    return with_shadow(report, shadow_load(model, server, observe(model, named, reached, job)))

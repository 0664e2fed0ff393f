"""`restart`: stop and start what runs, and prove it again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from homellm.deploy.gather import gather
from homellm.deploy.job import Job
from homellm.deploy.limits import Limits
from homellm.deploy.ollama_restart import NotRestarted, restart_servers, serve_again
from homellm.deploy.pull_models import locate
from homellm.deploy.restart_one import restart_one
from homellm.deploy.scope import Scope
from homellm.deploy.select import select
from homellm.deploy.session import Emit, Options, Ports
from homellm.deploy.threads import side_by_side
from homellm.domain.events import ModelFinished, StackFinished, StackOpened
from homellm.domain.reports import ModelReport, StackReport
from homellm.domain.stack import Model, Stack
from homellm.errors import ExitCode, Problem


def restart(
    stack: Stack, only: tuple[str, ...], ports: Ports, options: Options, scope: Scope, emit: Emit
) -> StackReport:
    """Stop, start and verify the containers that are there, as they are; `up` is what applies a changed file."""
    stack = locate(stack, ports.hub)
    models = select(stack, only)
    info = ports.engine.info()
    with ports.lock(info, stack.name):
        emit(StackOpened(stack.name, tuple(m.name for m in models), (f"Docker {info.version}",)))
        job = Job(stack, gather(stack, models, ports), ports, options, scope, Limits.of(options, ports))
        untouched = restart_servers(models, job, emit)
        work: dict[str, Callable[[Emit], ModelReport]] = {
            model.name: partial(_one, model, job, untouched) for model in models
        }
        reports = side_by_side(work, emit)
    report = StackReport(
        stack=stack.name,
        models=tuple(reports[model.name] for model in models),
        problems=(_INTERRUPTED,) if scope.cancelled else (),
    )
    emit(StackFinished(report))
    return report


def _one(model: Model, job: Job, untouched: Mapping[str, NotRestarted], emit: Emit) -> ModelReport:
    report = serve_again(model, job, untouched, emit) if model.runner == "ollama" else restart_one(model, job, emit)
    emit(ModelFinished(report))
    return report


_INTERRUPTED = Problem(
    id="interrupted",
    message="interrupted",
    hint="Run homellm restart again to go on.",
    exit_code=ExitCode.INTERRUPTED,
)

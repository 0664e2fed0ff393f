"""`check`: hold what runs against what is declared, at any time, and change nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from homellm.deploy.gather import gather
from homellm.deploy.job import Job
from homellm.deploy.limits import Limits
from homellm.deploy.look import UNDER_WAY, examine, leftover_notes, look, not_ready, paused, starting_report, under_way
from homellm.deploy.observe import subject_of
from homellm.deploy.pull_models import locate
from homellm.deploy.scope import Scope
from homellm.deploy.select import select
from homellm.deploy.session import Emit, Options, Ports, telling
from homellm.deploy.settle import settle
from homellm.deploy.threads import apart, side_by_side
from homellm.deploy.unapplied import difference
from homellm.domain.events import ModelFinished, Progress, StackFinished, StackOpened
from homellm.domain.reports import ModelReport, StackReport
from homellm.domain.stack import Model, Stack
from homellm.domain.verdicts import State
from homellm.errors import HomellmError, Problem


def check(stack: Stack, only: tuple[str, ...], ports: Ports, options: Options, scope: Scope, emit: Emit) -> StackReport:
    """Ask every witness of every model, with one real request to each; judged as `up` judges, and nothing undone."""
    stack = locate(stack, ports.hub)
    models = select(stack, only)
    info = ports.engine.info()
    emit(StackOpened(stack.name, tuple(m.name for m in models), (f"Docker {info.version}",)))
    job = Job(stack, gather(stack, models, ports), ports, options, scope, Limits.of(options, ports))
    work: dict[str, Callable[[Emit], ModelReport]] = {model.name: partial(_one, model, job) for model in models}
    reports = side_by_side(work, emit)
    scope.check()
    report = StackReport(stack=stack.name, models=tuple(reports[model.name] for model in models))
    emit(StackFinished(report))
    return report


def _one(model: Model, job: Job, emit: Emit) -> ModelReport:
    emit(Progress(model.name, "verifying"))
    try:
        report = _judged(model, job, emit)
    except HomellmError as error:
        report = ModelReport(name=model.name, state=State.FAILED, problems=error.problems)
    emit(ModelFinished(report))
    return report


def _judged(model: Model, job: Job, emit: Emit) -> ModelReport:
    if model.runner == "ollama":
        from homellm.deploy.ollama_look import check_on_ollama  # noqa: PLC0415 - for stacks with an Ollama alone

        # Apart: an Ollama that hangs answers nothing for half a minute and more, and Ctrl-C must not wait for it.
        return apart(partial(check_on_ollama, model, job, emit), job.scope)
    tell = telling(model.name, emit)
    desired, unit, _ = settle(model, job.stack, job.world)
    subject = subject_of(model, desired.expected_path, job.stack.gpu(model.gpu), job.world, desired.declared)
    container = unit.current
    begun = starting_report(model, unit)
    if begun is not None:
        return not_ready(begun)
    if container is None:
        return ModelReport(name=model.name, state=State.ABSENT, problems=(_absent(model),), notes=leftover_notes(unit))
    differs = difference(container, desired, model.image, job.world)
    if not container.running or paused(container):
        report = look(model, container, subject, job.ports, job.scope, tell)
        notes = (UNDER_WAY if under_way(unit) else "", differs)
        return replace(report, notes=(*report.notes, *filter(None, notes)))
    concurrency = job.options.concurrency
    settled = unit.next is None
    return examine(
        model,
        container,
        subject,
        job.ports,
        job.scope,
        tell,
        concurrency=concurrency,
        difference=differs,
        settled=settled,
    )


def _absent(model: Model) -> Problem:
    """What is declared and not there is not as declared, however little there is to look at."""
    hint = f"Start it: homellm up {model.name}"
    return Problem(id="not-running", message=f"there is no container of {model.name}", hint=hint, model=model.name)

"""One llama-server, stopped and started as it is, and proved again."""

from __future__ import annotations

from dataclasses import replace

from homellm.deploy.doomed_restart import known_to_fail
from homellm.deploy.gates import failed_gates
from homellm.deploy.job import Job
from homellm.deploy.observe import subject_of
from homellm.deploy.record import write_record
from homellm.deploy.scope import Scope
from homellm.deploy.session import Emit
from homellm.deploy.settle import settle
from homellm.deploy.swap import Swap
from homellm.deploy.telling import failed_report, serving_report, with_verdicts
from homellm.deploy.unapplied import difference, hold_off
from homellm.deploy.unit import current_of
from homellm.deploy.verify import Outcome, refusal, verify
from homellm.deploy.witness import OK, find_url
from homellm.domain.events import Progress
from homellm.domain.reports import ModelReport
from homellm.domain.stack import Model
from homellm.domain.steps import Plan, StartContainer, StopContainer, VerifyModel
from homellm.domain.verdicts import State, judge
from homellm.domain.world import Container
from homellm.errors import HomellmError, Interrupted, Problem
from homellm.planning.desired import Desired


def again(container: Container, name: str, grace_s: int) -> Plan:
    """The steps that stop, start and prove the container of a unit."""
    cause = "asked for by homellm restart"
    start = StartContainer(target=container.name, model=name, cause=cause)
    stop = StopContainer(target=container.name, model=name, grace_s=grace_s, cause=cause, undo=(start,))
    return Plan((stop, start, VerifyModel(target=container.name, model=name, cause=cause)))


def restart_one(model: Model, job: Job, emit: Emit) -> ModelReport:
    """Stop, start and verify the container of a model, unless something is known to keep it from coming up again."""
    desired, unit, problems = settle(model, job.stack, job.world, fit=False)
    current = unit.current
    if current is None:
        return ModelReport(name=model.name, state=State.ABSENT, problems=(_absent(model),))
    doomed = known_to_fail(model, current, desired, problems, job)
    if doomed:
        return replace(failed_report(model, doomed, current), notes=_left_alone(model, current, job))
    subject = subject_of(model, desired.expected_path, job.stack.gpu(model.gpu), job.world, desired.declared)
    outcomes: list[Outcome] = []
    differs = difference(current, desired, model.image, job.world)

    def prove(ref: str, scope: Scope) -> None:
        emit(Progress(model.name, "loading"))
        outcomes.append(verify(ref, subject, job.ports, scope, job.limits, job.options.engine_return_s))
        found = outcomes[-1]
        refused = refusal(replace(found, verdicts=hold_off(found.verdicts, differs, model.name)), model.name)
        if refused is not None:
            raise refused

    swap = Swap(job.ports, job.scope, emit, prove, job.options.engine_return_s)
    try:
        lock = job.turns.take(model.gpu or "cpu", job.scope)
        try:
            swap.run(again(current, model.name, model.stop_grace_s))
        finally:
            lock.release()
    except Interrupted as error:
        now = current_of(unit, job)
        return replace(failed_report(model, error.problems, now), notes=(_became(model, now, bool(swap.undone)),))
    except HomellmError as error:
        return _not_proved(model, current, error, outcomes, differs, job)
    return _proved(model, current, desired, outcomes[-1], job)


def _left_alone(model: Model, current: Container, job: Job) -> tuple[str, ...]:
    if not current.running:
        return ()
    serves = find_url(current, job.ports.http)[1].status == OK
    if serves:
        return (f"It was not stopped, and still serves: {current.name}.",)
    return (f"It was not stopped: {current.name}. It does not answer now: homellm check {model.name} looks at it.",)


def _proved(model: Model, current: Container, desired: Desired, outcome: Outcome, job: Job) -> ModelReport:
    """The report of a container that serves again, held off where the file says something else by now."""
    differs = difference(current, desired, model.image, job.world)
    verdicts = hold_off(outcome.verdicts, differs, model.name)
    state = judge(verdicts)
    if not differs:
        write_record(current.id, outcome.evidence, verdicts, state, job.ports, desired.declared)
    report = replace(serving_report(model, current, state), ready_s=outcome.evidence.ready_s, changed=True)
    return replace(with_verdicts(report, verdicts, outcome.evidence), notes=(differs,) if differs else ())


def _not_proved(
    model: Model, current: Container, error: HomellmError, outcomes: list[Outcome], differs: str, job: Job
) -> ModelReport:
    """The report of a container that did not become ready again, or not as declared: it has no predecessor.

    `differs` tells where the file says something else by now.
    """
    now = job.ports.engine.find_container(current.name)
    answers = now is not None and now.running and find_url(now, job.ports.http)[1].status == OK
    report = failed_report(model, error.problems, now if answers else None)
    note = f"{current.name} does not serve now: homellm logs {model.name} shows its log."
    if answers:
        note = f"{current.name} answers, and is not as declared: homellm check {model.name} looks at it."
    checks = failed_gates(hold_off(outcomes[-1].verdicts, differs, model.name)) if outcomes else ()
    told = any(problem.hint == differs for problem in error.problems)
    return replace(report, checks=checks, notes=(*((differs,) if differs and not told else ()), note), changed=True)


def _absent(model: Model) -> Problem:
    message = f"there is no container of {model.name} to restart"
    return Problem(id="not-running", message=message, hint=f"Start it: homellm up {model.name}", model=model.name)


def _became(model: Model, now: Container | None, touched: bool) -> str:
    """What an interruption made of a model's container."""
    if now is None or not now.running:
        return f"It does not run: homellm up {model.name} starts it."
    if touched:
        return f"{now.name} was started again and is not proved yet: homellm check {model.name} looks at it."
    return f"{now.name} was not touched and runs on."

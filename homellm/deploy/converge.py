"""One unit from what is to what is declared: plan, swap, verify, commit or undo, and tell."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime

from homellm.deploy.observe import Subject, observe_now, observe_quickly, subject_of, subject_of_container
from homellm.deploy.record import read_record, write_record
from homellm.deploy.scope import Scope, shielded
from homellm.deploy.session import Emit, Options, Ports
from homellm.deploy.swap import Swap
from homellm.deploy.telling import failed_report, serving_report, with_verdicts
from homellm.deploy.threads import Turns
from homellm.deploy.verify import Limits, Outcome, failed_gates, gate_problem, refusal, verify
from homellm.domain.events import Note, Progress
from homellm.domain.evidence import Evidence
from homellm.domain.names import LABEL_MAKER, LABEL_STACK, container_name
from homellm.domain.reports import ModelReport
from homellm.domain.stack import Model, Stack
from homellm.domain.steps import StartContainer
from homellm.domain.verdicts import State, Verdict, judge
from homellm.domain.world import Container, World
from homellm.errors import ContainerGone, ExitCode, HomellmError, Problem
from homellm.health.checks import judge_all
from homellm.planning.desired import Desired, desire
from homellm.planning.preflight import preflight
from homellm.planning.reconcile import reconcile
from homellm.planning.units import Unit, sort_unit

_RESTARTED = "The Docker daemon was away in the middle: its restart ends every container. Run homellm up again."
#: A `.next` of another namespace that is younger than this is taken for the work of another homellm.
YOUNG_S = 900.0


@dataclass(frozen=True, slots=True)
class Job:
    """All that the units of one `up` share."""

    stack: Stack
    world: World
    ports: Ports
    options: Options
    scope: Scope
    limits: Limits
    turns: Turns = field(default_factory=Turns)


def unit_of(model: Model, stack: Stack, world: World) -> Unit:
    """What the engine holds of a model."""
    return sort_unit(container_name(stack, model), model.name, world.containers)


def settle(model: Model, stack: Stack, world: World) -> tuple[Desired, Unit, tuple[Problem, ...]]:
    """What is wanted, what is there, and what is known to stop it before anything is made.

    Advice, which stops nothing, is among the notes of what is wanted.
    """
    desired = desire(model, stack, world)
    unit = unit_of(model, stack, world)
    found = desired.problems + preflight(model, stack, unit, world)
    advice = tuple(f"{p.message}. {p.hint}" for p in found if p.exit_code is ExitCode.OK)
    stopping = tuple(p for p in found if p.exit_code is not ExitCode.OK)
    return replace(desired, notes=desired.notes + advice), unit, stopping


def converge(model: Model, job: Job, emit: Emit) -> ModelReport:
    """Make one model as declared. Every error that belongs to it is in the report; nothing of homellm's is raised."""
    unit = unit_of(model, job.stack, job.world)
    try:
        desired, unit, problems = settle(model, job.stack, job.world)
        problems += _other_at_work(unit, model, job)
        if problems:
            return failed_report(model, problems, _current(unit, job))
        for note in desired.notes:
            emit(Note(note, model=model.name))
        return _Unit(model, job, emit, desired, unit).run()
    except HomellmError as error:
        return failed_report(model, error.problems, _current(unit, job))


def _current(unit: Unit, job: Job) -> Container | None:
    """What bears the canonical name now; None too when the engine cannot be asked."""
    try:
        found = job.ports.engine.find_container(unit.name)
    except HomellmError:
        return None
    return found if found is not None and found.label(LABEL_STACK) == job.stack.name else None


def _other_at_work(unit: Unit, model: Model, job: Job) -> tuple[Problem, ...]:
    """The second guard: the lock holds in one network namespace, a young `.next` tells of others (design rule 10)."""
    successor = unit.next
    if successor is None or successor.label(LABEL_MAKER) == job.ports.maker:
        return ()
    age_s = (job.ports.clock.now() - datetime.fromisoformat(_micro(successor.created_at))).total_seconds()
    if age_s > YOUNG_S:
        return ()
    return (
        Problem(
            id="locked",
            message=f"another homellm, in another container or on another machine, is at work on {model.name}:"
            f" {successor.name} was made {age_s:.0f} s ago",
            hint=f"Wait for it. If it is gone for good, remove the container: docker rm -f {successor.name}",
            model=model.name,
        ),
    )


def _micro(text: str) -> str:
    """A time of the engine (nanoseconds, Z) as fromisoformat of Python 3.11 takes it."""
    head, _, tail = text.rstrip("Z").partition(".")
    return f"{head}.{(tail + '000000')[:6]}+00:00"


class _Unit:
    def __init__(self, model: Model, job: Job, emit: Emit, desired: Desired, unit: Unit) -> None:
        self._model = model
        self._job = job
        self._ports = job.ports
        self._emit = emit
        self._unit = unit
        labels = {**desired.labels, LABEL_MAKER: job.ports.maker}
        self._desired = replace(desired, labels=labels)
        gpu = job.stack.gpu(model.gpu)
        self._subject = subject_of(model, desired.expected_path, gpu, job.world)
        self._outcome: Outcome | None = None

    def run(self) -> ModelReport:
        plan = reconcile(self._desired, self._unit, force=self._job.options.force_recreate)
        if not plan:
            return self._look(changed=False)
        swap = Swap(self._ports, self._job.scope, self._emit, self._verify, self._job.options.engine_return_s)
        try:
            with self._turn():
                swap.run(plan)
        except HomellmError as error:
            return self._failed(error, swap)
        return self._proved() if self._outcome is not None else self._look(changed=True)

    @contextmanager
    def _turn(self) -> Iterator[None]:
        self._emit(Progress(self._model.name, "waiting"))
        lock: threading.Lock = self._job.turns.take(self._model.gpu or "cpu", self._job.scope)
        try:
            yield
        finally:
            lock.release()

    def _verify(self, ref: str, scope: Scope) -> None:
        self._emit(Progress(self._model.name, "loading"))
        self._outcome = self._follow(ref, self._subject, scope)
        refused = refusal(self._outcome, self._model.name)
        if refused is not None:
            raise refused

    def _follow(self, ref: str, subject: Subject, scope: Scope) -> Outcome:
        return verify(ref, subject, self._ports, scope, self._job.limits, self._job.options.engine_return_s)

    def _proved(self) -> ModelReport:
        """After a commit: what the verification found becomes the record and the report."""
        outcome = self._outcome
        if outcome is None or outcome.evidence.container is None:
            return self._look(changed=True)
        state = judge(outcome.verdicts)
        write_record(outcome.evidence.container.id, outcome.evidence, outcome.verdicts, state, self._ports)
        container = self._ports.engine.find_container(self._unit.name)
        report = serving_report(self._model, container, state)
        report = replace(report, ready_s=outcome.evidence.ready_s, changed=True)
        return with_verdicts(report, outcome.verdicts, outcome.evidence)

    def _look(self, *, changed: bool) -> ModelReport:
        """Nothing was started: live witnesses, and the record where they cannot tell."""
        container = self._ports.engine.find_container(self._unit.name)
        report = look(self._model, container, self._subject, self._ports)
        return replace(report, changed=changed)

    def _failed(self, error: HomellmError, swap: Swap) -> ModelReport:
        """After an undo: what serves now, proved anew, and the checks that failed."""
        verdicts = failed_gates(self._outcome.verdicts) if self._outcome else ()
        note = self._prove_predecessor(swap)
        current = self._ports.engine.find_container(self._unit.name)
        report = failed_report(self._model, error.problems, current)
        notes = (note,) if note else report.notes
        return replace(report, checks=verdicts, notes=(*notes, _RESTARTED) if swap.engine_was_away else notes)

    def _prove_predecessor(self, swap: Swap) -> str:
        """Prove what the undo started again, and say how that went; empty when it started nothing.

        A daemon that is going down takes what was just started with it: then the start is tried again once it is back.
        """
        restart = [step for step in swap.undone if step.target == self._unit.name]
        if not any(isinstance(step, StartContainer) for step in restart):
            return ""
        self._emit(Progress(self._model.name, "undoing", "what ran before is being verified"))
        refused = self._predecessor_refused()
        if refused is not None:
            for step in restart:
                swap.take_back(step)
            refused = self._predecessor_refused()
        if refused is None:
            return "The server that ran before serves again, verified."
        return f"The server that ran before was started again, but: {refused}"

    def _predecessor_refused(self) -> HomellmError | None:
        try:
            current = self._ports.engine.find_container(self._unit.name)
            if current is None:
                return ContainerGone(f"{self._unit.name} is gone")
            again = self._follow(current.name, subject_of_container(current, self._model), shielded())
        except HomellmError as error:
            return error
        return refusal(again, self._model.name)


def look(model: Model, container: Container | None, subject: Subject, ports: Ports) -> ModelReport:
    """A model's state by live witnesses, and by the record where they cannot tell.

    Without a record of this run everything is asked anew, log and token too, and becomes the record.
    """
    if container is None:
        return ModelReport(name=model.name, state=State.ABSENT)
    if not container.running:
        return failed_report(model, (_not_running(model, container),), container)
    record = read_record(container, ports)
    if record is None:
        return examine(model, container, subject, ports)
    evidence = observe_quickly(container, subject, ports)
    evidence = replace(evidence, log=record.log, log_from_start=True, chat=record.chat)
    verdicts = judge_all(model, evidence, expected_path=subject.expected_path)
    return _judged(model, container, verdicts, evidence)


def examine(model: Model, container: Container, subject: Subject, ports: Ports) -> ModelReport:
    """A running container by every witness, with one real request; what is found becomes its record."""
    evidence = observe_now(container, subject, ports)
    verdicts = judge_all(model, evidence, expected_path=subject.expected_path)
    write_record(container.id, evidence, verdicts, judge(verdicts), ports)
    return _judged(model, container, verdicts, evidence)


def _judged(model: Model, container: Container, verdicts: tuple[Verdict, ...], evidence: Evidence) -> ModelReport:
    problems = tuple(gate_problem(gate, model.name) for gate in failed_gates(verdicts))
    report = replace(serving_report(model, container, judge(verdicts)), problems=problems)
    return with_verdicts(report, verdicts, evidence)


def _not_running(model: Model, container: Container) -> Problem:
    if container.status == "restarting" or container.restart_count > 0:
        message = (
            f"{container.name} crashes again and again: {container.restart_count} restarts,"
            f" last exit code {container.exit_code}"
        )
    else:
        message = f"{container.name} does not run ({container.status}, exit code {container.exit_code})"
    return Problem(id="not-running", message=message, hint=f"Read its log: homellm logs {model.name}", model=model.name)

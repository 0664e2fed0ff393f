"""One model served by llama-server, from what is to what is declared, and the report of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from homellm.deploy.gates import failed_gates, gate_problem
from homellm.deploy.job import Job
from homellm.deploy.limits import Limits
from homellm.deploy.loaded_files import with_outdated
from homellm.deploy.look import look, paused
from homellm.deploy.observe import Subject, subject_of, subject_of_container
from homellm.deploy.record import write_record
from homellm.deploy.scope import Scope
from homellm.deploy.session import Emit, telling
from homellm.deploy.settle import Settled, other_at_work, settle, unit_of
from homellm.deploy.telling import failed_report, serving_report, with_verdicts
from homellm.deploy.unit import Carried, UnitRun, current_of
from homellm.deploy.verify import Outcome, refusal, verify
from homellm.deploy.witness import OK, find_url
from homellm.domain.events import Progress
from homellm.domain.reports import ModelReport
from homellm.domain.stack import Model
from homellm.domain.verdicts import judge
from homellm.domain.world import Container
from homellm.errors import HomellmError, Problem
from homellm.planning.desired import Desired
from homellm.planning.restoring import restoring
from homellm.planning.units import Unit

_NONE: Mapping[str, str] = MappingProxyType({})


def converge(model: Model, job: Job, emit: Emit, labels: Mapping[str, str] = _NONE, *, anew: str = "") -> ModelReport:
    """Make one model as declared, with further labels. Every error that belongs to it is in the report.

    `anew` is why its container is made anew even if it is the one that is declared; empty where nothing says so.
    """
    unit = unit_of(model, job.stack, job.world)
    try:
        settled = settle(model, job.stack, job.world, fit=job.options.fit)
        found = prepare(model, settled, job, emit, labels, anew=anew)
        if not isinstance(found, Prepared):
            return given_up(model, found, job, emit)
        return found.report(found.run.run())
    except HomellmError as error:
        return failed_report(model, error.problems, current_of(unit, job))


def prepare(
    model: Model, settled: Settled, job: Job, emit: Emit, labels: Mapping[str, str] = _NONE, *, anew: str = ""
) -> Prepared | tuple[Problem, ...]:
    """What makes one model as declared, not yet begun; or what is known to stop it. Raises HomellmError."""
    desired, unit, problems = settled
    problems += other_at_work(unit, model.name, job)
    if problems:
        return problems
    desired = replace(desired, labels={**desired.labels, **labels})
    subject = subject_of(model, desired.expected_path, job.stack.gpu(model.gpu), job.world, desired.declared)
    proof = _Proof(model, job, emit, subject)
    unit = with_outdated(unit, job.ports, local=job.world.engine.local)
    return Prepared(proof, UnitRun(desired, unit, job, emit, model.gpu or "cpu", proof.prove, proof.prove_old, anew))


def given_up(
    model: Model, problems: tuple[Problem, ...], job: Job, emit: Emit, unit: Unit | None = None
) -> ModelReport:
    """The report of a model that cannot be begun. What a run that was killed has stopped of it serves again.

    `unit` is what the engine holds of it, where the caller sees that in another way than it is.
    """
    unit = unit or unit_of(model, job.stack, job.world)
    notes: tuple[str, ...] = ()
    steps = restoring(unit, model.name, model.restart)
    if steps and not other_at_work(unit, model.name, job):
        proof = _Proof(model, job, emit, Subject(model=model, expected_path=""))
        desired = Desired(model.name, None, "", {}, restart=model.restart)
        notes = UnitRun(desired, unit, job, emit, model.gpu or "cpu", proof.prove, proof.prove_old).bring_back(steps)
    report = failed_report(model, problems, current_of(unit, job))
    return replace(report, notes=notes or report.notes)


@dataclass(frozen=True, slots=True)
class Prepared:
    """A model that nothing is known to stop, and the run that makes it as declared."""

    proof: _Proof
    run: UnitRun

    def report(self, carried: Carried) -> ModelReport:
        """The report of it, once that run has been carried out. Raises HomellmError."""
        return _report(self.proof, carried, self.run.unit)


@dataclass(slots=True)
class _Proof:
    """Verifies a model's container and keeps what was found. `outcomes` holds the last one, if any."""

    model: Model
    job: Job
    emit: Emit
    subject: Subject
    outcomes: list[Outcome] = field(default_factory=list)

    def prove(self, ref: str, scope: Scope) -> None:
        self.emit(Progress(self.model.name, "loading"))
        outcome = self._follow(ref, self.subject, scope)
        self.outcomes[:] = [outcome]
        refused = refusal(outcome, self.model.name)
        if refused is not None:
            raise refused

    def await_ready(self, container: Container) -> None:
        """For one that nothing was done to and that does not answer yet: somebody started it anew, and it loads."""
        if container.running and not paused(container) and find_url(container, self.job.ports.http)[1].status != OK:
            self.emit(Progress(self.model.name, "loading"))
            self.outcomes[:] = [self._follow(container.name, self.subject, self.job.scope)]

    def prove_old(self, container: Container, scope: Scope) -> None:
        # A time of its own: its successor may have used up all that there was.
        anew = Limits.of(self.job.options, self.job.ports)
        ports = self.job.ports
        subject = subject_of_container(container, self.model, ports, local=self.job.world.engine.local)
        outcome = self._follow(container.name, subject, scope, anew)
        refused = refusal(outcome, self.model.name)
        if refused is not None:
            raise refused
        # Its start ended the run that its old record tells of; without a new one nobody would know it is proved.
        write_record(container.id, outcome.evidence, outcome.verdicts, judge(outcome.verdicts), ports)

    def _follow(self, ref: str, subject: Subject, scope: Scope, limits: Limits | None = None) -> Outcome:
        job = self.job
        tell = telling(self.model.name, self.emit)
        return verify(ref, subject, job.ports, scope, limits or job.limits, job.options.engine_return_s, tell)


def _report(proof: _Proof, carried: Carried, unit: Unit) -> ModelReport:
    model, ports = proof.model, proof.job.ports
    current = ports.engine.find_container(unit.name)
    if carried.error is not None:
        report = failed_report(model, carried.error.problems, current)
        failed = failed_gates(proof.outcomes[0].verdicts) if proof.outcomes else ()
        return replace(report, checks=failed, notes=carried.notes or report.notes)
    if not carried.changed and current is not None:
        proof.await_ready(current)
    if proof.outcomes and proof.outcomes[0].problem is not None:
        return failed_report(model, (proof.outcomes[0].problem,), None)  # nothing was replaced, and this one serves not
    if not proof.outcomes or proof.outcomes[0].evidence.container is None:
        return replace(
            look(model, current, proof.subject, ports, proof.job.scope, telling(model.name, proof.emit)),
            changed=carried.changed,
        )
    outcome, container = proof.outcomes[0], proof.outcomes[0].evidence.container
    state = judge(outcome.verdicts)
    write_record(container.id, outcome.evidence, outcome.verdicts, state, ports, proof.subject.declared)
    gates = tuple(gate_problem(gate, model.name) for gate in failed_gates(outcome.verdicts))
    report = replace(serving_report(model, current, state), ready_s=outcome.evidence.ready_s, problems=gates)
    report = replace(report, changed=carried.changed)
    return with_verdicts(report, outcome.verdicts, outcome.evidence)

"""The state of a model that runs: by live witnesses and the record, or by every witness there is."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from homellm.deploy.concurrency import measure_overlap
from homellm.deploy.crashes import crash_problem, loops, was_restarted
from homellm.deploy.gates import failed_gates, gate_problem
from homellm.deploy.observe import Subject, observe_now, observe_quickly, own_key
from homellm.deploy.record import keep_declaration, read_record, write_record
from homellm.deploy.scope import Scope
from homellm.deploy.session import Ports
from homellm.deploy.telling import failed_report, serving_report, with_verdicts
from homellm.deploy.threads import apart
from homellm.deploy.token import Tell
from homellm.deploy.unapplied import hold_off
from homellm.domain.evidence import Evidence
from homellm.domain.reports import ModelReport
from homellm.domain.stack import Model
from homellm.domain.verdicts import State, Verdict, judge
from homellm.domain.world import Container
from homellm.errors import Problem
from homellm.health.checks import judge_all
from homellm.health.merge import merge, reaches_back
from homellm.planning.units import Unit


def look(
    model: Model, container: Container | None, subject: Subject, ports: Ports, scope: Scope, tell: Tell
) -> ModelReport:
    """A model's state by live witnesses, and by the record where they cannot tell.

    Without a record of this run everything is asked anew, log and token too, and becomes the record. So it is with one
    that is not clean: what failed at one moment tells nothing of now. Raises Interrupted on Ctrl-C.
    """
    if container is None:
        return ModelReport(name=model.name, state=State.ABSENT)
    if not container.running or paused(container):
        return failed_report(model, (not_running(model, container, ports),), container)
    record = read_record(container, ports)
    if record is None or record.state is not State.VERIFIED:
        return examine(model, container, subject, ports, scope, tell)
    keep_declaration(container, subject.declared, ports)
    evidence = apart(partial(observe_quickly, container, subject, record, ports), scope)
    log, recorded = merge(evidence.log, record.log)
    recorded |= {"chat"} if record.chat is not None else set()
    evidence = replace(evidence, log=log, log_from_start=reaches_back(log), chat=record.chat, recorded=recorded)
    evidence = replace(evidence, tool_call=record.tool_call)
    verdicts = judge_all(model, evidence, expected_path=subject.expected_path, settled=True)
    return _judged(model, container, verdicts, evidence)


def examine(
    model: Model,
    container: Container,
    subject: Subject,
    ports: Ports,
    scope: Scope,
    tell: Tell,
    *,
    concurrency: bool = False,
    difference: str = "",
    settled: bool = True,
) -> ModelReport:
    """A running container by every witness, with one real request; what is found becomes its record.

    With `concurrency` also whether its slots really work at once. `difference` says why it is not the one that is
    declared now: then that is its note and hint, and its record stays what it was. One that was not ready yet in this
    run gets no record: the next look asks anew. `settled` tells that no swap is at work on it. Raises Interrupted on
    Ctrl-C, which does not wait for the request.
    """
    evidence = apart(partial(_observe, model, container, subject, ports, tell, concurrency=concurrency), scope)
    notes = (difference,) if difference else ()
    never_ready = evidence.healthy is not True and not _was_ready(evidence, container, ports)
    crashed = _crashed(container, evidence, ports, never_ready=never_ready)
    if crashed is not None:
        crashes = (not_running(model, crashed, ports),)
        return replace(serving_report(model, crashed, State.FAILED), problems=crashes, notes=notes)
    if never_ready and _loads(evidence):
        return replace(_loading_report(model, container), notes=notes)
    verdicts = judge_all(model, evidence, expected_path=subject.expected_path, settled=settled)
    if difference:
        return replace(_judged(model, container, hold_off(verdicts, difference, model.name), evidence), notes=notes)
    if not never_ready:
        write_record(container.id, evidence, verdicts, judge(verdicts), ports, subject.declared)
    return _judged(model, container, verdicts, evidence)


def _observe(
    model: Model, container: Container, subject: Subject, ports: Ports, tell: Tell, *, concurrency: bool
) -> Evidence:
    evidence = observe_now(container, subject, ports, tell)
    if concurrency and evidence.url and model.runner == "llama-server":
        evidence = replace(
            evidence, overlap=measure_overlap(evidence.url, model, ports, own_key(container, ports.engine))
        )
    return evidence


def _was_ready(evidence: Evidence, container: Container, ports: Ports) -> bool:
    """Whether the server was ready at any time in this run: its log says so, or a record that was made of it then."""
    return evidence.log.ready or read_record(container, ports) is not None


def _loads(evidence: Evidence) -> bool:
    """Whether one that was never ready in this run is loading: it answers that it cannot serve, or its log tells."""
    return evidence.healthy is False or reaches_back(evidence.log)


def _crashed(container: Container, evidence: Evidence, ports: Ports, *, never_ready: bool) -> Container | None:
    """The container as it is now, where it does not serve because it ends again and again; None for any other.

    What is `running` at first may end while its witnesses are asked, and one that loads after several crashes is likely
    to end again: then they have nothing to say.
    """
    if evidence.healthy is True:
        return None
    now = ports.engine.find_container(container.id)
    if now is None:
        return None
    ended = not now.running or now.started_at != container.started_at
    return now if ended or (never_ready and loops(now)) else None


def _loading_report(model: Model, container: Container) -> ModelReport:
    crashed = "crashed, was started again, and " if was_restarted(container) else ""
    problem = Problem(
        id="starting",
        message=f"{container.name} {crashed}is still loading its model",
        hint=f"homellm up {model.name} waits until it is ready, and proves it.",
        model=model.name,
    )
    return replace(serving_report(model, container, State.STARTING), problems=(problem,))


def _judged(model: Model, container: Container, verdicts: tuple[Verdict, ...], evidence: Evidence) -> ModelReport:
    problems = tuple(gate_problem(gate, model.name) for gate in failed_gates(verdicts))
    report = replace(serving_report(model, container, judge(verdicts)), problems=problems)
    return with_verdicts(report, verdicts, evidence)


UNDER_WAY = "homellm up is at work, or was cut off: homellm up goes on."


def leftover_notes(unit: Unit) -> tuple[str, ...]:
    """That a removal was begun and not ended, for every container of which something is left."""
    ending = "homellm up and homellm down end it."
    return tuple(f"The removal of {one.name} was begun and not ended: {ending}" for one in unit.leftover)


def under_way(unit: Unit) -> bool:
    """Whether there is a successor and nothing that serves: an `up` is at work, or was cut off."""
    current = unit.current
    serves = current is not None and (current.running or current.status == "restarting")
    return unit.next is not None and not serves


def starting_report(model: Model, unit: Unit) -> ModelReport | None:
    """A model whose successor runs while nothing else serves; None for any other."""
    if unit.next is None or not unit.next.running or not under_way(unit):
        return None
    return ModelReport(name=model.name, state=State.STARTING, container=unit.next.name, notes=(UNDER_WAY,))


def not_ready(report: ModelReport) -> ModelReport:
    """One that is only about to serve, where it is held against what is declared: it is not so yet."""
    return replace(report, notes=(), problems=(Problem(id="starting", message=UNDER_WAY, model=report.name),))


def paused(container: Container) -> bool:
    """Whether somebody froze it (docker pause): the engine calls it running, and it answers nobody."""
    return container.status == "paused"


def paused_problem(model: Model, container: Container) -> Problem:
    """That a container is frozen, and how to thaw it."""
    return Problem(
        id="paused",
        message=f"{container.name} is paused: somebody froze it, and it answers nobody",
        hint=f"Let it go on: docker unpause {container.name}",
        model=model.name,
    )


def not_running(model: Model, container: Container, ports: Ports) -> Problem:
    """Why a container that is there serves nothing: frozen, crashed, or ended."""
    if paused(container):
        return paused_problem(model, container)
    if was_restarted(container):
        return crash_problem(model, container, ports)
    message = f"{container.name} does not run ({container.status}, exit code {container.exit_code})"
    hint = f"homellm up {model.name} starts it; homellm logs {model.name} shows its log."
    return Problem(id="not-running", message=message, hint=hint, model=model.name)

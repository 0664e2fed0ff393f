"""`ps`: what runs of the stack, by inspect and record alone: quick, and it asks no server anything."""

from __future__ import annotations

from dataclasses import replace

from homellm.deploy.crashes import came_back, crash_problem, seems_to_loop, was_restarted
from homellm.deploy.gates import failed_gates, gate_problem
from homellm.deploy.look import UNDER_WAY, paused, paused_problem, starting_report, under_way
from homellm.deploy.record import Record, read_record
from homellm.deploy.session import Ports
from homellm.deploy.telling import serving_report
from homellm.deploy.unapplied import edited, edited_note
from homellm.domain.names import LABEL_STACK, container_name
from homellm.domain.reports import ModelReport, StackReport
from homellm.domain.stack import Declared, Model, Stack
from homellm.domain.verdicts import State
from homellm.domain.world import Container
from homellm.planning.orphans import orphan_containers
from homellm.planning.units import Unit, sort_unit


def ps(stack: Stack, ports: Ports) -> StackReport:
    """The state of every model of the stack."""
    containers = ports.engine.list_containers({LABEL_STACK: stack.name})
    models = tuple(_model(model, stack, containers, ports) for model in stack.models)
    orphans = tuple(container.name for container in orphan_containers(stack, containers))
    return StackReport(stack=stack.name, models=models, orphans=orphans)


def _model(model: Model, stack: Stack, containers: tuple[Container, ...], ports: Ports) -> ModelReport:
    unit = sort_unit(container_name(stack, model), model.name, containers)
    if model.runner == "ollama":
        return _of_ollama(model, unit, stack, containers, ports)
    return _told_edited(_one(model, unit, ports), model, unit.current)


def _of_ollama(model: Model, unit: Unit, stack: Stack, containers: tuple[Container, ...], ports: Ports) -> ModelReport:
    """A model that Ollama serves, or that has moved from there."""
    from homellm.deploy.ollama_look import ps_on_ollama, server_container, told  # noqa: PLC0415 - for such models alone
    from homellm.deploy.ollama_record import outcomes_of, read_server_record  # noqa: PLC0415

    if unit.current is None:
        server = stack.ollama_server(model.server)
        report = ps_on_ollama(model, stack, containers, ports)
        return _told_edited(report, server, server_container(model, stack, containers))
    moved = replace(model, runner="llama-server")
    server = stack.ollama_server(model.server)
    url = server.url if server is not None else None
    record = read_server_record(server_container(model, stack, containers), url or "", ports)
    report = replace(_one(moved, unit, ports), fallback=told(outcomes_of(model.name, unit.current, record)))
    return _told_edited(report, moved, unit.current)


def _told_edited(report: ModelReport, declared: Declared | None, container: Container | None) -> ModelReport:
    """The report with whether the file changed since: what was verified then is not verified for what it says now."""
    if declared is None or container is None or report.container != container.name:
        return report
    if not edited(declared, container):
        return replace(report, edited=False)
    state = State.UNVERIFIED if report.state is State.VERIFIED else report.state
    return replace(report, state=state, edited=True, notes=(*report.notes, edited_note(report.name)))


def _one(model: Model, unit: Unit, ports: Ports) -> ModelReport:
    current, notes = unit.current, (UNDER_WAY,) if under_way(unit) else ()
    begun = starting_report(model, unit)
    if begun is not None:
        return begun
    if current is None:
        name = unit.next.name if unit.next else None
        return ModelReport(name=model.name, state=State.ABSENT, container=name, notes=notes)
    record = read_record(current, ports) if current.running else None
    stuck = paused_problem(model, current) if paused(current) else None
    if record is None and seems_to_loop(current, ports.clock.now()):
        stuck = crash_problem(model, current, ports)
    if stuck is not None:
        return replace(serving_report(model, current, State.FAILED), problems=(stuck,))
    if not current.running:
        return replace(serving_report(model, current, State.STOPPED), endpoint=None, notes=notes)
    notes = (came_back(current, model.name),) if was_restarted(current) else ()
    if record is None:
        return replace(serving_report(model, current, State.UNVERIFIED), notes=notes)
    report = _with_failed(serving_report(model, current, record.state), record)
    report = replace(report, notes=(*report.notes, *notes))
    return replace(report, slots=record.log.slots, ctx=record.log.ctx_per_slot, device=record.log.device)


def _with_failed(report: ModelReport, record: Record) -> ModelReport:
    """With what its last verification found wrong, and when: a record tells of no later time, so `check` is to look."""
    gates = failed_gates(record.verdicts)
    if not gates:
        return report
    problems = tuple(gate_problem(gate, report.name) for gate in gates)
    found = f"That was found at {record.seen_at}; " if record.seen_at else ""
    return replace(report, checks=gates, problems=problems, notes=(f"{found}homellm check {report.name} looks anew.",))

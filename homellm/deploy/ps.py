"""`ps`: what runs of the stack, by inspect and record alone: quick, and it asks no server anything."""

from __future__ import annotations

from dataclasses import replace

from homellm.deploy.gates import failed_gates
from homellm.deploy.look import UNDER_WAY, leftover_notes, starting_report, under_way
from homellm.deploy.record import read_record, recorded_declaration
from homellm.deploy.recorded import stuck, told_back, with_failed
from homellm.deploy.session import Ports
from homellm.deploy.telling import serving_report
from homellm.deploy.unapplied import drifted, held, is_settled
from homellm.deploy.unapplied import told as told_held
from homellm.domain.names import LABEL_STACK, container_name
from homellm.domain.reports import ModelReport, StackReport
from homellm.domain.stack import Model, Stack
from homellm.domain.verdicts import State
from homellm.domain.world import Container
from homellm.health.checks import judge_inspected
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
        report = _of_ollama(model, unit, stack, containers, ports)
    else:
        report = _held(_one(model, unit, ports), model, stack, unit, ports)
    return replace(report, notes=(*report.notes, *leftover_notes(unit)))


def _of_ollama(model: Model, unit: Unit, stack: Stack, containers: tuple[Container, ...], ports: Ports) -> ModelReport:
    """A model that Ollama serves, or that has moved from there."""
    from homellm.deploy.ollama_ps import ps_moved, ps_on_ollama  # noqa: PLC0415 - for such models alone

    if unit.current is None:
        return ps_on_ollama(model, stack, containers, ports)
    moved = replace(model, runner="llama-server")
    report = ps_moved(_one(moved, unit, ports), moved, unit.current, stack, containers, ports)
    return _held(report, model, stack, unit, ports)


def _held(report: ModelReport, model: Model, stack: Stack, unit: Unit, ports: Ports) -> ModelReport:
    """The report with whether the file, or somebody's `docker update`, says something else than what was verified."""
    container = unit.current
    if container is None or report.container != container.name:
        return report
    report = told_held(report, held(model, stack, container, lambda: recorded_declaration(container, ports)))
    served = replace(model, runner="llama-server")  # by this container, whatever it is declared on
    return drifted(report, judge_inspected(served, container) if is_settled(unit, model) else ())


def _one(model: Model, unit: Unit, ports: Ports) -> ModelReport:
    current = unit.current
    notes: tuple[str, ...] = (UNDER_WAY,) if under_way(unit) else ()
    begun = starting_report(model, unit)
    if begun is not None:
        return begun
    if current is None:
        name = unit.next.name if unit.next else None
        return ModelReport(name=model.name, state=State.ABSENT, container=name, notes=notes)
    record = read_record(current, ports) if current.running else None
    problem = stuck(model, current, ports, proved=record is not None)
    if problem is not None:
        return replace(serving_report(model, current, State.FAILED), problems=(problem,))
    if not current.running:
        return replace(serving_report(model, current, State.STOPPED), endpoint=None, notes=notes)
    notes = told_back(current, model.name)
    if record is None:
        return replace(serving_report(model, current, State.UNVERIFIED), notes=notes)
    report = with_failed(serving_report(model, current, record.state), failed_gates(record.verdicts), record.seen_at)
    report = replace(report, notes=(*report.notes, *notes))
    return replace(report, slots=record.log.slots, ctx=record.log.ctx_per_slot, device=record.log.device)

"""Models that are to have each other's ports: made, proved and committed together, or all as they were."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack

from homellm.deploy.converge import Prepared, given_up, prepare
from homellm.deploy.job import Job
from homellm.deploy.scope import shielded
from homellm.deploy.session import Emit
from homellm.deploy.settle import other_at_work, settle_together, unit_of
from homellm.deploy.swap import Swap, Verify
from homellm.deploy.telling import failed_report
from homellm.deploy.unit import Carried, UnitRun, current_of
from homellm.domain.events import ModelFinished
from homellm.domain.names import NEXT
from homellm.domain.reports import ModelReport
from homellm.domain.stack import Model
from homellm.errors import HomellmError, Interrupted, Problem, Refused
from homellm.planning.restoring import leaving, restoring
from homellm.planning.together import Together, from_the_start, held_back, together
from homellm.planning.units import Unit


def converge_together(models: tuple[Model, ...], job: Job, emit: Emit) -> dict[str, ModelReport]:
    """Move these models to each other's ports. `job.world` is that in which they have left theirs.

    Every error that belongs to one of them is in its report.
    """
    reports: dict[str, ModelReport] = {}
    try:
        reports = _converge(models, job, emit)
    except HomellmError as error:
        reports = {model.name: _failed(model, error.problems, job) for model in models}
    for report in reports.values():
        emit(ModelFinished(report))
    return reports


def _converge(models: tuple[Model, ...], job: Job, emit: Emit) -> dict[str, ModelReport]:
    settled = settle_together(models, job.stack, job.world, fit=job.options.fit)
    found = {model.name: prepare(model, settled[model.name], job, emit) for model in models}
    ready = {name: one for name, one in found.items() if isinstance(one, Prepared)}
    stopped = {name: one for name, one in found.items() if not isinstance(one, Prepared)}
    if stopped:
        (first, (problem, *_)), *_ = stopped.items()
        reasons = {model.name: stopped.get(model.name) or (held_back(model, first, problem),) for model in models}
        units = {model.name: from_the_start(unit_of(model, job.stack, job.world)) for model in models}
        if any(other_at_work(unit, name, job) for name, unit in units.items()):
            return {model.name: _failed(model, reasons[model.name], job) for model in models}
        _make_way(units, job, emit)
        return {model.name: given_up(model, reasons[model.name], job, emit, units[model.name]) for model in models}
    carried = carry_out({name: one.run for name, one in ready.items()}, job, emit)
    return {name: one.report(carried[name]) for name, one in ready.items()}


def _make_way(units: Mapping[str, Unit], job: Job, emit: Emit) -> None:
    """Remove what a killed run has begun in place of those that it stopped: it holds the ports that these had."""
    begun = [step for name, unit in units.items() if restoring(unit, name, "no") for step in leaving(unit, name)]
    Swap(job.ports, job.scope, emit, lambda *_: None, job.options.engine_return_s).restore(tuple(begun), "making way")


def _failed(model: Model, problems: tuple[Problem, ...], job: Job) -> ModelReport:
    return failed_report(model, problems, current_of(unit_of(model, job.stack, job.world), job))


def carry_out(runs: Mapping[str, UnitRun], job: Job, emit: Emit) -> dict[str, Carried]:
    """Carry the plans of these units out as one. Every error of homellm's is in what is returned."""
    plans = {name: run.plan() for name, run in runs.items()}
    refused = {name: error for name, run in runs.items() if (error := run.refused(plans[name])) is not None}
    if refused:
        return {name: Carried(False, refused.get(name) or _as_partner(name, refused)) for name in runs}
    for run in runs.values():
        run.tell_notes()
    both = together(plans)
    swap = Swap(job.ports, job.scope, emit, _proving(runs), job.options.engine_return_s)
    try:
        with ExitStack() as turns:
            for run in {run.device: run for run in runs.values()}.values():
                turns.enter_context(run.turn())
            swap.run(both.swap)
    except HomellmError as error:
        errors = {str(swap.failed): error}
        own = {name: errors.get(name) or _as_partner(name, errors) for name in runs}
        return {name: run.undone(own[name], swap) for name, run in runs.items()}
    return {name: _commit(name, run, both, job, emit) for name, run in runs.items()}


def _proving(runs: Mapping[str, UnitRun]) -> Verify:
    by_container = {run.unit.name + part: run for run in runs.values() for part in ("", NEXT)}
    return lambda ref, scope: by_container[ref].prove(ref, scope)


def _commit(name: str, run: UnitRun, both: Together, job: Job, emit: Emit) -> Carried:
    """The renames of one unit: all are proved, so Ctrl-C waits for them, and what fails here the next `up` finishes."""
    try:
        Swap(job.ports, shielded(), emit, run.prove, job.options.engine_return_s).run(both.commits[name])
    except HomellmError as error:
        return Carried(True, error)
    return Carried(changed=True)


def _as_partner(name: str, failed: Mapping[str, HomellmError]) -> HomellmError:
    """Why a unit did not move that was not at fault itself."""
    other, error = next(iter(failed.items()))
    if isinstance(error, Interrupted):
        return Interrupted(str(error))
    return Refused(
        f"{name} moves together with {other}, which failed: {error.problems[0].message}",
        hint=f"Mend {other} first; then homellm up moves them together.",
        id="held-back",
    )

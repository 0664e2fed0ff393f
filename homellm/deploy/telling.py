"""Reports of one model, from what was found."""

from __future__ import annotations

from dataclasses import replace

from homellm.deploy.witness import base_urls
from homellm.domain.evidence import Evidence
from homellm.domain.names import endpoint
from homellm.domain.reports import ModelReport
from homellm.domain.stack import Model
from homellm.domain.verdicts import State, Verdict
from homellm.domain.world import Container
from homellm.errors import Problem


def serving_report(model: Model, container: Container | None, state: State) -> ModelReport:
    """A model served by `container`, as declared."""
    return ModelReport(
        name=model.name,
        state=state,
        runner=model.runner,
        container=container.name if container else None,
        endpoint=endpoint(model),
    )


def failed_report(model: Model, problems: tuple[Problem, ...], current: Container | None) -> ModelReport:
    """A model that is not as declared; `current` is what bears its name now, if anything, and may well serve."""
    mine = tuple(problem if problem.model else replace(problem, model=model.name) for problem in problems)
    report = ModelReport(name=model.name, state=State.FAILED, problems=mine)
    if current is None or not current.running:
        return report
    urls = base_urls(current)
    return replace(
        report,
        container=current.name,
        runner=model.runner,
        endpoint=f"{urls[0]}/v1" if urls else None,
        notes=(f"What ran before still serves: {current.name}.",),
    )


def with_verdicts(report: ModelReport, verdicts: tuple[Verdict, ...], evidence: Evidence) -> ModelReport:
    """The report with its checks and with what people read in one line: slots, context and device as observed."""
    props = evidence.props
    return replace(
        report,
        checks=verdicts,
        slots=props.total_slots if props and props.total_slots is not None else evidence.log.slots,
        ctx=props.n_ctx if props and props.n_ctx is not None else evidence.log.ctx_per_slot,
        device=evidence.log.device,
    )

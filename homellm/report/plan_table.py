"""The lines of `plan` and `up --dry-run`: each step, why, and what takes it back. Pure."""

from __future__ import annotations

from homellm.domain.reports import PlanReport
from homellm.domain.steps import Step
from homellm.report import words
from homellm.report.layout import clean, columns, flat, wrap
from homellm.report.tables import join_blocks


def plan_table(report: PlanReport, *, width: int | None = None) -> str:
    """The plan in the order in which it would be carried out."""
    stack = clean(report.stack)
    if report.steps:
        steps = flat(columns([_row(step) for step in report.steps], width=width))
        blocks = [[f"{stack}  {words.plural(len(report.steps), 'step')}", *steps]]
    elif report.problems:
        blocks = []
    else:
        blocks = [[f"{stack}  nothing to do: what runs was made from this file."]]
    if report.assumed:
        names = ", ".join(map(clean, report.assumed))
        text = f"The flags of {names} are assumed: no image is here to be asked. homellm up pulls and plans anew."
        blocks.append(wrap(text, width=width))
    return join_blocks(blocks)


def _row(step: Step) -> list[str]:
    undo = clean(step.undo_text)
    return [clean(step.model or "–"), clean(step.title), clean(step.cause), f"undo: {undo}" if undo else ""]

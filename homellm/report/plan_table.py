"""The lines of `plan` and `up --dry-run`: each step, why, and what takes it back. Pure."""

from __future__ import annotations

from homellm.domain.reports import PlanReport, PlanSummary
from homellm.domain.steps import Step
from homellm.report import words
from homellm.report.layout import clean, columns, flat, wrap
from homellm.report.tables import join_blocks


def plan_table(report: PlanReport, *, width: int | None = None) -> str:
    """The plan in the order in which it would be carried out."""
    stack = clean(report.stack)
    if report.steps:
        steps = flat(columns([_row(step) for step in report.steps], width=width))
        head = f"{stack}  {words.plural(len(report.steps), 'step')}"
        summaries = flat(wrap(_summary(one), width=width) for one in report.summaries)
        blocks = [[head, *summaries], steps] if summaries else [[head, *steps]]
    elif report.problems:
        blocks = []
    else:
        blocks = [[f"{stack}  nothing to do: what runs was made from this file."]]
    if report.assumed:
        names = ", ".join(map(clean, report.assumed))
        text = f"The flags of {names} are assumed: no image is here to be asked. homellm up pulls and plans anew."
        blocks.append(wrap(text, width=width))
    notes = flat(wrap(f"{clean(name)}: {words.sentence(note)}", width=width) for name, note in report.notes)
    return join_blocks([*blocks, notes] if notes else blocks)


def _summary(summary: PlanSummary) -> str:
    """`helper: replace, because ctx 2048 → 4096`."""
    because = f", because {words.shortened(clean(summary.because))}" if summary.because else ""
    return f"{clean(summary.name)}: {summary.action}{because}"


def _row(step: Step) -> list[str]:
    undo = clean(step.undo_text)
    return [clean(step.model or "–"), clean(step.title), clean(step.cause), f"undo: {undo}" if undo else ""]

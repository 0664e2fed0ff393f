"""The table of `check`: what was asked, what was observed, where, and what to do about what is wrong. Pure."""

from __future__ import annotations

from dataclasses import replace

from homellm.domain.reports import ModelReport, StackReport
from homellm.domain.verdicts import State, Verdict
from homellm.report import words
from homellm.report.layout import GAP, NARROWEST, clean, clean_lines, column_widths, columns, hang, wrap
from homellm.report.tables import failure, join_blocks, paragraphs_of


def check_table(report: StackReport, *, width: int | None = None) -> str:
    """One table for each model, and below it what else is to be said; a model without checks says why."""
    return join_blocks([_model(model, width) for model in report.models])


def _model(model: ModelReport, width: int | None) -> list[str]:
    if not model.checks:
        told = failure(model) if model.state is State.FAILED else [f"{model.state.value}.", *paragraphs_of(model)]
        return hang(f"{words.state_mark(model.state)} {clean(model.name)}", told, width=width)
    rows = [_row(verdict) for verdict in model.checks]
    told = [words.sentence(note) for note in model.notes]
    table = [[clean(model.name), "asked", "observed", "where"], *rows]
    header, *shown = columns(table, width=width)
    widths = column_widths(table)
    indent = widths[0] + widths[1] + 2 * GAP if len(header) == 1 else 4
    # What is to be known before the table is read, that it judges by a changed file say, stands above it.
    out = [*hang(clean(model.name), told, width=width), "", *header] if told else list(header)
    for verdict, lines in zip(model.checks, shown, strict=True):
        out += [*lines, *_hint(verdict, indent, width)]
    if rest := paragraphs_of(replace(model, notes=()), checks=False):
        out += ["", *hang(clean(model.name), rest, width=width)]
    return out


def _row(verdict: Verdict) -> list[str]:
    asked = words.asked(verdict)
    return [
        f"{words.verdict_mark(verdict.verdict)} {clean(verdict.id)}",
        asked,
        words.observed(verdict),
        clean(verdict.source),
    ]


def _hint(verdict: Verdict, indent: int, width: int | None) -> list[str]:
    if verdict.verdict not in ("fail", "unknown"):
        return []
    if width is not None and width - indent < NARROWEST:
        indent = 4
    lead = " " * indent
    return [line for text in clean_lines(verdict.hint) for line in wrap(text, width=width, first=lead, rest=lead)]

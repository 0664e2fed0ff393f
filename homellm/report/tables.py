"""The lines that `up`, `restart`, `pull`, `down` and `ps` end with. Pure: a report in, text out."""

from __future__ import annotations

from collections.abc import Sequence

from homellm.domain.reports import Fallback, ModelReport, StackReport
from homellm.domain.verdicts import State, Verdict
from homellm.errors import Problem
from homellm.report import words
from homellm.report.layout import GAP, cell_width, clean, clean_lines, columns, flat, hang, line_width, pad

_SECONDS = 5
_SERVED_BY = {
    "llama-server": "Served by llama-server on the same weights",
    "bundled": "Served by Ollama's own llama-server on the same weights",
    "source": "Served by llama-server from the declared source",
    "ollama": "Stays on Ollama",
}


def headline(stack: str, models: int, facts: Sequence[str] = ()) -> str:
    """`nuc  2 models · Docker 27.1`."""
    return f"{clean(stack)}  " + " · ".join([words.plural(models, "model"), *map(clean, facts)])


def up_table(report: StackReport, *, width: int | None = None, tell_unchanged: bool = True) -> str:
    """What `up`, `restart` and `pull` end with: a line for each model, and below them what people have to read.

    `width` is the screen's, None for a pipe. With `tell_unchanged`, a run that changed nothing says so.
    """
    blocks = [model_lines(report.models, width=width, unchanged=tell_unchanged), *_paragraphs(report.models, width)]
    if tell_unchanged and report.models and all(m.state is State.VERIFIED and not m.changed for m in report.models):
        blocks.append(["Nothing to do: everything runs as declared."])
    return join_blocks(blocks)


def model_lines(
    models: Sequence[ModelReport], *, width: int | None = None, unchanged: bool = False, name_width: int = 0
) -> list[str]:
    """One line for each model: how it is served, or why it is not.

    `unchanged` marks those that nothing was done to; `name_width` is the least width of the names.
    """
    served = {m.name: _row(m, unchanged) for m in models if m.state is not State.FAILED}
    heads = max([name_width + 2, *(cell_width(_head(m)) for m in models)])
    indent = heads + GAP
    padded = [[pad(_head(m), heads), *served[m.name]] for m in models if m.name in served]
    rows = iter(columns(padded, right=frozenset({_SECONDS}), width=width))
    lines: list[str] = []
    for model in models:
        if model.name in served:
            lines += next(rows)
        else:
            lines += hang(_head(model), failure(model), width=width, indent=indent)
    return lines


def failure(model: ModelReport) -> list[str]:
    """Why a model is not as declared, what serves now, and what to type next; a paragraph for each cause."""
    causes = [_cause(problem) for problem in _other_problems(model)]
    causes += [_unproved(verdict) for verdict in _failed_gates(model)]
    notes = [words.sentence(note) for note in model.notes]
    if not causes:
        return notes or ["failed."]
    (text, hints), *others = causes
    return [line for cause in ((" ".join([text, *notes]), hints), *others) for line in _paragraph(*cause)]


def paragraphs_of(model: ModelReport, *, checks: bool = True) -> list[str]:
    """What is to be said about a model below a table: its fallback, what is not as asked, its problems and notes.

    `checks` is False where the checks stand in the table itself.
    """
    lines = _fallback(model, model.fallback) if model.fallback else []
    causes = [_cause(problem) for problem in _other_problems(model)]
    if checks:
        causes = [_unproved(v) for v in model.checks if v.verdict in ("fail", "unknown")] + causes
    lines += [line for cause in causes for line in _paragraph(*cause)]
    return lines + [words.sentence(note) for note in model.notes]


def pull_table(report: StackReport, *, width: int | None = None) -> str:
    """What `pull` brought for each model, or why it could not."""
    lines: list[str] = []
    indent = max((cell_width(_head(m)) for m in report.models), default=0) + GAP
    for model in report.models:
        if model.state is State.FAILED:
            lines += hang(_head(model), failure(model), width=width, indent=indent)
        else:
            notes = [words.sentence(note) for note in model.notes] or ["its image is here."]
            lines += hang(f"{words.PASS} {clean(model.name)}", notes, width=width, indent=indent)
    return join_blocks([lines])


def down_text(report: StackReport) -> str:
    """What `down` took away, a line each."""
    if not report.removed:
        return f"{clean(report.stack)}  nothing to remove\n" if not report.problems else ""
    lines = [f"{clean(report.stack)}  {len(report.removed)} removed"]
    return join_blocks([[*lines, *(f"{words.NONE} {clean(name)}" for name in report.removed)]])


def ps_table(report: StackReport, *, width: int | None = None) -> str:
    """What runs now: model, state, runner, slots, device, endpoint, container; the last one only where it has room."""
    orphans = _orphans(report.orphans or (), width)
    if not report.models:
        return join_blocks([[f"{clean(report.stack)}  no models"], orphans])
    rows = [[_head(m), m.state.value, *_served(m), clean(m.container or "")] for m in report.models]
    if width is not None and line_width(rows) > width:
        rows = [row[:-1] for row in rows]
    return join_blocks([flat(columns(rows, width=width)), *_paragraphs(report.models, width, failed=True), orphans])


def _orphans(names: Sequence[str], width: int | None) -> list[str]:
    """What runs, or stands there, of models that the file has not any more."""
    if not names:
        return []
    told = f"{', '.join(map(clean, names))}. homellm up --remove-orphans removes {'it' if len(names) == 1 else 'them'}."
    return hang("not in the stack file any more:", [told], width=width)


def _paragraphs(models: Sequence[ModelReport], width: int | None, *, failed: bool = False) -> list[list[str]]:
    blocks = []
    for model in models:
        if model.state is State.FAILED and not failed:
            continue
        lines = failure(model) if model.state is State.FAILED else paragraphs_of(model)
        if lines:
            blocks.append(hang(clean(model.name), lines, width=width))
    return blocks


def _head(model: ModelReport) -> str:
    return f"{words.state_mark(model.state)} {clean(model.name)}"


def _row(model: ModelReport, unchanged: bool) -> list[str]:
    took = "" if model.ready_s is None else words.seconds(model.ready_s)
    if unchanged and not model.changed and not took:
        took = "unchanged"
    if model.state is not State.VERIFIED:
        took = f"{took}, {model.state.value}" if took else model.state.value
    return [*_served(model), took]


def _served(model: ModelReport) -> list[str]:
    name = words.runner(model.runner) if model.runner else ""
    if model.fallback and model.runner != model.fallback.from_runner:
        name += f", moved from {words.runner(model.fallback.from_runner)}"
    slots = "" if model.slots is None else f"{model.slots} × {'?' if model.ctx is None else model.ctx}"
    return [name, slots, words.device(model.device), clean(model.endpoint or "")]


def _cause(problem: Problem) -> tuple[str, list[str]]:
    """What happened, where in the file, and what to do next; a command to type is introduced as one."""
    hints = clean_lines(problem.hint)
    if hints and hints[0][0].islower():
        hints[0] = f"Next: {hints[0]}"
    place = f" ({clean(problem.file)}:{problem.line})" if problem.file and problem.line else ""
    return words.sentence(words.shortened(clean(problem.message.rstrip("."))) + place), hints


def _unproved(verdict: Verdict) -> tuple[str, list[str]]:
    """A check that did not pass, and its hint."""
    asked, seen = words.asked(verdict), words.observed(verdict)
    where = f" ({clean(verdict.source)})" if verdict.source else ""
    was = "" if verdict.verdict == "unknown" else "observed "
    return f"{verdict.id}: asked {asked}, {was}{seen}{where}.", clean_lines(verdict.hint)


def _paragraph(text: str, hints: list[str]) -> list[str]:
    """One paragraph; the further lines of a hint, commands to type say, stand on their own."""
    return [" ".join([text, *hints[:1]]), *hints[1:]]


def _failed_gates(model: ModelReport) -> list[Verdict]:
    return [v for v in model.checks if v.verdict == "fail" or (v.gate and v.verdict == "unknown")]


def _other_problems(model: ModelReport) -> list[Problem]:
    """The problems that are not just a check's verdict in other words."""
    told = {f"gate-{verdict.id}" for verdict in _failed_gates(model)}
    return [problem for problem in model.problems if problem.id not in told]


def _fallback(model: ModelReport, fallback: Fallback) -> list[str]:
    served = _SERVED_BY.get(fallback.rung, f"Served by {clean(fallback.rung)}")
    if model.slots is not None:
        served += f"; {words.plural(model.slots, 'slot')} proved"
    return [
        words.sentence(fallback.reason or fallback.line),
        f"{served}. homellm check {clean(model.name)} shows the evidence.",
    ]


def join_blocks(blocks: Sequence[Sequence[str]]) -> str:
    """Blocks with an empty line between them, and one newline at the end."""
    text = "\n\n".join("\n".join(block) for block in blocks if block)
    return f"{text}\n" if text else ""

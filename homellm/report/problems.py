"""Errors as people are told them: what happened, where in the stack file, what to do next. Pure."""

from __future__ import annotations

from homellm.errors import Problem
from homellm.report import words
from homellm.report.layout import cell_width, clean, clean_lines, wrap

_INDENT = "  "
_EXCERPT_INDENT = "    "
_LINES = 20


def problem_text(problem: Problem, *, width: int | None = None) -> str:
    """`error: message`, the place in the file with a caret under it where there is one, and the hint."""
    first, *more = message_lines(problem)
    lines = wrap(_placed(problem) + first, width=width, first="error: ", rest=_INDENT)
    lines += [_INDENT + line for line in more]
    if problem.excerpt:
        lines += [_EXCERPT_INDENT + line for line in _excerpt(problem.excerpt)]
    for hint in clean_lines(problem.hint):
        lines += wrap(hint, width=width, first=_INDENT, rest=_INDENT)
    return "\n".join(lines) + "\n"


def message_lines(problem: Problem) -> list[str]:
    """The lines of the message, none longer and no more of them than people read: a server may send a whole page."""
    lines = [words.shortened(line) for line in clean_lines(problem.message)] or [problem.id]
    return lines if len(lines) <= _LINES else [*lines[:_LINES], "…"]


def problems_text(problems: tuple[Problem, ...], *, width: int | None = None) -> str:
    """Several errors, one after another, as many as there are."""
    return "".join(problem_text(problem, width=width) for problem in problems)


def _placed(problem: Problem) -> str:
    if problem.file is None:
        return f"{clean(problem.model)}: " if problem.model else ""
    place = [str(part) for part in (problem.file, problem.line, problem.column) if part is not None]
    return ":".join(map(clean, place)) + ": "


def _excerpt(excerpt: str) -> list[str]:
    """The line of the file and its caret; the caret counts characters, the screen counts columns."""
    lines = [clean(line).rstrip() for line in excerpt.splitlines()]
    match lines:
        case [line, caret] if caret.strip() == "^":
            return [line, " " * cell_width(line[: len(caret) - 1]) + "^"]
    return lines

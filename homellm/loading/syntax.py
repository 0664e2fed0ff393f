"""The YAML reader's complaints in words that help somebody who does not know YAML's grammar."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from homellm.loading.nodes import Mark

if TYPE_CHECKING:
    from ruamel.yaml.error import MarkedYAMLError

    from homellm.loading.findings import Findings

_LINE_BREAK = re.compile(r"\r\n|\n|\r")
_ESCAPE = re.compile(r"\\U([0-9a-fA-F]{8})")
MAX_CODE_POINT = 0x10FFFF
_NO_SPACE = re.compile(r"\s*(?:- )?[\w.-]+:[^\s:/]\S*\s*")

#: A part of the reader's own words, what to say instead, and what to do.
_WORDS = (
    ("found character '\\t'", "a tab stands where YAML wants spaces", "Indent with spaces."),
    (
        "mapping values are not allowed",
        "a `:` stands where none may stand",
        "Quote a value with `: ` in it, and check the indentation.",
    ),
    (
        "sequence entries are not allowed",
        "a `-` stands where no list can begin",
        "Put the list on lines of its own, below its key.",
    ),
    ("could not find expected ':'", "this line is no `key: value`", "Write a space after the colon."),
    ("that cannot start any token", "a value cannot begin with this character", "Quote the value."),
    ("found unexpected end of stream", "the quote that begins here is never closed", "Close it."),
    (
        "expected <block end>",
        "this line does not fit the ones above it",
        "Check its indentation, and the quotes above it.",
    ),
    (
        "expected ',' or",
        "this list or mapping is not closed where it should be",
        "Check its brackets and commas; inside of brackets a value with `${…}` must be quoted.",
    ),
    ("found unknown escape character", "this backslash is no escape of YAML", "Use single quotes, or write `\\\\`."),
    ("undefined tag handle", "this `!` begins a tag that nobody defined", "Remove the tag, or quote the value."),
    ("non-comment content after document end", "something stands after the end of the document", "Remove the `...`."),
)
#: Complaints whose cause stands where the reader's context began, not where it gave up.
_AT_CONTEXT = ("found unexpected end of stream", "could not find expected ':'")


def mark_of_index(text: str, index: int) -> Mark:
    """Line and column of a character of the text."""
    line, begin = 1, 0
    for found in _LINE_BREAK.finditer(text, 0, index):
        line, begin = line + 1, found.end()
    return Mark(line, index - begin + 1)


def directive_mark(text: str) -> Mark | None:
    """Where a directive (`%YAML 1.1`) stands before the document, None without one."""
    for number, line in enumerate(_LINE_BREAK.split(text), 1):
        if line.startswith("%"):
            return Mark(number, 1)
        if line.strip() and not line.lstrip().startswith("#"):
            return None
    return None


def explain_syntax(error: MarkedYAMLError, text: str, findings: Findings) -> None:
    """Note a syntax error of the YAML reader."""
    problem = str(error.problem or error.context or "")
    message, hint = _translate(problem)
    place = _mark(error.problem_mark) or _mark(error.context_mark) or Mark(1, 1)
    if any(part in problem for part in _AT_CONTEXT):
        place = _mark(error.context_mark) or place
    glued = _glued_line(text, place.line) if "`:`" in message else None
    if glued:
        place, message, hint = glued, "a `:` needs a space after it", "Write `key: value`."
    kind = "yaml-tab" if "tab" in message.split() else "yaml-syntax"
    findings.add(kind, place, f"this is not YAML: {message}", hint)


def explain_characters(error: Exception, text: str, findings: Findings) -> None:
    """Note a character that YAML does not take, written out (ReaderError) or as an escape (chr's ValueError)."""
    index: int | None = getattr(error, "position", None)
    if index is None:
        escape = next((found for found in _ESCAPE.finditer(text) if int(found[1], 16) > MAX_CODE_POINT), None)
        mark = mark_of_index(text, escape.start()) if escape else Mark(1, 1)
        findings.add("yaml-syntax", mark, "this is not YAML: this escape names no character", "Write `\\\\`.")
        return
    message = f"the character U+{ord(text[index]):04X} may not stand in a YAML file"
    findings.add("yaml-syntax", mark_of_index(text, index), message, "Remove it.")


def _translate(problem: str) -> tuple[str, str]:
    for part, message, hint in _WORDS:
        if part in problem:
            return message, hint
    return problem.split("\n", 1)[0], "Check indentation, quotes and brackets here and in the line above."


def _mark(mark: Any) -> Mark | None:
    return None if mark is None else Mark(mark.line + 1, mark.column + 1)


def _glued_line(text: str, line: int) -> Mark | None:
    """The line just above that reads `key:value`, which swallowed the line complained about."""
    lines = _LINE_BREAK.split(text)
    above = lines[line - 2] if line > 1 else ""
    return Mark(line - 1, above.index(":") + 1) if _NO_SPACE.fullmatch(above) else None

"""What was found wrong in a stack file, collected, and the text that places are shown from."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from homellm.domain.secret import looks_secret
from homellm.domain.stack import Place
from homellm.errors import ExitCode, Problem, StackFileError
from homellm.loading.interpolate import holds_literal
from homellm.loading.nodes import Entry, Mapping, Mark, Node, Scalar, Sequence, walk

_BREAK = re.compile(r"\r\n|\n|\r")
_NO_BREAK = re.compile(r"[^\n\r]")
_ASSIGNMENT = re.compile(r"""([\w.-]+)["']?\s*[:=]\s*(.+)""")


class SourceText:
    """A stack file's text for showing: secrets that are written out in it are hidden, columns stay where they are."""

    def __init__(self, file: Path, text: str) -> None:
        self._file = str(file)
        self._raw = text
        self._lines = tuple(_hide_assignments(line) for line in _BREAK.split(text))

    def hide_secrets(self, root: Node) -> None:
        """From now on hide exactly what the tree shows to be a secret, instead of what a line alone looks like."""
        text = self._raw
        for start, end in _secret_spans(root):
            text = text[:start] + _NO_BREAK.sub("*", text[start:end]) + text[end:]
        self._lines = tuple(_BREAK.split(text))

    def place(self, mark: Mark) -> Place:
        """A mark with its file and line."""
        line = self._lines[mark.line - 1] if mark.line <= len(self._lines) else ""
        return Place(self._file, mark.line, mark.column, line)


@dataclass(frozen=True, slots=True)
class _Finding:
    mark: Mark
    id: str
    message: str
    hint: str
    model: str | None


class Findings:
    """Everything that is wrong, each thing once."""

    def __init__(self) -> None:
        self._found: dict[tuple[Mark, str, str], _Finding] = {}

    def __bool__(self) -> bool:
        return bool(self._found)

    def add(self, id: str, mark: Mark, message: str, hint: str = "", model: str | None = None) -> None:
        """Note a problem; the same one at the same place (a default that many models share) is noted once."""
        self._found.setdefault((mark, id, message), _Finding(mark, id, message, hint, model))

    def raise_any(self, file: Path, source: SourceText) -> None:
        """Raise StackFileError with all problems, in the order of the file, if there is one."""
        problems = tuple(_problem(finding, source) for finding in sorted(self._found.values(), key=lambda f: f.mark))
        if not problems:
            return
        count = "1 problem" if len(problems) == 1 else f"{len(problems)} problems"
        raise StackFileError(f"{file}: {count}", problems=problems)


def _problem(finding: _Finding, source: SourceText) -> Problem:
    place = source.place(finding.mark)
    return Problem(
        id=finding.id,
        message=finding.message,
        hint=finding.hint,
        file=place.file,
        line=place.line,
        column=place.column,
        excerpt=place.pointed,
        model=finding.model,
        exit_code=ExitCode.USAGE,
    )


def is_secret_key(key: str) -> bool:
    """Whether the value of a key or variable of that name is a secret."""
    return key == "api_key" or looks_secret(key)


def _secret_spans(root: Node) -> list[tuple[int, int]]:
    spans: list[tuple[int, int]] = []
    for node in walk(root):
        if isinstance(node, Mapping):
            spans += (span for entry in node.entries for span in _entry_spans(entry))
        elif isinstance(node, Sequence):
            spans += (item.span for item in _secret_items(node.items))
    return spans


def _entry_spans(entry: Entry) -> list[tuple[int, int]]:
    """Everything that is written out below a key whose name is a secret's."""
    if not is_secret_key(entry.key):
        return []
    words = (node for node in walk(entry.value) if isinstance(node, Scalar))
    return [word.span for word in words if not word.is_null and holds_literal(word.text)]


def _secret_items(items: Iterable[Node]) -> list[Scalar]:
    """The items of a list that read `NAME=secret`."""
    return [item for item in items if isinstance(item, Scalar) and is_secret_assignment(item.text)]


def is_secret_assignment(text: str) -> bool:
    """Whether a text reads `NAME=secret`, the secret written out."""
    name, equals, value = text.partition("=")
    return bool(equals) and is_secret_key(name) and holds_literal(value)


def _hide_assignments(line: str) -> str:
    """A line of a text that is no YAML (yet), without what looks like a secret."""
    match = _ASSIGNMENT.search(line)
    if match is None or not is_secret_key(match[1]) or not holds_literal(match[2].strip()):
        return line
    return line[: match.start(2)] + "*" * len(match[2]) + line[match.end(2) :]

"""Text laid out for a fixed-width screen: cells measured as terminals draw them, columns, wrapped paragraphs. Pure."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence

#: Blanks between two columns.
GAP = 3
#: A paragraph narrower than this is not set beside anything.
NARROWEST = 24

_ESCAPE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])?")
_BREAK = re.compile(r"[\t\n\v\f\r\x85\u2028\u2029]")
#: Bytes that no text may carry to a terminal: controls, directional overrides, halves of surrogate pairs.
_FORBIDDEN = re.compile(r"[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def clean(text: str) -> str:
    """`text` as one line without anything that would move a cursor: it may come from a log, an engine or a file."""
    return _FORBIDDEN.sub("", _BREAK.sub(" ", _ESCAPE.sub("", text)))


def clean_lines(text: str) -> list[str]:
    """The lines of `text`, each one clean, without empty ones."""
    return [line for line in (clean(raw).rstrip() for raw in text.splitlines()) if line]


def char_width(char: str) -> int:
    """Columns that a terminal gives a character: 0 for combining marks, 2 for wide ones (Unicode Annex 11), else 1."""
    if char.isascii():
        return 1
    if unicodedata.category(char) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in ("W", "F") else 1


def cell_width(text: str) -> int:
    """Columns that a terminal gives `text`."""
    return len(text) if text.isascii() else sum(map(char_width, text))


def pad(text: str, width: int, *, right: bool = False) -> str:
    """`text` filled with blanks to `width` columns; longer text stays whole."""
    blanks = " " * max(0, width - cell_width(text))
    return blanks + text if right else text + blanks


def cut(text: str, width: int) -> str:
    """`text` cut to `width` columns, with `…` in place of what is lost."""
    if cell_width(text) <= width:
        return text
    kept, used = "", 1
    for char in text:
        used += char_width(char)
        if used > width:
            break
        kept += char
    return kept + "…"


def column_widths(rows: Iterable[Sequence[str]]) -> list[int]:
    """The width of each column; rows may differ in length."""
    widths: list[int] = []
    for row in rows:
        for index, cell in enumerate(row):
            if index == len(widths):
                widths.append(0)
            widths[index] = max(widths[index], cell_width(cell))
    return widths


def line_width(rows: Iterable[Sequence[str]]) -> int:
    """The columns of a screen that aligned rows take."""
    widths = [width for width in column_widths(rows) if width]
    return sum(widths) + GAP * max(0, len(widths) - 1)


def columns(
    rows: Sequence[Sequence[str]], *, right: frozenset[int] = frozenset(), width: int | None = None
) -> list[list[str]]:
    """The lines of each row, aligned; a column that is empty in every row takes no room.

    `right` are the columns aligned to the right. Where a row would be wider than `width`, every row is stacked
    instead: its first cell on a line of its own, and the others below it, as many to a line as fit.
    """
    widths = column_widths(rows)
    shown = [index for index, size in enumerate(widths) if size]
    if width is not None and line_width(rows) > width:
        return [_stacked(row, width) for row in rows]
    return [[_line(row, widths, shown, right)] for row in rows]


def flat(groups: Iterable[Iterable[str]]) -> list[str]:
    """The lines of all rows."""
    return [line for group in groups for line in group]


def _line(row: Sequence[str], widths: Sequence[int], shown: Sequence[int], right: frozenset[int]) -> str:
    cells = [pad(row[i] if i < len(row) else "", widths[i], right=i in right) for i in shown]
    return (" " * GAP).join(cells).rstrip()


def _stacked(row: Sequence[str], width: int) -> list[str]:
    lines, current = [row[0].rstrip()], ""
    for cell in filter(None, row[1:]):
        joined = f"{current}{' ' * GAP}{cell}" if current else f"    {cell}"
        if current and cell_width(joined) > width:
            lines.append(current)
            joined = f"    {cell}"
        current = joined
    lines += [current] if current else []
    return flat(
        wrap(x.strip(), width=width, first="    ", rest="    ") if cell_width(x) > width else [x] for x in lines
    )


def wrap(text: str, *, width: int | None, first: str = "", rest: str = "") -> list[str]:
    """`text` in lines of at most `width` columns, broken at blanks; None breaks nothing.

    `first` stands before the first line, `rest` before every other one. A word longer than a line is left whole.
    """
    if width is None:
        return [first + text]
    lines, current, empty = [], first, True
    for word in text.split():
        joined = current + ("" if empty else " ") + word
        if not empty and cell_width(joined) > width:
            lines.append(current)
            joined = rest + word
        current, empty = joined, False
    return [*lines, current]


def hang(head: str, lines: Iterable[str], *, width: int | None, indent: int | None = None) -> list[str]:
    """`head`, and `lines` to the right of it, each wrapped under its own beginning.

    `indent` is the column where the lines begin, two blanks after the head when None. On a screen too narrow for
    that they begin in column 4, below the head.
    """
    column = cell_width(head) + 2 if indent is None else indent
    lead, before, out = " " * column, pad(head, column), []
    if width is not None and width - column < NARROWEST:
        lead, before, out = "    ", "    ", [head.rstrip()]
    for line in lines:
        out += wrap(line, width=width, first=before, rest=lead)
        before = lead
    return [line.rstrip() for line in out]

"""Bytes of a log, however they are cut, to lines, and lines to what the server itself wrote.

A log comes in frames that are not lines, and its lines carry prefixes of whatever they went through: llama.cpp's own
(`0.00.003.818 W `), Docker's timestamps (`logs -t`), Compose's `name | `, the journal's, a router's child (`[39699] `),
colours, or a JSON object for each line. What is left after `clean` is the same text in every case.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass

#: Longer lines are cut here and the rest is dropped: a log may hold a whole conversation in one line.
LINE_LIMIT = 64 * 1024


class LineSplitter:
    """Frames in, whole lines out, without their ends; the same lines however the frames are cut.

    Line feeds, pairs of carriage return and line feed, and lone carriage returns (progress bars) end a line.
    Memory is bounded by one frame and `limit` bytes.
    """

    def __init__(self, limit: int = LINE_LIMIT) -> None:
        self._limit = limit
        self._tail = b""
        self._after_cr = False

    def feed(self, frame: bytes) -> list[bytes]:
        """The lines that this frame completes."""
        if self._after_cr and frame[:1] == b"\n":
            frame = frame[1:]
            self._after_cr = False
        if not frame:
            return []
        self._after_cr = frame.endswith(b"\r")
        if b"\r" in frame:
            frame = frame.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        first, *lines = frame.split(b"\n")
        self._tail = (self._tail + first)[: self._limit]
        if not lines:
            return []
        whole = [self._tail, *lines[:-1]]
        self._tail = lines[-1][: self._limit]
        if max(map(len, whole)) <= self._limit:
            return whole
        return [line if len(line) <= self._limit else line[: self._limit] for line in whole]

    def close(self) -> list[bytes]:
        """The last line, if the log ended without a line end."""
        tail, self._tail = self._tail, b""
        return [tail] if tail else []


class LineDecoder:
    """Frames in, lines of text out: what is no UTF-8 becomes U+FFFD, never an error."""

    def __init__(self, limit: int = LINE_LIMIT) -> None:
        self._splitter = LineSplitter(limit)

    def feed(self, frame: bytes) -> list[str]:
        """The lines that this frame completes, empty ones too."""
        return [line.decode("utf-8", "replace") for line in self._splitter.feed(frame)]

    def finish(self) -> list[str]:
        """The last line, if the log ended without a line end."""
        return [line.decode("utf-8", "replace") for line in self._splitter.close()]


@dataclass(frozen=True, slots=True)
class Line:
    """What a server wrote, without any prefix.

    `stamped` tells whether the server's own prefix (or its JSON) stood before it; a line without one in a log that
    has them is a continuation or comes straight from a library. `source` is the router's child that wrote it, by its
    port, empty for the server itself; `origin` the container, by the name that Compose puts before its lines.
    """

    text: str
    stamped: bool = False
    source: str = ""
    origin: str = ""


_COLOUR = re.compile(r"\x1b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\x07]*\x07|[@-Z\\^_])")
_OUTER = re.compile(
    "|".join(
        (
            r"(?P<origin>[A-Za-z0-9](?:[\w.:/@+-]*\w)?) *\| ",  # Compose and homellm logs: `name-1  | `
            # docker logs -t, and others' times
            r"\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?\]?(?: \|)? ",
            r"[A-Z][a-z]{2} +\d{1,2} \d\d:\d\d:\d\d(?:\.\d+)? \S+ [\w.@/-]+(?:\[\d+\])?: ",  # journalctl
            r"[\w.-]+ [\w.@/-]+\[\d+\]: ",  # what journalctl -o short-iso has after its time
            r"> ",  # quoted in a report
        )
    )
)
_CHILD = re.compile(r"\[(\d{2,5})\] ")
_OWN = re.compile(r"(?:\d+\.\d\d\.\d{3}\.\d{3} (?:[A-Z] )?|[DIWEC] (?=\S))")
#: Prefixes around prefixes: Compose before Docker's time before the journal's.
_OUTER_DEPTH = 4
_JSON_DEPTH = 3


def clean(text: str) -> tuple[Line, ...]:
    """The line without its prefixes: one, several for a JSON object that holds several, none for an empty one."""
    return _clean(text, _JSON_DEPTH)


def _clean(text: str, depth: int) -> tuple[Line, ...]:
    if "\x1b" in text:
        text = _COLOUR.sub("", text)
    text, origin = _without_outer(text)
    source = ""
    if child := _CHILD.match(text):
        source, text = child[1], text[child.end() :]
    if text.startswith("{") and depth:
        lines = _from_json(text, depth)
        if lines is not None:
            return tuple(Line(line.text, line.stamped, line.source or source, line.origin or origin) for line in lines)
    own = _OWN.match(text)
    if own:
        text = text[own.end() :]
    text = text.rstrip()
    return (Line(text, own is not None, source, origin),) if text else ()


def _without_outer(text: str) -> tuple[str, str]:
    """What stands behind the prefixes of others, and the container that they name."""
    origin = ""
    for _ in range(_OUTER_DEPTH):
        outer = _OUTER.match(text)
        if outer is None:
            break
        origin = origin or outer["origin"] or ""
        text = text[outer.end() :]
    return text, origin


def _from_json(text: str, depth: int) -> tuple[Line, ...] | None:
    """The lines in a JSON object, None when it is none or not a log's."""
    try:
        entry = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(entry, dict):
        return None
    for wrapper in ("log", "MESSAGE"):  # the engine's own json-file, journalctl -o json
        if isinstance(inner := entry.get(wrapper), str):
            return tuple(line for part in inner.splitlines() for line in _clean(part, depth - 1))
    if entry.get("type") == "fit_memory_breakdown":
        return tuple(Line(row, stamped=True) for row in _breakdown_rows(entry.get("data")))
    for key in ("msg", "message"):
        if isinstance(message := entry.get(key), str):
            return _from_message(message, entry)
    return None


_META = frozenset(("type", "time", "tid", "timestamp", "level", "function", "line", "msg", "message"))


def _from_message(message: str, entry: Mapping[str, object]) -> tuple[Line, ...]:
    """llama-server's JSON: today the text as it is, in 2024 a text and its numbers as further keys."""
    parts = [part.rstrip() for part in message.splitlines() if part.strip()]
    if not parts:
        return ()
    numbers = " ".join(f"{key}={value}" for key, value in entry.items() if key not in _META)
    first = f"{parts[0]} | {numbers}" if numbers else parts[0]
    return (Line(first, stamped=True), *(Line(part) for part in parts[1:]))


def _breakdown_rows(data: object) -> list[str]:
    """The memory breakdown of the JSON log as the table that the plain log has."""
    rows = data.get("rows") if isinstance(data, dict) else None
    if not isinstance(rows, list):
        return []
    lines = ["common_memory_breakdown_print: | memory breakdown [MiB] | total free self model context compute |"]
    for row in rows:
        if not isinstance(row, dict):
            continue
        name = f"{row.get('name')} ({row['description']})" if row.get("description") else str(row.get("name"))
        own = f"{row.get('self')} = {row.get('model')} + {row.get('context')} + {row.get('compute')}"
        if "free" in row:
            own = f"{row.get('total')} = {row.get('free')} + ({own}) + {row.get('unaccounted')}"
        lines.append(f"common_memory_breakdown_print: |   - {name} | {own} |")
    return lines

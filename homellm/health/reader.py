"""A whole log, in frames of any size -> its summary, in constant memory and at the speed of a disk.

Most lines of a large log differ from earlier ones in numbers alone. The shape of a line is what it is with every
digit made 0; a shape that meant nothing once means nothing again, since no rule asks for a certain digit (a test holds
every rule to that). So the rules look at each shape once. Of the lines that do mean something nearly all are about a
slot that has served before, which changes nothing either.
"""

from __future__ import annotations

import re

from homellm.domain.evidence import LogSummary
from homellm.domain.signals import Signal
from homellm.health.lines import LineSplitter, clean
from homellm.health.signals import read
from homellm.health.summary import Summariser

#: Shapes that are remembered; beyond that all are forgotten and learned anew.
MOST_SHAPES = 16384
#: Longer lines are not remembered: they are few, and would cost the memory that this promises to bound.
LONGEST_SHAPE = 512

_SLOT_ID = re.compile(rb"\bid +(\d+) \|")
_SLOT_SIGNALS = frozenset(("slot-launch", "slot-serving", "slot-release"))
#: What comes again and again from a server that serves, and begins no other load.
_SERVING = _SLOT_SIGNALS | {"cache-reused", "request-refused"}
_REUSE = b"reuse"
_TO_SHAPE = bytes.maketrans(b"123456789", b"0" * 9)


class LogReader:
    """Feeds a Summariser from bytes."""

    def __init__(self) -> None:
        self._splitter = LineSplitter()
        self._summariser = Summariser()
        self._boring: set[bytes] = set()
        self._repeating: dict[bytes, bytes] = {}
        self._settled: set[bytes] = set()
        self._origin: str | None = None
        self._single = True

    def feed(self, frame: bytes) -> None:
        """Take the next bytes, cut anywhere."""
        self._take(self._splitter.feed(frame))

    def finish(self) -> LogSummary:
        """The log has ended; what it told."""
        self._take(self._splitter.close())
        self._summariser.close()
        return self._summariser.summary()

    def _take(self, lines: list[bytes]) -> None:
        boring, repeating, settled = self._boring, self._repeating, self._settled
        for line in lines:
            shape = line.translate(_TO_SHAPE)
            if shape in boring:
                continue
            if shape in repeating and (repeating[shape] or _slot(line)) in settled:
                continue
            self._read(line, shape)

    def _read(self, raw: bytes, shape: bytes) -> None:
        """Let the rules read one line, and remember what kind of line it is."""
        signals = [signal for line in clean(raw.decode("utf-8", "replace")) if (signal := read(line)) is not None]
        for signal in signals:
            self._summariser.add(signal)
            self._note_origin(signal.origin)
            if signal.id not in _SERVING and not signal.problem:
                self._settled.clear()  # perhaps another load, whose slots have not served yet
        if len(shape) > LONGEST_SHAPE:
            return
        if not signals:
            _make_room(self._boring)
            self._boring.add(shape)
        elif len(signals) == 1 and not signals[0].source and self._single:
            self._settle(signals[0], shape)

    def _note_origin(self, origin: str) -> None:
        """Where several containers write, a slot of one is not that of another, though their lines look alike."""
        self._origin = origin if self._origin is None else self._origin
        if origin != self._origin:
            self._single = False
            self._settled.clear()

    def _settle(self, signal: Signal, shape: bytes) -> None:
        """Remember a line that changes nothing when it comes again in this load."""
        slot = signal.facts.get("slot")
        if signal.id in _SLOT_SIGNALS:
            _make_room(self._repeating)
            self._repeating[shape] = b""
            if slot in self._summariser.served_slots:
                self._settled.add(str(slot).encode())
        elif signal.id == "cache-reused":
            _make_room(self._repeating)
            self._repeating[shape] = _REUSE
            self._settled.add(_REUSE)


def _slot(line: bytes) -> bytes | None:
    match = _SLOT_ID.search(line)
    return match[1] if match else None


def _make_room(shapes: set[bytes] | dict[bytes, bytes]) -> None:
    if len(shapes) >= MOST_SHAPES:
        shapes.clear()

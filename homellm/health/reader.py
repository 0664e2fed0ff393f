"""A whole log, in frames of any size -> its summary, in constant memory and at the speed of a disk.

Most lines of a large log differ from earlier ones in numbers alone. The shape of a line is what it is with every
digit made 0; a shape that meant nothing once means nothing again, since no rule asks for a certain digit (a test holds
every rule to that). So the rules look at each shape once. Of the lines that do mean something nearly all are about a
slot that has served before, which changes nothing either.
"""

from __future__ import annotations

import re

from homellm.domain.evidence import LogSummary
from homellm.health.lines import LineSplitter, clean
from homellm.health.signals import read
from homellm.health.summary import Summariser

#: Shapes that are remembered; beyond that all are forgotten and learned anew.
MOST_SHAPES = 16384
#: Longer lines are not remembered: they are few, and would cost the memory that this promises to bound.
LONGEST_SHAPE = 512

_SLOT_ID = re.compile(rb"\bid +(\d+) \|")
_SLOT_SIGNALS = frozenset(("slot-launch", "slot-serving", "slot-release"))
_TO_SHAPE = bytes.maketrans(b"123456789", b"0" * 9)


class LogReader:
    """Feeds a Summariser from bytes."""

    def __init__(self) -> None:
        self._splitter = LineSplitter()
        self._summariser = Summariser()
        self._boring: set[bytes] = set()
        self._about_slots: set[bytes] = set()
        self._settled: set[bytes] = set()

    def feed(self, frame: bytes) -> None:
        """Take the next bytes, cut anywhere."""
        self._take(self._splitter.feed(frame))

    def finish(self) -> LogSummary:
        """The log has ended; what it told."""
        self._take(self._splitter.close())
        self._summariser.close()
        return self._summariser.summary()

    def _take(self, lines: list[bytes]) -> None:
        boring, about_slots, settled = self._boring, self._about_slots, self._settled
        for line in lines:
            shape = line.translate(_TO_SHAPE)
            if shape in boring:
                continue
            if shape in about_slots and (slot := _SLOT_ID.search(line)) and slot[1] in settled:
                continue
            self._read(line, shape)

    def _read(self, raw: bytes, shape: bytes) -> None:
        """Let the rules read one line, and remember what kind of line it is."""
        signals = [signal for line in clean(raw.decode("utf-8", "replace")) if (signal := read(line)) is not None]
        for signal in signals:
            self._summariser.add(signal)
        if not signals:
            self._remember(self._boring, shape)
        elif len(signals) == 1 and signals[0].id in _SLOT_SIGNALS and not signals[0].source:
            self._remember(self._about_slots, shape)
            if signals[0].facts.get("slot") in self._summariser.served_slots:
                self._settled.add(str(signals[0].facts["slot"]).encode())
        else:
            self._settled.clear()  # perhaps another load, whose slots have not served yet

    def _remember(self, shapes: set[bytes], shape: bytes) -> None:
        if len(shape) > LONGEST_SHAPE:
            return
        if len(shapes) >= MOST_SHAPES:
            shapes.clear()
        shapes.add(shape)

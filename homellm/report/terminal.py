"""The event sink for a terminal: the lines of the final table, being filled while the verb is at work."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from homellm.domain.events import (
    Event,
    ModelFinished,
    Note,
    Progress,
    StackOpened,
    StepFinished,
    StepStarted,
)
from homellm.domain.reports import ModelReport
from homellm.domain.steps import Step
from homellm.report import words
from homellm.report.encoding import encodable, fit
from homellm.report.layout import GAP, cell_width, clean, cut, pad
from homellm.report.pace import Paces
from homellm.report.plain import note_line, progress_text
from homellm.report.stream import MARK_COLOURS, Output
from homellm.report.tables import headline, model_lines

_FRAMES = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_FRAMES_ASCII = "|/-\\"
_FRAME_S = 0.1
#: Room for the `^C` that a terminal echoes: on a full line it would begin a new one, and one too few would be erased.
_ECHO = 4
_REFRESH_HZ = 8
_STYLES = {"32": "green", "31": "red", "33": "yellow", "2": "dim"}


@dataclass(slots=True)
class _Row:
    """One model while the verb is at work."""

    name: str
    text: str = "waiting"
    since: float | None = None
    report: ModelReport | None = None
    transfers: dict[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class _View:
    """All that is drawn. Written by the thread that emits, read by the one that draws, under one lock."""

    rows: dict[str, _Row] = field(default_factory=dict)
    stack_text: str = ""
    last_line: str = ""


class TerminalSink:
    """A line for each model, redrawn in place, and gone when the sink is left: the table then stands there.

    Used as a context manager. `interrupting` may be called from a signal handler: it only stores a line.
    """

    def __init__(self, output: Output, *, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._output = output
        self._monotonic = monotonic
        self._paces = Paces()
        self._lock = threading.RLock()
        self._view = _View()
        self._unicode = encodable(_FRAMES, output.stream.encoding)
        self._console = Console(
            file=_Quiet(output),  # type: ignore[arg-type]  # the part of a text file that rich uses
            force_terminal=True,
            no_color=not output.colour,
            highlight=False,
            emoji=False,
            markup=False,
            legacy_windows=False,
        )
        self._live = Live(
            get_renderable=self._render,
            console=self._console,
            refresh_per_second=_REFRESH_HZ,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )

    def __enter__(self) -> TerminalSink:
        self._live.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._live.stop()

    def emit(self, event: Event) -> None:
        """Take one event."""
        match event:
            case StackOpened():
                with self._lock:
                    self._view.rows = {name: _Row(name) for name in event.models}
                self._above(headline(event.stack, len(event.models), event.facts))
            case StepStarted(step=step):
                self._say(step.model, step.title)
            case StepFinished(step=step) if step.model is None:
                self._say(None, "")
            case StepFinished(step=step):
                self._transferred(step)
            case Progress(what=what) if what:
                self._transferring(event)
            case Progress():
                self._say(event.model, progress_text(event))
            case Note():
                self._above(note_line(event))
            case ModelFinished(report=report):
                with self._lock:
                    self._row(report.name).report = report
            case _:
                pass

    def interrupting(self, text: str) -> None:
        """Say below the lines that the first Ctrl-C was heard."""
        self._view.last_line = clean(text)

    def _say(self, model: str | None, text: str) -> None:
        with self._lock:
            if model is None:
                self._view.stack_text = clean(text)
                return
            row = self._row(model)
            row.text, row.report = clean(text), None
            if row.since is None:
                row.since = self._monotonic()

    def _transferring(self, event: Progress) -> None:
        """A model's image and its files may come at once: both stand in its line."""
        text = clean(progress_text(event, self._paces.of(event, self._monotonic())))
        with self._lock:
            transfers = self._row(event.model).transfers
            transfers[event.what] = text
            self._say(event.model, " · ".join(transfers.values()))

    def _transferred(self, step: Step) -> None:
        with self._lock:
            row = self._row(step.model or "")
            if row.transfers.pop(step.target, None) is not None and row.transfers:
                row.text = " · ".join(row.transfers.values())

    def _row(self, name: str) -> _Row:
        return self._view.rows.setdefault(name, _Row(name))

    def _above(self, line: str) -> None:
        """A line that stays, above those that are redrawn."""
        self._console.print(Text(fit(line, self._output.stream.encoding)), soft_wrap=True)

    def _render(self) -> Group:
        width = self._console.width
        with self._lock:
            lines = self.lines(width - _ECHO)
        return Group(*(_styled(fit(line, self._output.stream.encoding), line) for line in lines))

    def lines(self, width: int) -> list[str]:
        """What is drawn now, for a screen of `width` columns; a line never takes more than one row of it."""
        rows = list(self._view.rows.values())
        finished = {row.name: row.report for row in rows if row.report}
        names = max((cell_width(clean(row.name)) for row in rows), default=0)
        drawn = dict(zip(finished, _first_lines(list(finished.values()), names), strict=True))
        lines = [drawn.get(row.name) or self._working(row, names, width) for row in rows]
        if self._view.stack_text:
            lines.insert(0, f"{self._frame()} {self._view.stack_text}")
        if self._view.last_line:
            lines.append(self._view.last_line)
        return [cut(line, width) for line in lines]

    def _working(self, row: _Row, names: int, width: int) -> str:
        gap = " " * GAP
        mark = " " if row.since is None else self._frame()
        took = "" if row.since is None else gap + words.seconds(int(self._monotonic() - row.since))
        head = f"{mark} {pad(clean(row.name), names)}{gap}"
        return head + cut(row.text, max(8, width - cell_width(head) - cell_width(took))) + took

    def _frame(self) -> str:
        frames = _FRAMES if self._unicode else _FRAMES_ASCII
        return frames[int(self._monotonic() / _FRAME_S) % len(frames)]


class _Quiet:
    """The stream as rich sees it: writes go through Output, which never raises."""

    def __init__(self, output: Output) -> None:
        self._output = output
        self.encoding = output.stream.encoding

    def write(self, text: str) -> int:
        self._output.write_raw(text)
        return len(text)

    def flush(self) -> None:
        """Output flushes each write."""

    def isatty(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._output.stream.fileno()


def _first_lines(reports: list[ModelReport], names: int) -> list[str]:
    """The one line of each finished model; the rest of a failure stands in the final table."""
    lines = model_lines(reports, name_width=names)
    return [line for line in lines if not line.startswith(" ")]


def _styled(line: str, original: str) -> Text:
    text = Text(line, no_wrap=True, overflow="crop")
    colour = MARK_COLOURS.get(original[:1])
    if colour and original[1:2] == " ":
        text.stylize(_STYLES[colour], 0, 1)
    return text

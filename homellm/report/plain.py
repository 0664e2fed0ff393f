"""The event sink for a pipe, a log file, a dumb terminal: a line for each happening, and no control characters."""

from __future__ import annotations

import re
import time
from collections.abc import Callable

from homellm.domain.events import Event, ModelFinished, Note, Progress, StackOpened, StepStarted
from homellm.domain.reports import ModelReport
from homellm.domain.steps import Step
from homellm.report import words
from homellm.report.layout import clean
from homellm.report.pace import Pace, Paces
from homellm.report.stream import Output
from homellm.report.tables import headline

#: Of a transfer a line is written each time another quarter of it is done.
_QUARTERS = 4
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")


class PlainSink:
    """Writes what happens as it happens. A phase is told once, and again only when its text says something new."""

    def __init__(self, output: Output, *, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._output = output
        self._monotonic = monotonic
        self._paces = Paces()
        self._told: dict[tuple[str, str], tuple[str, str, int]] = {}
        self._told_anything = False

    def __enter__(self) -> PlainSink:
        return self

    def __exit__(self, *exc: object) -> None:
        """Set the table that follows apart from what happened."""
        if self._told_anything:
            self._output.write("\n")

    def emit(self, event: Event) -> None:
        """Take one event."""
        line = self._line(event)
        if line:
            self._told_anything = self._told_anything or not isinstance(event, StackOpened)
            self._output.write(f"{line}\n")

    def interrupting(self, text: str) -> None:
        """Say that the first Ctrl-C was heard; called from a signal handler."""
        self._output.write_now(f"{clean(text)}\n")

    def _line(self, event: Event) -> str:
        match event:
            case StackOpened():
                return headline(event.stack, len(event.models), event.facts)
            case StepStarted(step=step):
                return step_line(step)
            case Progress():
                return self._progress(event)
            case Note():
                return note_line(event)
            case ModelFinished(report=report):
                return finished_line(report)
            case _:
                return ""

    def _progress(self, event: Progress) -> str:
        text = progress_text(event, self._paces.of(event, self._monotonic()))
        # What a transfer says beside its bytes (`Downloading`, `Extracting`) changes with every layer.
        said = "" if event.done_bytes is not None else _NUMBER.sub("#", event.text)
        news = (event.phase, said, _quarter(event))
        key = (event.model, event.what)
        if self._told.get(key) == news:
            return ""
        self._told[key] = news
        return f"{clean(event.model)}  {text}"


def step_line(step: Step) -> str:
    """`lfm2.5  create nuc-lfm2.5.next: the stack file changed`."""
    who = f"{clean(step.model)}  " if step.model else ""
    return f"{who}{clean(step.title)}" + (f": {clean(step.cause)}" if step.cause else "")


def note_line(note: Note) -> str:
    """A note, with whom it concerns, and whether it warns."""
    who = f"{clean(note.model)}  " if note.model else ""
    return f"{who}{'warning: ' if note.warning else ''}{words.shortened(clean(note.text))}"


def finished_line(report: ModelReport) -> str:
    """`lfm2.5  verified, ready after 3 s`: the proof itself took some time more."""
    after = f", ready after {words.seconds(report.ready_s)}" if report.ready_s is not None else ""
    return f"{clean(report.name)}  {report.state.value}{after}"


def progress_text(event: Progress, pace: Pace | None = None) -> str:
    """`pulling 34 % of 1.6 GiB, 11.2 MiB/s, 2 min left, layer 3 of 5`; of bytes only where there are some."""
    parts: list[str] = [event.phase]
    if event.done_bytes or event.total_bytes:
        if event.total_bytes:
            share = min(100, 100 * (event.done_bytes or 0) // event.total_bytes)
            parts.append(f"{share} % of {words.size(event.total_bytes)}")
        else:
            parts.append(words.size(event.done_bytes or 0))
    else:
        pace = None
    told = [" ".join(parts)]
    if pace is not None:
        told.append(f"{words.size(round(pace.bytes_per_s))}/s")
    if pace is not None and pace.left_s:
        told.append(f"{words.left(pace.left_s)} left")
    if event.text:
        told.append(clean(event.text))
    return ", ".join(told)


def _quarter(event: Progress) -> int:
    if not event.done_bytes or not event.total_bytes:
        return 0
    return min(_QUARTERS, _QUARTERS * event.done_bytes // event.total_bytes)

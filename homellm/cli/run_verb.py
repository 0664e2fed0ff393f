"""What the verbs share: stack file, ports, signals, the sink, the table or the document, the exit code."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from homellm.cli import signals, streams, wiring
from homellm.cli.failures import tell_error, tell_fault
from homellm.cli.options import Common
from homellm.cli.selection import select
from homellm.domain.events import Event, Progress
from homellm.domain.reports import StackReport
from homellm.domain.stack import Stack
from homellm.errors import ExitCode, HomellmError
from homellm.report import json_report
from homellm.report.plain import PlainSink
from homellm.report.problems import problems_text
from homellm.report.stream import Output

if TYPE_CHECKING:
    from homellm.deploy.scope import Scope
    from homellm.deploy.session import Options, Ports

SHOW_CURSOR = b"\x1b[?25h\r\n"

Emit = Callable[[Event], None]
Table = Callable[[StackReport, int | None], str]


@dataclass(frozen=True, slots=True)
class Call:
    """What a verb of deploy is called with; `only` is empty when no model is named."""

    stack: Stack
    only: tuple[str, ...]
    ports: Ports
    scope: Scope
    emit: Emit


class Sink(Protocol):
    """An event sink with a life: what it draws is gone when it is left."""

    def __enter__(self) -> Sink:
        """Begin to draw."""

    def __exit__(self, *exc: object) -> None:
        """Leave the screen as the table expects it."""

    def emit(self, event: Event) -> None:
        """Take one event."""

    def interrupting(self, text: str) -> None:
        """Say that the first Ctrl-C was heard; called from a signal handler."""


class SilentSink:
    """Under --format json nothing but the document is printed."""

    def __enter__(self) -> SilentSink:
        return self

    def __exit__(self, *exc: object) -> None:
        """Nothing is open."""

    def emit(self, event: Event) -> None:
        """Keep silent."""

    def interrupting(self, text: str) -> None:
        """Keep silent."""


class WaitingSink:
    """For a verb that only looks: what it waits for, once that takes its time, on stderr beside the table."""

    def __init__(self, output: Output) -> None:
        self._lines = PlainSink(output)

    def __enter__(self) -> WaitingSink:
        return self

    def __exit__(self, *exc: object) -> None:
        """Set the table apart from what was told."""
        self._lines.__exit__(*exc)

    def emit(self, event: Event) -> None:
        """Take one event."""
        if isinstance(event, Progress) and event.text:
            self._lines.emit(event)

    def interrupting(self, text: str) -> None:
        """Keep silent: what only looks is left at once."""


def prepare(common: Common, models: Sequence[str] | None, *, servers: bool = False) -> tuple[Stack, tuple[str, ...]]:
    """The stack and the models that the command line names, with `servers` its Ollama servers too.

    Raises StackFileError and UsageError.
    """
    stack = wiring.load_stack(common)
    return stack, select(stack, models, servers=servers)


def deploy_options(common: Common, **given: float | bool) -> Options:
    """The options of a verb of deploy, by their names there."""
    from homellm.deploy.session import Options

    return Options(debug=common.debug, **given)  # type: ignore[arg-type]  # each name has one type there


def run_verb(
    common: Common,
    models: Sequence[str] | None,
    act: Callable[[Call], StackReport],
    table: Table,
    *,
    events: bool = True,
    goes_on: str = "",
) -> ExitCode:
    """Load the stack, connect, carry out `act`, tell its report; the exit code.

    `events` shows what happens while it happens; a verb that only looks tells what it waits for. `goes_on` is the
    command that goes on where a second Ctrl-C leaves off; empty for a verb that changes nothing.
    """
    stack, only = prepare(common, models)
    try:
        report, fault = _act(common, stack, only, act, events=events, goes_on=goes_on)
    except HomellmError as error:
        return tell_error(error, common, stack.name)
    tell_report(report, common, table)
    return report.exit_code if fault is None else tell_fault(fault, common, stack.name)


def tell_report(report: StackReport, common: Common, table: Table) -> None:
    """Print a report: the document, or the table on stdout and what concerns no single model on stderr."""
    if common.json:
        streams.write_document(json_report.stack_document(report))
        return
    streams.write_text(common, table(report, streams.screen_width(sys.stdout)))
    streams.errors_output().write(problems_text(report.problems, width=streams.screen_width(sys.stderr)))


def _act(
    common: Common,
    stack: Stack,
    only: tuple[str, ...],
    act: Callable[[Call], StackReport],
    *,
    events: bool,
    goes_on: str,
) -> tuple[StackReport, Exception | None]:
    """The report, and the fault of the sink if it had one."""
    from homellm.deploy.scope import Scope

    ports = wiring.connect()
    scope, out = Scope(), streams.output(common)
    with _sink(common, out, events=events) as sink:
        guard = Guard(sink.emit)
        with signals.cancelling(
            scope.cancel, lambda: sink.interrupting(signals.INTERRUPTING), lambda: _leave(common, goes_on)
        ):
            report = act(Call(stack, only, ports, scope, guard.emit))
    return report, guard.fault


def _leave(common: Common, goes_on: str) -> None:
    """Before the process ends in the middle of everything: give the terminal its cursor back, and say what goes on.

    Called in a signal handler, maybe in the midst of a write to these very streams: it writes to their descriptors.
    """
    if streams.live(common):
        with contextlib.suppress(OSError, ValueError):
            os.write(sys.stdout.fileno(), SHOW_CURSOR)
    if goes_on:
        with contextlib.suppress(OSError, ValueError, AttributeError):  # there may be no stderr at all
            os.write(sys.stderr.fileno(), signals.left(goes_on))


def _sink(common: Common, out: Output, *, events: bool) -> AbstractContextManager[Sink]:
    if common.json:
        return SilentSink()
    if not events:
        return WaitingSink(streams.errors_output())
    if streams.live(common):
        from homellm.report.terminal import TerminalSink

        return TerminalSink(out)
    return PlainSink(out)


class Guard:
    """A fault in what is drawn must not end a swap half way: it is kept, and told when the verb is through."""

    def __init__(self, emit: Emit) -> None:
        self._emit = emit
        self.fault: Exception | None = None

    def emit(self, event: Event) -> None:
        """Hand an event on until one makes the sink fail."""
        if self.fault is not None:
            return
        try:
            self._emit(event)
        except Exception as error:  # noqa: BLE001 - whatever it is, the deployment goes on
            self.fault = error

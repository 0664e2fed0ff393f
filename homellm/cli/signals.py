"""Ctrl-C, SIGTERM and SIGHUP: the first asks the verb to undo what it began, the second leaves at once.

SIGHUP is a connection that was lost. It comes twice, from the kernel and from the shell that it ends as well, so it
is never the second one.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from homellm.errors import ExitCode

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

INTERRUPTING = "interrupted: what was begun is being taken back (once more leaves at once)"


def left(goes_on: str) -> bytes:
    """The last line of a process that a second signal ends; `goes_on` is the command that goes on."""
    return f"left in the middle: {goes_on} goes on from here.\n".encode()


@contextmanager
def cancelling(
    cancel: Callable[[], None], on_first: Callable[[], None], on_leave: Callable[[], None]
) -> Iterator[None]:
    """Handle the signals while the body runs.

    The first one calls `on_first` in the handler and `cancel` in a thread of its own: a handler runs in the middle of
    whatever the main thread does and must take no lock. The second one calls `on_leave` and ends the process with
    130, whatever still runs. A signal that was ignored when homellm began (`nohup`, `&` in a script) stays ignored.
    """
    heard = False

    def handler(number: int, _frame: FrameType | None) -> None:
        nonlocal heard
        if heard and number == signal.SIGHUP:
            return
        if heard:
            on_leave()
            os._exit(ExitCode.INTERRUPTED)
        heard = True
        threading.Thread(target=cancel, daemon=True, name="homellm-cancel").start()
        on_first()

    before = {number: signal.getsignal(number) for number in _SIGNALS}
    handled = [number for number in _SIGNALS if before[number] is not signal.SIG_IGN]
    for number in handled:
        signal.signal(number, handler)
    try:
        yield
    finally:
        for number in handled:
            signal.signal(number, before[number])


class Stopped(BaseException):
    """A signal where nothing has to be undone; like KeyboardInterrupt, no `except Exception` catches it."""


@contextmanager
def stopping() -> Iterator[None]:
    """The signals raise Stopped while the body runs, but for those that somebody else handles or ignores."""

    def handler(_number: int, _frame: FrameType | None) -> None:
        raise Stopped

    before = {number: signal.getsignal(number) for number in _SIGNALS}
    handled = [number for number in _SIGNALS if before[number] in (signal.SIG_DFL, signal.default_int_handler)]
    for number in handled:
        signal.signal(number, handler)
    try:
        yield
    finally:
        for number in handled:
            signal.signal(number, before[number])

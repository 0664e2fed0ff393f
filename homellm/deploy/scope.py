"""What a verb has open, so that one Ctrl-C ends it: streams to close and waits to end."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from homellm.errors import Interrupted


class Scope:
    """The life of a verb. `cancel` may be called from a signal handler: it only sets a flag and closes streams.

    A scope that is shielded (see `shielded`) is for the undo: it is not cancelled by the first Ctrl-C.
    """

    def __init__(self) -> None:
        self._cancelled = threading.Event()
        self._closers: dict[int, Callable[[], None]] = {}
        self._lock = threading.RLock()  # re-entrant: a signal handler may run while this thread registers

    @property
    def cancelled(self) -> bool:
        """Whether Ctrl-C came."""
        return self._cancelled.is_set()

    def cancel(self) -> None:
        """End every wait and stream of this scope; may be called twice and from any thread."""
        self._cancelled.set()
        with self._lock:
            closers = list(self._closers.values())
        for close in closers:
            close()

    def check(self) -> None:
        """Raise Interrupted when cancelled."""
        if self.cancelled:
            raise Interrupted("interrupted")

    def wait(self, timeout_s: float) -> bool:
        """Wait for a cancellation; whether it came."""
        return self._cancelled.wait(timeout_s)

    @contextmanager
    def closing(self, close: Callable[[], None]) -> Iterator[None]:
        """Have `close` called when the scope is cancelled (at once, if it already is), and at the end in any case."""
        with self._lock:
            self._closers[id(close)] = close
        if self.cancelled:
            close()
        try:
            yield
        finally:
            with self._lock:
                self._closers.pop(id(close), None)
            close()


def shielded() -> Scope:
    """A scope for an undo: it belongs to nobody's Ctrl-C."""
    return Scope()

"""Whether a server that starts is ready, from its log alone."""

from __future__ import annotations

from typing import Literal

from homellm.domain.signals import Signal
from homellm.errors import Problem
from homellm.health.process import ProcessState

LoadingState = Literal["loading", "ready", "failed"]


class Readiness:
    """A fold of the signals of one server's log: loading, then ready or failed.

    `reason` is why it failed, as far as lines told so far. A server that sleeps is ready; one that is loaded again
    after that is still answered for by the log. Lines that a client wrote into its prompt change nothing.
    """

    def __init__(self) -> None:
        self._process = ProcessState()
        self.reason: Problem | None = None

    def add(self, signal: Signal) -> LoadingState:
        """Take one signal; the state after it."""
        if self._process.add(signal) and signal.problem and signal.fatal and not self.ready:
            self.reason = self.reason or Problem(id=signal.id, message=signal.line, hint=signal.hint)
        if self.ready:
            self.reason = None
        return self.state

    @property
    def state(self) -> LoadingState:
        """The state after the last signal."""
        if self.ready:
            return "ready"
        return "failed" if self._process.load.failed else "loading"

    @property
    def ready(self) -> bool:
        """Whether it serves."""
        return self._process.load.ready

    @property
    def failed(self) -> bool:
        """Whether it can no longer become ready."""
        return self.state == "failed"

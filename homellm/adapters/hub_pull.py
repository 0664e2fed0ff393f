"""A pull of model files as a stream of progress, given up from any thread."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable

from homellm.adapters.background_pull import BackgroundPull
from homellm.adapters.hub_transfer import GivenUp
from homellm.ports import PullProgress

#: How often a pull tells how far it is.
TELL_S = 0.25


class HubPull(BackgroundPull):
    """A pull under way. Raises PullFailed where it is iterated.

    `close` ends the iteration at once, whatever the network does; the thread itself ends at its next look, and what it
    has brought until then stays for the next time.
    """

    def __init__(
        self, work: Callable[[HubPull], None], total_bytes: int, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        super().__init__("homellm-hub")
        self._monotonic = monotonic
        self._work = work
        self._total = total_bytes
        self._name = ""
        self._before = 0
        self._done = 0
        self._told = 0.0

    def _cut(self) -> None:
        """Nothing is cut: the thread ends at its next look."""

    def _bring(self) -> None:
        with contextlib.suppress(GivenUp):
            self._work(self)

    # --- for the work that was passed in

    def begin(self, name: str, here_bytes: int) -> None:
        """A file is begun, of which some bytes are here."""
        self._name, self._done = name, here_bytes
        self._tell_of(name)

    def end(self, size_bytes: int) -> None:
        """A file is whole."""
        self._before += size_bytes
        self._done = 0
        self._tell_of(self._name)

    def moved(self, count: int) -> None:
        """Bytes that came; told now and then."""
        self._done += count
        if self._monotonic() - self._told >= TELL_S:
            self._tell_of(self._name)

    def waiting(self, name: str) -> None:
        """Somebody else brings the file."""
        self.check()
        self._tell_of(f"{name}: another program brings it")

    def check(self) -> None:
        """Raise GivenUp after `close`."""
        if self._closed.is_set():
            raise GivenUp

    def pause(self, seconds: float) -> None:
        """Wait, at most until `close`."""
        self._closed.wait(seconds)

    def _tell_of(self, text: str) -> None:
        self._told = self._monotonic()
        self._tell(PullProgress(text, self._before + self._done, self._total))

"""A pull of model files as a stream of progress, given up from any thread."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Iterator

from homellm.adapters.hub_transfer import GivenUp
from homellm.ports import PullProgress

#: How often a pull tells how far it is, and how soon one that is given up ends.
TELL_S = 0.25


class HubPull:
    """A pull under way, implements ports.PullStream. The work is done in a daemon thread.

    So `close` ends the iteration within moments, whatever the network does; the thread itself ends at its next look,
    and what it has brought until then stays for the next time.
    """

    def __init__(
        self, work: Callable[[HubPull], None], total_bytes: int, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._monotonic = monotonic
        self._work = work
        self._total = total_bytes
        self._news: queue.SimpleQueue[PullProgress | BaseException | None] = queue.SimpleQueue()
        self._closed = threading.Event()
        self._name = ""
        self._before = 0
        self._done = 0
        self._told = 0.0

    def __iter__(self) -> Iterator[PullProgress]:
        """Progress until the model is here. Raises PullFailed."""
        if not self._closed.is_set():
            threading.Thread(target=self._run, name="homellm-hub", daemon=True).start()
        while not self._closed.is_set():
            try:
                news = self._news.get(timeout=TELL_S)
            except queue.Empty:
                continue
            if news is None:
                return
            if isinstance(news, BaseException):
                raise news
            yield news

    def close(self) -> None:
        """Give up the pull; safe to call twice and from any thread."""
        self._closed.set()

    # --- for the thread that works

    def _run(self) -> None:
        try:
            self._work(self)
            self._news.put(None)
        except GivenUp:
            self._news.put(None)
        except BaseException as error:  # noqa: BLE001 - carried to whoever iterates, and raised there
            self._news.put(error)

    def begin(self, name: str, here_bytes: int) -> None:
        """A file is begun, of which some bytes are here."""
        self._name, self._done = name, here_bytes
        self._tell(name)

    def end(self, size_bytes: int) -> None:
        """A file is whole."""
        self._before += size_bytes
        self._done = 0
        self._tell(self._name)

    def moved(self, count: int) -> None:
        """Bytes that came; told now and then."""
        self._done += count
        if self._monotonic() - self._told >= TELL_S:
            self._tell(self._name)

    def waiting(self, name: str) -> None:
        """Somebody else brings the file."""
        self.check()
        self._tell(f"{name}: another program brings it")

    def check(self) -> None:
        """Raise GivenUp after `close`."""
        if self._closed.is_set():
            raise GivenUp

    def pause(self, seconds: float) -> None:
        """Wait, at most until `close`."""
        self._closed.wait(seconds)

    def _tell(self, text: str) -> None:
        self._told = self._monotonic()
        self._news.put(PullProgress(text, self._before + self._done, self._total))

"""A pull whose work is done in a thread, so that giving it up never waits for whoever is asked."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator
from queue import Empty, SimpleQueue

from homellm.ports import PullProgress

_LOOK_UP_S = 0.1


class BackgroundPull(ABC):
    """Implements ports.PullStream: a daemon thread brings what is pulled and tells how far it is.

    The one that is asked may answer nothing at all for a long time, and `close` must end the iteration even then.
    """

    def __init__(self, thread_name: str) -> None:
        self._thread_name = thread_name
        self._closed = threading.Event()
        self._news: SimpleQueue[PullProgress | BaseException | None] = SimpleQueue()

    def __iter__(self) -> Iterator[PullProgress]:
        """Progress until it is here; ends early after `close`. Raises what the bringing raised."""
        if not self._closed.is_set():
            threading.Thread(target=self._run, name=self._thread_name, daemon=True).start()
        try:
            while not self._closed.is_set():
                try:
                    news = self._news.get(timeout=_LOOK_UP_S)
                except Empty:
                    continue  # the main thread must come round for a signal's handler to run
                if news is None:
                    return
                if isinstance(news, BaseException):
                    raise news
                yield news
        finally:
            self.close()

    def close(self) -> None:
        """Give it up; safe to call twice and from any thread."""
        self._closed.set()
        self._news.put(None)
        self._cut()

    # --- for the thread that works

    @abstractmethod
    def _bring(self) -> None:
        """Bring it, telling progress by `_tell`, and return early once `_closed` is set."""

    @abstractmethod
    def _cut(self) -> None:
        """End what `_bring` waits for, if anything; called at every close."""

    def _tell(self, progress: PullProgress) -> None:
        self._news.put(progress)

    def _run(self) -> None:
        try:
            self._bring()
        except BaseException as error:  # noqa: BLE001 - it is raised again where the stream is iterated
            self._news.put(error)
        else:
            self._news.put(None)

"""Bringing an image: progress over all layers, three tries when the registry does not answer, and a way to give up.

The engine is reached through what is passed in; this module knows only the lines that it sends.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Protocol

from homellm.adapters.background_pull import BackgroundPull
from homellm.adapters.docker_pull_errors import is_transient, pull_failure
from homellm.errors import HomellmError, PullFailed
from homellm.ports import PullProgress

#: Seconds before the second and the third try.
WAITS_S = (2.0, 5.0)

_DONE = re.compile(r"Download complete|Verifying Checksum|Extracting|Pull complete")


class PullRefused(Exception):
    """The engine answered the request for a pull with this text."""


class Counter(Protocol):
    """Sums bytes over the lines of one pull."""

    def take(self, line: Mapping[str, object]) -> PullProgress:
        """The sum after one more line."""


class PullConnection(Protocol):
    """One request for a pull under way."""

    def lines(self) -> Iterator[Mapping[str, object]]:
        """The engine's progress, one JSON object after another."""

    def close(self) -> None:
        """Cut the connection; the engine then gives up the pull. Safe from any thread."""


class Pull(BackgroundPull):
    """A pull in up to three tries. `connect` opens a request (raising PullRefused), `is_here` tells whether it is done.

    `failure` makes the error of what is pulled and the source's own text, `counter` reads its lines: other sources than
    the engine have others.

    While the engine waits for a registry it answers nothing at all. Raises PullFailed where it is iterated.
    """

    def __init__(
        self,
        ref: str,
        connect: Callable[[], PullConnection],
        is_here: Callable[[], bool],
        *,
        waits_s: tuple[float, ...] = WAITS_S,
        failure: Callable[[str, str], HomellmError] = pull_failure,
        counter: Callable[[], Counter] | None = None,
    ) -> None:
        super().__init__(f"pull {ref}")
        self._ref = ref
        self._failure = failure
        self._counter = counter or Layers
        self._connect = connect
        self._is_here = is_here
        self._waits_s = waits_s
        self._lock = threading.Lock()
        self._connection: PullConnection | None = None
        self._last = PullProgress("", 0, 0)

    def _cut(self) -> None:
        with self._lock:
            connection, self._connection = self._connection, None
        if connection:
            connection.close()

    def _bring(self) -> None:
        from tenacity import (  # noqa: PLC0415 - heavy, and needed by pulls alone
            RetryCallState,
            Retrying,
            retry_if_exception,
            sleep_using_event,
            stop_after_attempt,
            stop_when_event_set,
            wait_chain,
            wait_fixed,
        )

        tries = len(self._waits_s) + 1

        def notice(state: RetryCallState) -> None:
            error = state.outcome.exception() if state.outcome else None
            status = f"{error} Try {state.attempt_number + 1} of {tries} in {state.upcoming_sleep:g} s."
            self._tell(PullProgress(status, self._last.done_bytes, self._last.total_bytes))

        Retrying(
            stop=stop_after_attempt(tries) | stop_when_event_set(self._closed),
            wait=wait_chain(*(wait_fixed(wait_s) for wait_s in self._waits_s)) if self._waits_s else wait_fixed(0),
            retry=retry_if_exception(lambda error: isinstance(error, PullFailed) and is_transient(error)),
            sleep=sleep_using_event(self._closed),
            before_sleep=notice,
            reraise=True,
        )(self._try_once)

    def _try_once(self) -> None:
        try:
            connection = self._connect()
        except PullRefused as refused:
            raise self._failure(self._ref, str(refused)) from refused
        with self._lock:
            self._connection = connection
        try:
            # `close` may have come before the connection was known to it.
            if not self._closed.is_set():
                self._read(connection)
        finally:
            with self._lock:
                self._connection = None
            connection.close()

    def _read(self, connection: PullConnection) -> None:
        layers = self._counter()
        for line in connection.lines():
            if "error" in line:
                raise self._failure(self._ref, str(line["error"]))
            self._last = layers.take(line)
            self._tell(self._last)
        if not self._closed.is_set() and not self._is_here():
            raise self._failure(self._ref, "unexpected EOF: the pull ended and is not whole")


class Layers:
    """Bytes over all layers, from the engine's lines about each of them."""

    def __init__(self) -> None:
        self._layers: dict[str, tuple[int, int]] = {}

    def take(self, line: Mapping[str, object]) -> PullProgress:
        """The sum after one more line."""
        status, layer = str(line.get("status", "")), str(line.get("id", ""))
        detail = line.get("progressDetail")
        done, total = _numbers(detail) if isinstance(detail, Mapping) else (None, None)
        if status == "Downloading" and done is not None:
            known = self._layers.get(layer, (0, 0))[1]
            self._layers[layer] = (done, max(total or known, done))
        elif _DONE.match(status) and layer in self._layers:
            size = self._layers[layer][1]
            self._layers[layer] = (size, size)
        return PullProgress(
            status,
            sum(done for done, _ in self._layers.values()),
            sum(total for _, total in self._layers.values()),
        )


def _numbers(detail: Mapping[str, object]) -> tuple[int | None, int | None]:
    current, total = detail.get("current"), detail.get("total")
    return (current if isinstance(current, int) else None, total if isinstance(total, int) else None)

"""Follow a container until its server is ready or has failed: one queue, fed by threads that block (design rule 8)."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from dataclasses import dataclass

from homellm.deploy.scope import Scope
from homellm.deploy.session import Ports
from homellm.deploy.witness import OK, find_url
from homellm.domain.signals import Signal
from homellm.domain.world import NEVER, Container
from homellm.errors import HomellmError
from homellm.health.lines import LineDecoder
from homellm.health.signals import read_line
from homellm.ports import Stream

#: How often the process is looked at; the log itself is followed, not polled.
TICK_S = 0.25


@dataclass(frozen=True, slots=True)
class LogLine:
    """A line came; `signal` is what it means, None when it means nothing to us."""

    signal: Signal | None


@dataclass(frozen=True, slots=True)
class LogEnded:
    """The log stream ended: the container did, or the stream was cut. `error` is why, when the engine said so."""

    error: HomellmError | None = None


@dataclass(frozen=True, slots=True)
class Health:
    """What /health says: whether the server is ready."""

    ok: bool


@dataclass(frozen=True, slots=True)
class Progress:
    """A number that changes while the server works at all: bytes resident and read."""

    amount: int


@dataclass(frozen=True, slots=True)
class Broken:
    """A thread met what it did not expect; raised where the happenings are read, for a dead thread would be a hang."""

    error: BaseException


Happening = LogLine | LogEnded | Health | Progress | Broken


def since(container: Container) -> str | None:
    """From when a container's log belongs to its present run: since the end of the run before, if there was one.

    Since StartedAt would lose the first lines (seen by running): the engine stamps some before it. For a container
    that has ended, FinishedAt is the end of the very run in question: then the whole log is read, whose summary is
    that of its last load.
    """
    return container.finished_at if container.running and container.finished_at != NEVER else None


class Follower:
    """Feeds `happenings` from a log stream and from looks at the process, until it is closed."""

    def __init__(self, container: Container, ports: Ports, scope: Scope) -> None:
        self.happenings: queue.Queue[Happening] = queue.Queue()
        self._container = container
        self._ports = ports
        self._scope = scope
        self._closed = threading.Event()
        self._stream: Stream | None = None

    def start(self) -> None:
        """Begin to follow."""
        self.reopen()
        # Apart from each other: a server that accepts and does not answer must not hide that it is at work.
        self._spawn(lambda: self._watch(self._health))
        self._spawn(lambda: self._watch(self._progress))

    def reopen(self) -> None:
        """Follow the log from the beginning of this run, at first and after the stream was cut.

        A log that cannot be read is told as one that ended.
        """
        try:
            stream = self._ports.engine.logs(self._container.id, since=since(self._container), follow=True)
        except HomellmError as error:
            self.happenings.put(LogEnded(error))
            return
        self._stream = stream
        self._spawn(lambda: self._read(stream))

    def close(self) -> None:
        """End the threads; safe to call twice."""
        self._closed.set()
        if self._stream is not None:
            self._stream.close()

    def _spawn(self, work: Callable[[], None]) -> None:
        # Daemon threads: one that hangs in a system call must not keep the process from leaving.
        threading.Thread(target=self._guarded, args=(work,), daemon=True).start()

    def _guarded(self, work: Callable[[], None]) -> None:
        try:
            work()
        except BaseException as error:  # noqa: BLE001 - raised again by who reads the happenings
            self.happenings.put(Broken(error))

    def _read(self, stream: Stream) -> None:
        error: HomellmError | None = None
        decoder = LineDecoder()
        try:
            for frame in stream:
                for line in decoder.feed(frame):
                    self.happenings.put(LogLine(read_line(line)))
            for line in decoder.finish():
                self.happenings.put(LogLine(read_line(line)))
        except HomellmError as gone:
            error = gone
        if not self._closed.is_set():
            self.happenings.put(LogEnded(error))

    def _watch(self, look: Callable[[], Happening]) -> None:
        while not self._closed.wait(TICK_S) and not self._scope.cancelled:
            try:
                self.happenings.put(look())
            except HomellmError:
                continue  # the engine is away: the log stream tells that too, and is waited on

    def _health(self) -> Happening:
        url, reply = find_url(self._container, self._ports.http)
        return Health(ok=bool(url) and reply.status == OK)

    def _progress(self) -> Happening:
        """By the process itself where /proc can be read, else by the engine's own statistics."""
        process = self._ports.host.process(self._container)
        if process is not None:
            return Progress(process.resident_bytes + (process.read_bytes or 0))
        return Progress(self._ports.engine.memory_usage(self._container.id) or 0)

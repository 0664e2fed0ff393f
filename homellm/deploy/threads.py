"""Work for several models at once: daemon threads that put events on one queue, which the calling thread reads."""

from __future__ import annotations

import contextlib
import queue
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar, cast

from homellm.deploy.scope import Scope
from homellm.deploy.session import Emit
from homellm.domain.events import Event

Result = TypeVar("Result")
Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class _Done(Generic[Result]):
    key: str
    result: Result | None
    error: BaseException | None


def side_by_side(work: Mapping[str, Callable[[Emit], Result]], emit: Emit) -> dict[str, Result]:
    """Run every piece of work in a thread of its own and give their results by key.

    `emit` is called from the calling thread alone. A piece of work turns the errors that it expects into results; what
    it raises all the same is raised here once the others have ended, which may be in the middle of a swap.
    """
    happenings: queue.Queue[Event | _Done[Result]] = queue.Queue()

    def run(key: str, piece: Callable[[Emit], Result]) -> None:
        try:
            happenings.put(_Done(key, piece(happenings.put), None))
        except BaseException as error:  # noqa: BLE001 - carried to the calling thread and raised there
            happenings.put(_Done(key, None, error))

    for key, piece in work.items():
        threading.Thread(target=run, args=(key, piece), name=f"homellm-{key}", daemon=True).start()
    results: dict[str, Result] = {}
    faults: list[Exception] = []
    while len(results) + len(faults) < len(work):
        happening = next_of(happenings)
        if not isinstance(happening, _Done):
            emit(happening)
            continue
        if isinstance(happening.error, Exception):
            faults.append(happening.error)
        elif happening.error is not None:
            raise happening.error
        else:
            results[happening.key] = cast("Result", happening.result)
    if faults:
        raise faults[0]
    return results


def next_of(happenings: queue.Queue[Item]) -> Item:
    """The next one, whenever it comes, for a main thread that Ctrl-C must reach meanwhile.

    A signal's handler runs in the main thread, between two steps of Python. One that comes while that thread is about
    to block, or that the kernel gives to another thread, wakes nobody: so it is blocked for moments alone.
    """
    while True:
        try:
            return happenings.get(timeout=_LOOK_UP_S)
        except queue.Empty:
            continue


def apart(work: Callable[[], Result], scope: Scope) -> Result:
    """Do what blocks and cannot be closed in a daemon thread. Raises Interrupted on Ctrl-C, and waits no longer."""
    results: queue.SimpleQueue[_Done[Result]] = queue.SimpleQueue()

    def run() -> None:
        try:
            results.put(_Done("", work(), None))
        except BaseException as error:  # noqa: BLE001 - carried to the calling thread and raised there
            results.put(_Done("", None, error))

    threading.Thread(target=run, name="homellm-apart", daemon=True).start()
    while True:
        scope.check()
        try:
            done = results.get(timeout=_LOOK_UP_S)
        except queue.Empty:
            continue
        if done.error is not None:
            raise done.error
        return cast("Result", done.result)


def ahead(work: Callable[[], object]) -> None:
    """Do in a daemon thread what will be needed, an import say, while the calling one waits for the engine.

    Whoever needs it does it again, and finds it done or waits for it; so what it raises is raised there.
    """

    def run() -> None:
        with contextlib.suppress(Exception):
            work()

    threading.Thread(target=run, name="homellm-ahead", daemon=True).start()


class Turns:
    """Loads on one device come one after another: two at once slow each other and reckon with wrong memory."""

    def __init__(self) -> None:
        self._locks: dict[str, threading.Lock] = {}
        self._guard = threading.Lock()

    def take(self, device: str, scope: Scope) -> threading.Lock:
        """Wait for the turn on a device and give its lock, held. Raises Interrupted on Ctrl-C."""
        with self._guard:
            lock = self._locks.setdefault(device, threading.Lock())
        while not lock.acquire(timeout=_LOOK_UP_S):
            scope.check()
        return lock


_LOOK_UP_S = 0.1

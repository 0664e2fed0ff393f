"""Which models are loaded: one load at a time, a reload when options differ, an end when nobody asked for a while."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime

from standin.child import Child, Load, Options, memory, options_of, plan, slot_ctx
from standin.gguf import BadGguf, read_whole_gguf
from standin.gpus import Gpu
from standin.journal import Journal
from standin.settings import Knobs, Settings, read_seconds
from standin.store import Model
from standin.words import FOREVER_S, later, utc_now

DEFAULT_CTX = 4096
MODELS_PER_GPU = 3
ABORT_PAUSE_S = 0.25


class ApiError(Exception):
    """An answer that is an error: its status and its text."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status, self.text = status, text


class Runner:
    """A loaded model. `busy` counts the requests that use it."""

    def __init__(self, child: Child, asked: Options, session_s: float) -> None:
        self.child, self.asked, self.session_s = child, asked, session_s
        self.slots = threading.BoundedSemaphore(child.load.slots)
        self.busy = 0
        self.expires: datetime = later(utc_now(), session_s)
        self.deadline = time.monotonic() + session_s

    @property
    def load(self) -> Load:
        return self.child.load

    def serves(self, options: Options, default_ctx: int) -> bool:
        """Whether a request with these options may use it as it is."""
        same = self.asked
        if options.num_gpu is not None and options.num_gpu >= 0 and options.num_gpu != same.num_gpu:
            return False
        if (options.num_batch, options.num_thread) != (same.num_batch, same.num_thread):
            return False
        return self.load.ctx == slot_ctx(self.load.model, options, default_ctx)[1]


class Scheduler:
    """All loaded models of this server."""

    def __init__(self, settings: Settings, knobs: Knobs, journal: Journal, gpu: Gpu | None) -> None:
        self.settings, self.knobs, self.journal = settings, knobs, journal
        self.gpu = gpu if gpu and gpu.taken(settings) else None
        self.default_ctx = settings.context_length or DEFAULT_CTX
        self._runners: dict[str, Runner] = {}
        self._state = threading.Condition()
        self._turn = threading.Lock()
        self._pending = 0
        threading.Thread(target=self._expire, daemon=True).start()

    @contextmanager
    def runner(
        self, model: Model, options: dict[str, object] | None, keep_alive_s: float | None, gone: Callable[[], bool]
    ) -> Iterator[Runner]:
        """The model, loaded as asked, held for as long as the block lasts. Raises ApiError."""
        asked = options_of(model.params, options)
        runner = self._taken(model, asked, keep_alive_s) or self._queued(model, asked, keep_alive_s, gone)
        try:
            yield runner
        finally:
            with self._state:
                runner.busy -= 1
                self._touch(runner)
                self._state.notify_all()

    def loaded(self) -> list[Runner]:
        with self._state:
            return sorted(self._runners.values(), key=lambda runner: int(runner.expires.timestamp()), reverse=True)

    def unload(self, model: Model) -> None:
        """Let it go as soon as nobody uses it."""
        with self._state:
            runner = self._runners.get(str(model.blob))
            if runner:
                runner.session_s = 0
                self._touch(runner)
                self._state.notify_all()
                self._state.wait_for(lambda: self._runners.get(str(model.blob)) is not runner, 5)

    def _taken(self, model: Model, asked: Options, keep_alive_s: float | None) -> Runner | None:
        with self._state:
            runner = self._runners.get(str(model.blob))
            if runner is None or runner.child.ended or not runner.serves(asked, self.default_ctx):
                return None
            return self._take(runner, keep_alive_s)

    def _take(self, runner: Runner, keep_alive_s: float | None) -> Runner:
        runner.busy += 1
        if keep_alive_s is not None:
            runner.session_s = keep_alive_s
        return runner

    def _touch(self, runner: Runner) -> None:
        runner.expires = later(utc_now(), runner.session_s)
        runner.deadline = time.monotonic() + runner.session_s

    def _queued(self, model: Model, asked: Options, keep_alive_s: float | None, gone: Callable[[], bool]) -> Runner:
        with self._state:
            # One is being worked on; as many as the queue holds may wait behind it.
            if self._pending > self.settings.max_queue:
                raise ApiError(503, "server busy, please try again.  maximum pending requests exceeded")
            self._pending += 1
        try:
            with self._turn:
                if gone():
                    raise ApiError(499, "request canceled")
                if runner := self._taken(model, asked, keep_alive_s):
                    return runner
                self._make_room(model)
                return self._load(model, asked, keep_alive_s, gone)
        finally:
            with self._state:
                self._pending -= 1

    def _make_room(self, model: Model) -> None:
        most = self.settings.max_loaded or MODELS_PER_GPU
        with self._state:
            while True:
                victim = self._runners.get(str(model.blob))
                if victim is None and len(self._runners) >= most:
                    victim = min(self._runners.values(), key=lambda runner: (runner.busy, runner.deadline))
                if victim is None:
                    return
                self._state.wait_for(lambda runner=victim: runner.busy == 0)
                self._drop(victim)

    def _drop(self, runner: Runner) -> None:
        key = str(runner.load.model.blob)
        if self._runners.get(key) is runner:
            del self._runners[key]
        runner.child.kill()
        self._state.notify_all()

    def _load(self, model: Model, asked: Options, keep_alive_s: float | None, gone: Callable[[], bool]) -> Runner:
        slots = self._slots(model)
        try:
            assert model.blob
            read_whole_gguf(model.blob)
        except BadGguf as error:
            self.journal.unreadable(model, str(error))
            raise ApiError(500, str(error)) from error
        load = plan(model, asked, self.default_ctx, slots, self.settings, None if asked.num_gpu == 0 else self.gpu)
        self.journal.loading(load, memory())
        if self.knobs.load_delay_s:
            self.journal.waiting("not responding")
            self._delay(load, gone)
        child = Child(load, lambda line: self.journal.child_said(line, load))
        self._until_ready(child, gone)
        runner = Runner(child, asked, self.settings.keep_alive_s if keep_alive_s is None else keep_alive_s)
        with self._state:
            self._runners[str(model.blob)] = self._take(runner, keep_alive_s)
            count = len(self._runners)
        self.journal.loaded(load, lambda: child.seconds, count)
        return runner

    def _slots(self, model: Model) -> int:
        if found := self.settings.is_invalid("OLLAMA_NUM_PARALLEL"):
            self.journal.invalid(found)
        if found := self.settings.is_invalid("OLLAMA_CONTEXT_LENGTH"):
            self.journal.invalid(found)
        slots = max(self.settings.parallel, 1)
        if model.capabilities == ["embedding"]:
            return 1
        if slots > 1 and model.family in self.knobs.refused:
            self.journal.refused(model.family)
            return 1
        return slots

    def _delay(self, load: Load, gone: Callable[[], bool]) -> None:
        end = time.monotonic() + self.knobs.load_delay_s
        while time.monotonic() < end:
            self._abort_if(load, gone)
            time.sleep(0.02)

    def _abort_if(self, load: Load, gone: Callable[[], bool], child: Child | None = None) -> None:
        if gone():
            self.journal.aborted()
            if child:
                child.kill()
            self.journal.load_failed(load, f"timed out waiting for {self.journal.process} to start: context canceled")
            raise ApiError(499, "request canceled")

    def _until_ready(self, child: Child, gone: Callable[[], bool]) -> None:
        last = "not responding" if self.knobs.load_delay_s else ""
        if self.knobs.dies and self.knobs.dies[1] in ("", child.load.model.family):
            child.kill(self.knobs.dies[0])
        while True:
            if child.ended:
                self._dead(child)
            self._abort_if(child.load, gone, child)
            if time.monotonic() > child.activity + self.settings.load_timeout_s:
                child.kill()
                error = f"timed out waiting for {self.journal.process} to start - "
                self.journal.load_failed(child.load, error)
                raise ApiError(500, error)
            status = child.status()
            if status == "ready":
                return
            if status != last:
                self.journal.waiting(status)
            last = status
            self._pause(child)

    def _pause(self, child: Child) -> None:
        end = time.monotonic() + ABORT_PAUSE_S
        while time.monotonic() < end and not child.ended:
            time.sleep(0.01)

    def _dead(self, child: Child) -> None:
        error = self.journal.dead(child.load, *child.death())
        self.journal.load_failed(child.load, error)
        raise ApiError(500, error)

    def _expire(self) -> None:
        while True:
            with self._state:
                idle = [runner for runner in self._runners.values() if runner.busy == 0]
                for runner in idle:
                    if time.monotonic() >= runner.deadline:
                        self._drop(runner)
                nearest = min((runner.deadline for runner in self._runners.values() if runner.busy == 0), default=0)
                self._state.wait(min(max(nearest - time.monotonic(), 0.01), 60) if nearest else None)


def keep_alive_of(value: object) -> float | None:
    """Seconds of a request's `keep_alive`: a number, or a duration as text; below zero is for ever."""
    if value is None:
        return None
    seconds = float(value) if isinstance(value, int | float) else read_seconds(str(value), 300.0)
    return FOREVER_S if seconds < 0 else seconds

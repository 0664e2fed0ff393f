"""An Ollama server as its log tells it: its loads in their order, each with what its runner told.

Loads of one server come one after another even when two requests arrive at once (facts of 0.24 and 0.33): the refusal
belongs to the model of the next `starting` line, and what a runner says to the one before it.
"""

from __future__ import annotations

import re
from collections import OrderedDict, deque
from collections.abc import Mapping
from dataclasses import replace

from homellm.domain.evidence import Load, LogSummary
from homellm.domain.signals import Fact, Signal
from homellm.health.devices import CPU, full_name, on_host
from homellm.health.problems import Problems
from homellm.health.process import ProcessState
from homellm.health.rules_ollama import is_ollama
from homellm.health.summarise import summarise

#: A log of months has thousands of loads; the last ones are kept.
MOST_LOADS = 256
_MOST_BLOBS = 64
#: The runner listens on the loopback of its container alone, whatever it warns of.
_NOT_FOR_RUNNERS = frozenset(("no-auth",))
_FOLDER = re.compile(r"\w[\w.-]*")
_FORCED = (
    "A client asked with a num_ctx of its own, and Ollama loaded the model anew for it, and again for the next client "
    "without one. Remove num_ctx from that client, or give it a derived model. Two models on the same weights with "
    "another num_ctx each do the same."
)
#: Not that of a llama-server: it is Ollama itself that cannot read the file.
_UNREAD = (
    "This Ollama cannot read the file: what its engine looks for is not in it. Take a newer Ollama, or another GGUF of "
    "the same model."
)


class RunnerState:
    """One load: what was asked of the runner and what it said."""

    def __init__(self, start: Signal, refused: str | None) -> None:
        self.start = start
        self.refused = refused
        self.process = ProcessState()
        self.started = False
        self.failed = False
        self.commit: Signal | None = None
        self.weights: set[str] = set()
        self.own_format = False

    def add(self, signal: Signal) -> None:
        """Take one of Ollama's own signals about it."""
        match signal.id:
            case "ollama-commit":
                self.commit = signal
            case "ollama-started":
                self.started = True
            case "ollama-weights" if len(self.weights) < _MOST_BLOBS:
                self.weights.add(str(signal.facts.get("device")))
            case "load-failed":
                self.failed = True
            case "offload":
                self.process.load.add(signal)

    @property
    def blob(self) -> str:
        """`sha256-<hex>` of the model, or its path."""
        return str(self.start.facts.get("blob"))

    @property
    def slots(self) -> int | None:
        """Slots in the runner's own words; those that it was started with only when it says nothing and runs."""
        said = self.process.load.slots or _int(self.commit, "slots") or _context(self.process, "n_seq_max")
        return said or (_int(self.start, "slots") if self.started else None)

    @property
    def ctx(self) -> int | None:
        """Tokens of one slot; Ollama's own lines count those of all slots together."""
        if self.process.load.ctx is not None:
            return self.process.load.ctx
        return _share(self.commit) or _context(self.process, "n_ctx_seq") or _context(self.process, "n_ctx_per_seq")

    @property
    def asked_ctx(self) -> int | None:
        """Tokens of one slot that Ollama asked for."""
        return _share(self.start) or _share(self.commit)

    @property
    def ready(self) -> bool:
        """Whether it was loaded."""
        return not self.failed and (self.started or self.process.load.ready)

    def device(self, names: dict[str, str], cpu_only: bool) -> str | None:
        """The device of its weights, from the runner's lines or Ollama's own."""
        if self.process.device is not None:
            return self.process.device
        gpus = sorted(name for name in self.weights if not on_host(name))
        if gpus:
            return ", ".join(full_name(name, names) for name in gpus)
        return CPU if self.weights or cpu_only else None


class OllamaState:
    """A fold of the signals of an Ollama server's log."""

    def __init__(self) -> None:
        self._version: str | None = None
        self._loads: deque[Load] = deque(maxlen=MOST_LOADS)
        self._first_ctx: OrderedDict[str, int] = OrderedDict()
        self._reset()

    def _reset(self) -> None:
        """A server began: what an earlier one warned of is over."""
        self._current: RunnerState | None = None
        self._refused: str | None = None
        self._problems = Problems()
        self._by_blob: OrderedDict[str, tuple[Signal, ...]] = OrderedDict()
        self._devices: dict[str, str] = {}
        self._libraries: set[str] = set()
        self._folders: set[str] = set()

    def add(self, signal: Signal) -> None:
        """Take one signal, Ollama's or a runner's."""
        if is_ollama(signal.line):
            self._own(signal)
        elif signal.id == "server-crashed" and self._current is None:
            self._problems.add(signal)
        elif self._current is not None:
            self._current.process.add(signal)
            if signal.id == "ollama-format":
                self._current.own_format = True
            if signal.id == "server-crashed":
                self._current.failed = True
        elif signal.problem:
            self._problems.add(signal)  # looking for GPUs, before any load

    def _own(self, signal: Signal) -> None:
        if signal.problem:
            self._problem(signal)
            return
        match signal.id:
            case "ollama-config":
                self._finish()
                self._reset()
            case "ollama-listening":
                self._version = str(signal.facts["version"])
            case "ollama-compute":
                self._compute(signal.facts)
            case "ollama-start":
                self._finish()
                self._current = RunnerState(signal, self._refused)
                self._refused = None
                self._note_ctx(signal)
            case _ if self._current is not None:
                self._current.add(signal)
                self._note_ctx(signal)

    def _problem(self, signal: Signal) -> None:
        signal = _as_ollamas(signal)
        if signal.id == "parallel-refused":
            self._refused = str(signal.facts.get("subject"))
        if signal.fatal and self._current is not None and signal.facts.get("begun", True):
            self._current.failed = True
        self._problems.add(signal)

    def _compute(self, facts: Mapping[str, Fact]) -> None:
        self._libraries.add(str(facts.get("library")).lower())
        name = facts.get("name")
        if name and len(self._devices) < _MOST_BLOBS:
            self._devices[str(name)] = str(facts.get("description") or "")
            # `ollama` are those that every device needs (`libdirs` of discover/types.go, a name below /usr/lib/ollama).
            self._folders |= {one for one in str(facts.get("libdirs") or "").split(",") if _FOLDER.fullmatch(one)}
            self._folders.discard("ollama")

    def _note_ctx(self, signal: Signal) -> None:
        """A load of a blob with another context than its first was forced by a client."""
        current = self._current
        ctx = current.asked_ctx if current is not None else None
        if current is None or ctx is None or signal.id not in ("ollama-start", "ollama-commit"):
            return
        first = self._first_ctx.setdefault(current.blob, ctx)
        if ctx != first:
            facts: dict[str, Fact] = {"subject": f"{current.blob} {ctx}", "usual": first, "forced": ctx}
            self._problems.add(replace(signal, id="ctx-forced", facts=facts, problem=True, hint=_FORCED))
        while len(self._first_ctx) > _MOST_BLOBS:
            self._first_ctx.popitem(last=False)

    def _finish(self) -> None:
        if self._current is None:
            return
        self._loads.append(self._load(self._current))
        self._by_blob[self._current.blob] = self._runner_problems(self._current)
        self._by_blob.move_to_end(self._current.blob)
        while len(self._by_blob) > _MOST_BLOBS:
            self._by_blob.popitem(last=False)
        self._current = None

    def _load(self, runner: RunnerState) -> Load:
        return Load(
            blob=runner.blob,
            slots=runner.slots,
            ctx_per_slot=runner.ctx,
            ready=runner.ready,
            refused=runner.refused,
            device=runner.device(self._devices, self._libraries == {CPU}),
            own_format=runner.own_format,
            gpu_libraries=next(iter(self._folders)) if len(self._folders) == 1 else None,
        )

    def _runner_problems(self, runner: RunnerState) -> tuple[Signal, ...]:
        return tuple(_as_ollamas(p) for p in runner.process.problems() if p.id not in _NOT_FOR_RUNNERS)

    @property
    def served_slots(self) -> frozenset[int]:
        """The slots of the last load that have served."""
        return frozenset(self._current.process.load.served) if self._current is not None else frozenset()

    def summary(self) -> LogSummary:
        """The last load, the list of all, and what is wrong with the server and the last load of each model."""
        by_blob = dict(self._by_blob)
        loads = tuple(self._loads)
        summary = LogSummary(known=True)
        if self._current is not None:
            by_blob.pop(self._current.blob, None)  # the last load's come last
            by_blob[self._current.blob] = self._runner_problems(self._current)
            loads = (*loads, self._load(self._current))
            summary = summarise(self._current.process, ())
        problems = _once((*self._problems.kept(), *(p for kept in by_blob.values() for p in kept)))
        if not loads:
            return replace(summary, server="ollama", version=self._version, problems=problems)
        last = loads[-1]
        return replace(
            summary,
            ready=last.ready,
            slots=last.slots,
            ctx_per_slot=last.ctx_per_slot,
            device=last.device,
            problems=problems,
            known=True,
            server="ollama",
            version=self._version,
            loads=loads,
        )


def _as_ollamas(problem: Signal) -> Signal:
    """A problem with the hint that helps where Ollama is the one that has it."""
    return replace(problem, hint=_UNREAD) if problem.id == "blob-incompatible" else problem


def _once(problems: tuple[Signal, ...]) -> tuple[Signal, ...]:
    """Each problem once: Ollama repeats what its runner said."""
    kept: dict[tuple[str, Fact], Signal] = {}
    for problem in problems:
        kept.setdefault((problem.id, problem.facts.get("subject")), problem)
    return tuple(kept.values())


def _share(signal: Signal | None) -> int | None:
    slots, ctx = _int(signal, "slots"), _int(signal, "ctx")
    return ctx // slots if slots and ctx else None


def _int(signal: Signal | None, key: str) -> int | None:
    value = signal.facts.get(key) if signal is not None else None
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _context(process: ProcessState, key: str) -> int | None:
    value = process.load.context.get(key)
    return value if isinstance(value, int) else None

"""All signals of a log -> what the log tells: a fold in constant memory."""

from __future__ import annotations

from dataclasses import replace

from homellm.domain.evidence import LogSummary
from homellm.domain.signals import Fact, Signal
from homellm.health.server_log import ServerLog

#: A log of more containers than these is read as far as it concerns the first ones.
MOST_ORIGINS = 64
_BEGINS = frozenset(("load-begin", "ollama-start"))


class Summariser:
    """Folds signals into a LogSummary of the last load of the last process.

    Containers whose logs come together (`docker compose logs`, `homellm logs`) are told apart by the name before each
    line; then the summary is that of the one that loaded last, with the problems of all.
    """

    def __init__(self) -> None:
        self._logs: dict[str, ServerLog] = {}
        self._last = ServerLog()

    def add(self, signal: Signal) -> None:
        """Take one signal."""
        log = self._logs.get(signal.origin)
        if log is None:
            if len(self._logs) >= MOST_ORIGINS:
                return
            log = self._logs[signal.origin] = ServerLog()
            self._last = log if len(self._logs) == 1 else self._last
        if log.add(signal) and signal.id in _BEGINS:
            self._last = log

    @property
    def served_slots(self) -> frozenset[int]:
        """The slots of the last load that have served, where the log is that of one server with one model at a time."""
        return self._last.served_slots if len(self._logs) == 1 else frozenset()

    def close(self) -> None:
        """Say that the log has ended for good: what it broke off at now means something."""
        for log in self._logs.values():
            log.close()

    def summary(self) -> LogSummary:
        """What the signals so far tell."""
        summary = self._last.summary()
        if len(self._logs) <= 1:
            return summary
        problems: dict[tuple[str, Fact], Signal] = {}
        for log in self._logs.values():
            for problem in log.summary().problems:
                problems.setdefault((problem.id, problem.facts.get("subject") or problem.line), problem)
        return replace(summary, problems=tuple(problems.values()))

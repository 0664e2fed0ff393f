"""What a log tells now, and what the record of the same run remembers of it, as one summary."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace

from homellm.domain.evidence import LogSummary
from homellm.domain.signals import Signal

#: What grows while a server runs: the later or larger word holds.
_GROWING = ("ready", "slots_used", "cache_reused", "known", "found_no_gpu")


def merge(log: LogSummary, recorded: LogSummary) -> tuple[LogSummary, frozenset[str]]:
    """The whole of what is known of a run, and the names of the fields that the log no longer tells.

    Both are of the same run of the same container. Rotation takes a log's first lines, wherever that happens to cut:
    a log that has lost the line with which its load began may still have one buffer of several, so there the record
    leads; a log that reaches back to that line leads itself. Problems are of both; the ids of those that only the
    record has are named as `problem:<id>`.
    """
    leading, filling = (log, recorded) if reaches_back(log) else (recorded, log)
    values = {}
    for name in (field.name for field in fields(LogSummary)):
        first, second = getattr(leading, name), getattr(filling, name)
        values[name] = max(first, second) if name in _GROWING else second if _untold(first) else first
    values["problems"] = problems = _problems(log.problems, recorded.problems)
    lost = {name for name, value in values.items() if name != "problems" and value != getattr(log, name)}
    now = {signal.id for signal in log.problems}
    lost |= {f"problem:{signal.id}" for signal in problems if signal.id not in now}
    return replace(leading, **values), frozenset(lost)


def reaches_back(log: LogSummary) -> bool:
    """Whether a log still has the line with which the load began, and so everything that the load told after it."""
    return log.model_path is not None


def _untold(value: object) -> bool:
    return value is None or (isinstance(value, tuple | Mapping) and not value)


def _problems(now: tuple[Signal, ...], then: tuple[Signal, ...]) -> tuple[Signal, ...]:
    """Each problem once, those of the record first: they came first."""
    key = {(signal.id, signal.facts.get("subject")): signal for signal in then}
    key |= {(signal.id, signal.facts.get("subject")): signal for signal in now}
    return tuple(key.values())

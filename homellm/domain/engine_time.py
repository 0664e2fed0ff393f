"""Times as the engine writes them: RFC 3339 in UTC, with nanoseconds."""

from __future__ import annotations

from datetime import UTC, datetime

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SECOND_NS = 10**9


def engine_time(text: str) -> datetime:
    """A time of the engine, to the microsecond that datetime has. Raises ValueError for anything else."""
    head, _, tail = text.rstrip("Z").partition(".")
    return datetime.fromisoformat(f"{head}.{(tail + '000000')[:6]}+00:00")


def engine_time_ns(text: str) -> int:
    """The same in nanoseconds of the Unix epoch. Raises ValueError for anything else."""
    since = engine_time(text) - _EPOCH
    return (since.days * 86400 + since.seconds) * _SECOND_NS + since.microseconds * 1000

"""The recorded logs, and how the tests read them."""

from __future__ import annotations

from pathlib import Path

from homellm.domain.evidence import LogSummary
from homellm.health.reader import LogReader

FOLDER = Path(__file__).parents[2] / "fixtures" / "logs"
OLLAMA = FOLDER.parent / "ollama"
NAMES = tuple(sorted(path.stem for path in FOLDER.glob("*.log")))


def data(name: str) -> bytes:
    return (FOLDER / f"{name}.log").read_bytes()


def read(log: bytes | str) -> LogSummary:
    """What `explain` reads from a whole log."""
    reader = LogReader()
    reader.feed(log.encode() if isinstance(log, str) else log)
    return reader.finish()


def problem_ids(summary: LogSummary) -> list[str]:
    return [problem.id for problem in summary.problems]

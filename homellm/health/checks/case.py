"""What every check is given, and how it gives its verdict."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from homellm.domain.evidence import Evidence, LogSummary, Props
from homellm.domain.stack import Model
from homellm.domain.verdicts import Judgement, Native, Verdict

#: Witnesses, as people are told them.
PROPS = "/props"
HEALTH = "/health"
LOG = "log"
RECORD = "record"
INSPECT = "inspect"
API = "API"

#: The one log driver of which nothing can be read back; of the others the engine keeps a copy (since 20.10).
_KEEPS_NONE = "none"
_LOST = (
    "The server's log does not tell it: its first lines are lost, or its verbosity is too low. Start it anew "
    "(homellm up --force-recreate), then it is seen."
)
_NO_LOG = (
    "Only the server's log tells it, and Docker keeps none of this container (log driver none). Set "
    "log: {driver: local} and run homellm up, then it is seen."
)


@dataclass(frozen=True, slots=True)
class Case:
    """A model and what was seen of its server. `expected_path` is where its weights are mounted; empty: anywhere."""

    model: Model
    evidence: Evidence
    expected_path: str = ""

    @property
    def log(self) -> LogSummary:
        """What the log told."""
        return self.evidence.log

    @property
    def props(self) -> Props:
        """What /props told; an empty one when it could not be asked."""
        return self.evidence.props or Props()

    @property
    def process_source(self) -> str:
        """The process as a witness."""
        process = self.evidence.process
        return f"process {process.pid}" if process is not None else "process"

    @property
    def whole_load(self) -> bool:
        """Whether the log has the load from its first line on: else a buffer that is not seen may still be there."""
        return self.evidence.log_from_start

    @property
    def log_lacks(self) -> str:
        """The hint where only the log could tell and does not: why that is, and what makes it tell."""
        container = self.evidence.container
        return _NO_LOG if container is not None and container.log_driver == _KEEPS_NONE else _LOST

    def log_says(self, problem: str) -> bool:
        """Whether the log has a problem of that id."""
        return any(signal.id == problem for signal in self.log.problems)

    def where(self, *told: str) -> str:
        """The witness of these fields of the log, or of `problem:<id>`: the record where the log has lost one."""
        return RECORD if self.evidence.recorded.intersection(told) else LOG


Check = Callable[[Case], Verdict | None]


def judged(
    id: str,
    asked: Native,
    observed: Native,
    passed: bool | None,
    source: str,
    *,
    hint: str = "",
    gate: bool = False,
    text: str = "",
    asked_text: str = "",
) -> Verdict:
    """A verdict; `passed` None means that no witness could tell, which is never a pass."""
    verdict: Judgement = "unknown" if passed is None else "pass" if passed else "fail"
    told = "" if passed else hint
    return Verdict(id, asked, observed, verdict, source, hint=told, gate=gate, text=text, asked_text=asked_text)

"""Verdicts: what was asked, what was observed, where, and how it is judged."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

Native = str | int | float | bool | None

Judgement = Literal["pass", "fail", "unknown", "not-applicable"]


class State(StrEnum):
    """The state of a model as people and programs are told it."""

    VERIFIED = "verified"
    DEGRADED = "degraded"
    FAILED = "failed"
    ABSENT = "absent"
    STOPPED = "stopped"
    STARTING = "starting"
    UNVERIFIED = "unverified"


@dataclass(frozen=True, slots=True)
class Verdict:
    """One check. `asked` and `observed` are native values (3, "0-3", True, bytes); `source` says where it was seen.

    `gate` tells a gate from advice: a gate that is not passed undoes the start. `text` is the observed value for
    people where the native one alone would not do ("1.6 GiB of 1.6 GiB locked"), `asked_text` the asked one.
    """

    id: str
    asked: Native
    observed: Native
    verdict: Judgement
    source: str
    hint: str = ""
    gate: bool = False
    text: str = ""
    asked_text: str = ""


def judge(verdicts: tuple[Verdict, ...]) -> State:
    """The state that a set of verdicts means: failed when a gate fails or is unknown, degraded when advice fails."""
    if any(v.gate and v.verdict in ("fail", "unknown") for v in verdicts):
        return State.FAILED
    if any(v.verdict == "fail" for v in verdicts):
        return State.DEGRADED
    return State.VERIFIED

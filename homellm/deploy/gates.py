"""Gates that were not passed: which they are, and how that is told."""

from __future__ import annotations

from homellm.domain.verdicts import Verdict
from homellm.errors import Problem


def failed_gates(verdicts: tuple[Verdict, ...]) -> tuple[Verdict, ...]:
    """The gates that were not passed."""
    return tuple(v for v in verdicts if v.gate and v.verdict in ("fail", "unknown"))


def gate_problem(gate: Verdict, model: str) -> Problem:
    """A gate that was not passed, in words."""
    observed = gate.text or gate.observed
    if gate.verdict == "unknown":
        message = f"{gate.id}: asked {gate.asked}, but it could not be seen ({gate.source})"
    else:
        message = f"{gate.id}: asked {gate.asked}, observed {observed} ({gate.source})"
    return Problem(id=f"gate-{gate.id}", message=message, hint=gate.hint, model=model)

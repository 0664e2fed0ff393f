"""What inspect and the last verification tell of a server, for who looks and asks nobody."""

from __future__ import annotations

from dataclasses import replace

from homellm.deploy.crashes import came_back, crash_problem, seems_to_loop, was_restarted
from homellm.deploy.gates import gate_problem
from homellm.deploy.look import paused, paused_problem
from homellm.deploy.session import Ports
from homellm.domain.reports import ModelReport
from homellm.domain.stack import Model
from homellm.domain.verdicts import Verdict
from homellm.domain.world import Container
from homellm.errors import Problem


def stuck(model: Model, container: Container, ports: Ports, *, proved: bool) -> Problem | None:
    """Why a container answers nobody that the engine calls running, or starts again; None where nothing says so.

    One that was `proved` in its present run does not end again and again.
    """
    if paused(container):
        return paused_problem(model, container)
    if not proved and seems_to_loop(container, ports.clock.now()):
        return crash_problem(model, container, ports)
    return None


def with_failed(report: ModelReport, gates: tuple[Verdict, ...], seen_at: str) -> ModelReport:
    """With what its last verification found wrong, and when: a record tells of no later time, so `check` is to look."""
    if not gates:
        return report
    problems = tuple(gate_problem(gate, report.name) for gate in gates)
    found = f"That was found at {seen_at}; " if seen_at else ""
    return replace(report, checks=gates, problems=problems, notes=(f"{found}homellm check {report.name} looks anew.",))


def told_back(container: Container, model: str) -> tuple[str, ...]:
    """That a server ended and was started again, where it did."""
    return (came_back(container, model),) if was_restarted(container) else ()

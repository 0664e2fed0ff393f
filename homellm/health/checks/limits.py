"""What the engine holds a container to, by inspect: limits and restart policy, which `docker update` changes."""

from __future__ import annotations

from dataclasses import replace

from homellm.domain.stack import Model
from homellm.domain.verdicts import Native, Verdict
from homellm.domain.world import Container
from homellm.health.checks.case import INSPECT, Case, judged
from homellm.health.checks.host import cpu_list, cpu_set
from homellm.health.checks.memory import size

_NO_INSPECT = "The container could not be inspected."
_CHANGED = (
    "Somebody changed the limits after the start (docker update). To make the container anew as declared: "
    "homellm up --force-recreate."
)
_DROPPED = (
    "The engine did not take over every limit (docker info names what its kernel lacks), or somebody took it off "
    "(docker update); for the latter: homellm up --force-recreate."
)
_POLICY = (
    "Somebody changed it after the start (docker update), the file was edited since, or an up was cut off: homellm up "
    "sets it."
)

Limit = int | float | str


def limits(case: Case) -> Verdict | None:
    """The limits in force are the declared ones, and no others.

    An engine drops those that its kernel does not have; one that nobody declared was put on by somebody else.
    """
    container, declared = case.evidence.container, _declared(case.model)
    if container is None:
        if not declared:
            return None
        told = judged("limits", _told(declared), None, None, INSPECT, hint=_NO_INSPECT)
        return replace(told, asked_text=_words(declared))
    in_force = _in_force(container)
    others = [name for name, value in in_force.items() if value and name not in declared and name != "shm_size"]
    if case.model.cpuset is not None and in_force["cpuset"] == cpu_list(cpu_set(case.model.cpuset)):
        declared.pop("cpuset")  # as declared; whether the process heeds it is a check of its own
    if not (declared or others):
        return None
    observed = {name: in_force[name] for name in (*declared, *others)}
    changed = others or any(observed[name] and observed[name] != value for name, value in declared.items())
    asked: dict[str, Limit] = declared | dict.fromkeys(others, 0)
    hint = _CHANGED if changed else _DROPPED
    verdict = judged(
        "limits", _told(declared) if declared else None, _told(observed), asked == observed, INSPECT, hint=hint
    )
    return replace(verdict, asked_text=_words(asked), text=_words(observed))


def _declared(model: Model) -> dict[str, Limit]:
    asked = {
        "memory": model.memory_bytes,
        "cpu_shares": model.cpu_shares,
        "shm_size": model.shm_size_bytes,
        "cpuset": cpu_list(cpu_set(model.cpuset)) if model.cpuset is not None else None,
    }
    return {name: value for name, value in asked.items() if value is not None}


def _in_force(container: Container) -> dict[str, Limit]:
    """By their keys; `cpus` is none of the stack file, and only somebody else's."""
    return {
        "memory": container.memory_bytes,
        "cpu_shares": container.cpu_shares,
        "shm_size": container.shm_size_bytes,
        "cpuset": cpu_list(cpu_set(container.cpuset)),
        "cpus": container.cpus,
    }


def _told(limits: dict[str, Limit]) -> Native:
    """One limit as its number, several by name."""
    if len(limits) == 1:
        return next(iter(limits.values()))
    return ", ".join(f"{name} {value}" for name, value in limits.items())


def _words(limits: dict[str, Limit]) -> str:
    """The same for people: each limit by name, bytes with their unit; the engine writes 0 for no limit."""
    return ", ".join(f"{name} {_word(name, value) if value else 'none'}" for name, value in limits.items())


def _word(name: str, value: Limit) -> str:
    return size(value) if name in ("memory", "shm_size") and isinstance(value, int) else str(value)


def restart_policy(case: Case) -> Verdict | None:
    """What the engine does when it ends is what is declared; told only where it is not.

    A swap sets it once all else is proved, so it says nothing of what one is at work on.
    """
    container, declared = case.evidence.container, case.model.restart
    if container is None or container.restart_policy == declared:
        return None
    return judged("restart-policy", declared, container.restart_policy, False, INSPECT, hint=_POLICY)

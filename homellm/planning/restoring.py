"""What a run that was killed has stopped, and whose successor cannot be made: it is to serve again."""

from __future__ import annotations

from homellm.domain.stack import RestartPolicy
from homellm.domain.steps import RemoveContainer, SetRestartPolicy, StartContainer, Step
from homellm.planning.reconcile import was_verified
from homellm.planning.units import Unit, policy_to_restore, should_run


def restoring(unit: Unit, name: str, wanted: RestartPolicy) -> tuple[Step, ...]:
    """The steps that bring the container of the unit `name` back; none where no swap that was cut off concerned it.

    A successor that was proved is left: it serves, and lacks nothing but its renames.
    """
    old = unit.current
    if old is None or not should_run(old) or (unit.next is not None and was_verified(unit.next, unit)):
        return ()
    policy = policy_to_restore(old, wanted)
    if old.running and (unit.next is None or old.restart_policy == policy):
        return ()
    cause = "an earlier run was cut off before its successor was proved"
    start = () if old.running else (StartContainer(target=old.name, model=name, cause=cause),)
    return (
        *leaving(unit, name),
        *start,
        SetRestartPolicy(target=old.name, model=name, policy=policy, cause=cause),
    )


def leaving(unit: Unit, name: str) -> tuple[Step, ...]:
    """The step that removes what that run had begun; none where there is nothing."""
    if unit.next is None:
        return ()
    return (RemoveContainer(target=unit.next.name, model=name, cause="left by a run that was cut off"),)

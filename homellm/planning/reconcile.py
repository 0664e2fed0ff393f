"""Desired and observed to steps, for one unit: go on after a cut, keep what is right, or swap (design rule 7).

The order of a swap, and why a cut at any point loses nothing: `.next` is made while the old one serves, so an error
of creation costs no downtime; the old one's policy becomes `no` before it stops, so that no daemon restart brings
both up; `.next` gets its declared policy only once it is verified, so a `.next` with a policy other than `no` is a
swap that lacks nothing but its renames.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from homellm.domain.names import FAILED, LABEL_HASH, NEXT, PREVIOUS, PREVIOUS_KEPT
from homellm.domain.stack import RestartPolicy
from homellm.domain.steps import (
    CreateContainer,
    Plan,
    RemoveContainer,
    RenameContainer,
    SetRestartPolicy,
    StartContainer,
    Step,
    StopContainer,
    VerifyModel,
)
from homellm.domain.world import Container
from homellm.planning.changes import changes
from homellm.planning.desired import Desired
from homellm.planning.units import Unit, declared_policy, policy_to_restore, should_run


def reconcile(desired: Desired, unit: Unit, *, anew: str = "") -> Plan:
    """The steps that make `desired` of what `unit` is; empty when nothing is to be done.

    `anew` makes the container anew even if nothing changed, and is the cause. The caller has settled that
    `desired.spec` exists.
    """
    return Plan(tuple(_Reconciler(desired, anew, unit.outdated).steps(unit)))


@dataclass(frozen=True, slots=True)
class _Reconciler:
    desired: Desired
    anew: str
    outdated: Mapping[str, str]

    def steps(self, unit: Unit) -> list[Step]:
        if unit.leftover:
            cause = "its removal was begun and not ended"
            clear: list[Step] = [self._remove(container.name, cause) for container in unit.leftover]
            return clear + self.steps(replace(unit, leftover=()))
        finish = self._finish_commit(unit)
        if finish is not None:
            steps, unit = finish
            return steps + self.steps(unit)
        if unit.current is not None and self._is_desired(unit.current) and not self.anew:
            return self._keep(unit, unit.current)
        return self._swap(unit)

    def _is_declared(self, container: Container) -> bool:
        return bool(self.desired.hash) and container.label(LABEL_HASH) == self.desired.hash

    def _is_desired(self, container: Container) -> bool:
        return self._is_declared(container) and container.id not in self.outdated

    # --- a commit that was cut off

    def _finish_commit(self, unit: Unit) -> tuple[list[Step], Unit] | None:
        """The steps that end a commit which was cut off, forwards or backwards, and the unit after them."""
        successor = unit.next
        if successor is None:
            return None
        if not was_verified(successor, unit):
            return self._take_back_commit(unit)
        if unit.current is not None and self._is_desired(unit.current) and not self._is_desired(successor):
            return None  # the file went back to what ran before: undoing is quicker than committing
        cause = "an earlier run was cut off after it had verified this container"
        steps: list[Step] = []
        if unit.current is not None:
            shelved, previous = self._shelve(unit, unit.current, cause)
            steps += shelved
            unit = replace(unit, previous=previous)
        steps.append(self._rename(unit.name + NEXT, unit.name, cause))
        return steps, replace(unit, current=replace(successor, name=unit.name), next=None)

    def _take_back_commit(self, unit: Unit) -> tuple[list[Step], Unit] | None:
        """A successor that ended after its predecessor had been renamed: the predecessor gets its name back."""
        if unit.current is not None or 1 not in unit.previous:
            return None
        old = unit.previous[1]
        step = self._rename(old.name, unit.name, "its successor ended before it had taken the name")
        rest = {n: c for n, c in unit.previous.items() if n != 1}
        return [step], replace(unit, current=replace(old, name=unit.name), previous=rest)

    # --- nothing to change but its state

    def _keep(self, unit: Unit, current: Container) -> list[Step]:
        steps: list[Step] = []
        if unit.next is not None:
            steps.append(self._remove(unit.next.name, "left by a run that was cut off"))
        if current.name != unit.name:
            steps.append(self._rename(current.name, unit.name, "the stack file names it anew"))
        if not (current.running or current.status == "restarting"):
            back = self._stop(unit.name, 0, "it did not become as declared")
            steps.append(replace(self._start(unit.name, _why_stopped(current)), undo=(back,)))
            steps.append(self._verify(unit.name, "it was just started"))
        policy = self.desired.restart
        if current.restart_policy != policy:
            cause = f"restart {current.restart_policy} → {policy}"
            steps.append(self._policy(unit.name, policy, cause))
        return steps

    # --- the swap

    def _swap(self, unit: Unit) -> list[Step]:
        old = unit.current
        successor = self._usable(unit.next)
        steps: list[Step] = []
        if unit.next is not None and successor is None:
            steps.append(self._remove(unit.next.name, "left by a run that was cut off"))
        swap: list[Step] = []
        if successor is None:
            swap.append(self._create(unit, old))
        if old is not None:
            swap += self._retire(old)
        swap += self._bring_up(unit, successor)
        if old is not None and should_run(old) and not old.running and old.status != "restarting":
            # An earlier run stopped it: what takes this swap back has to start it again.
            swap[0] = replace(swap[0], undo=(*swap[0].undo, *self._restore(old)))
        steps += swap
        steps += self._commit(unit, old)
        return steps

    def _usable(self, successor: Container | None) -> Container | None:
        """A `.next` that can be gone on with: it runs and has the wanted hash (the log of one that ended is stale)."""
        if successor is None or self.anew or not self._is_desired(successor):
            return None
        return successor if successor.running else None

    def _create(self, unit: Unit, old: Container | None) -> Step:
        if self.desired.spec is None:
            raise ValueError("a model with problems has no container: settle its problems first")
        target = unit.name + NEXT
        return CreateContainer(
            target=target,
            model=self.desired.unit,
            spec=self.desired.spec,
            labels=self.desired.labels,
            cause=self._why_new(old),
            undo=(self._remove(target, "the swap was taken back"),),
        )

    def _why_new(self, old: Container | None) -> str:
        if old is None:
            return self.desired.first
        if self._is_declared(old):
            return self.outdated.get(old.id) or self.anew
        return changes(old, self.desired)

    def _retire(self, old: Container) -> list[Step]:
        steps: list[Step] = []
        restored = policy_to_restore(old, self.desired.restart)
        policy_back = self._policy(old.name, restored, "the swap was taken back")
        if old.restart_policy != "no":
            cause = "a daemon restart must not bring it up beside its successor"
            steps.append(replace(self._policy(old.name, "no", cause), undo=(policy_back,)))
        if old.running or old.status == "restarting":
            undo: tuple[Step, ...] = (self._start(old.name, "the swap was taken back"),)
            if not steps:
                undo = (*undo, policy_back)  # an earlier run that was cut off had set it to `no`
            stop = self._stop(old.name, self.desired.stop_grace_s, "its successor takes over its port and memory")
            steps.append(replace(stop, undo=undo))
        return steps

    def _restore(self, old: Container) -> tuple[Step, ...]:
        cause = "an earlier run was cut off after it had stopped this container"
        policy = policy_to_restore(old, self.desired.restart)
        return (self._start(old.name, cause), self._policy(old.name, policy, cause))

    def _bring_up(self, unit: Unit, successor: Container | None) -> list[Step]:
        target = unit.name + NEXT
        fail = self._set_aside(unit)
        verify = self._verify(target, "nothing is committed before it is proved")
        if successor is not None:
            return [replace(verify, undo=fail)]
        return [replace(self._start(target, "the new container"), undo=fail), verify]

    def _set_aside(self, unit: Unit) -> tuple[Step, ...]:
        """How a successor that failed is put away: stopped, and kept under `.failed` for its log."""
        target, cause = unit.name + NEXT, "it did not become as declared; kept for its log"
        steps: list[Step] = [self._stop(target, 0, cause)]
        if unit.failed is not None:
            steps.append(self._remove(unit.failed.name, "replaced by the newer failure"))
        steps.append(self._rename(target, unit.name + FAILED, cause))
        return tuple(steps)

    def _commit(self, unit: Unit, old: Container | None) -> list[Step]:
        target, policy = unit.name + NEXT, self.desired.restart
        steps: list[Step] = []
        if policy != "no":
            back = self._policy(target, "no", "the swap was taken back")
            steps.append(replace(self._policy(target, policy, "it is verified"), undo=(back,)))
        if old is not None:
            steps += self._shelve(unit, old, "kept to go back to")[0]
        steps.append(self._rename(target, unit.name, "it is verified"))
        if unit.failed is not None:
            steps.append(self._remove(unit.failed.name, "its successor works"))
        return steps

    def _shelve(self, unit: Unit, old: Container, cause: str) -> tuple[list[Step], dict[int, Container]]:
        """Rename `old` to `.prev-1`, after moving its predecessors up by one and dropping the oldest.

        Gives the steps and the predecessors after them.
        """
        previous = dict(unit.previous)
        steps: list[Step] = []
        free = next((n for n in range(1, PREVIOUS_KEPT + 1) if n not in previous), None)
        if free is None:
            free = PREVIOUS_KEPT
            steps.append(self._remove(previous[free].name, f"only {PREVIOUS_KEPT} predecessors are kept"))
        for n in range(free, 0, -1):
            moved = previous[n - 1] if n > 1 else old
            name = f"{unit.name}{PREVIOUS}{n}"
            steps.append(self._moved(moved.name, name, cause))
            previous[n] = replace(moved, name=name)
        return steps, previous

    # --- single steps

    def _remove(self, target: str, cause: str) -> RemoveContainer:
        return RemoveContainer(target=target, model=self.desired.unit, cause=cause)

    def _stop(self, target: str, grace_s: int, cause: str) -> StopContainer:
        return StopContainer(target=target, model=self.desired.unit, grace_s=grace_s, cause=cause)

    def _start(self, target: str, cause: str) -> StartContainer:
        return StartContainer(target=target, model=self.desired.unit, cause=cause)

    def _policy(self, target: str, policy: RestartPolicy, cause: str) -> SetRestartPolicy:
        return SetRestartPolicy(target=target, model=self.desired.unit, policy=policy, cause=cause)

    def _verify(self, target: str, cause: str) -> VerifyModel:
        return VerifyModel(target=target, model=self.desired.unit, cause=cause)

    def _rename(self, target: str, name: str, cause: str) -> RenameContainer:
        return RenameContainer(target=target, model=self.desired.unit, name=name, cause=cause)

    def _moved(self, target: str, name: str, cause: str) -> RenameContainer:
        back = self._rename(name, target, "the swap was taken back")
        return replace(self._rename(target, name, cause), undo=(back,))


def was_verified(successor: Container, unit: Unit) -> bool:
    """Whether a `.next` had passed its verification when its run was cut off.

    Its declared policy is set only then. One that is declared `no` tells nothing by its policy, but its predecessor
    is renamed only then too.
    """
    if not (successor.running or successor.status == "restarting"):
        return False
    if successor.restart_policy != "no":
        return True
    return unit.current is None and 1 in unit.previous and declared_policy(successor) == "no"


def _why_stopped(container: Container) -> str:
    if container.status == "created":
        return "it was made and never started"
    return f"it does not run (exit code {container.exit_code})"

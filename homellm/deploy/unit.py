"""One unit, of any kind of server: planned, carried out, proved, committed or undone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from homellm.deploy.free_names import taken_names
from homellm.deploy.job import Job
from homellm.deploy.moved_image import moved_image
from homellm.deploy.scope import Scope, shielded
from homellm.deploy.session import Emit
from homellm.deploy.swap import Swap, Verify
from homellm.domain.events import Note, Progress
from homellm.domain.names import LABEL_MAKER, LABEL_STACK
from homellm.domain.steps import Plan, StartContainer, Step
from homellm.domain.world import Container
from homellm.errors import ContainerGone, HomellmError, Refused
from homellm.planning.desired import Desired
from homellm.planning.reconcile import reconcile
from homellm.planning.units import Unit

#: Proves a predecessor that serves again; raises HomellmError when it does not.
ProveOld = Callable[[Container, Scope], None]

RESTARTED = "The Docker daemon was away in the middle: its restart ends every container. Run homellm up again."
LOADED_NOW = "{changed}, and homellm keeps no older file: what was started again reads the one that stands there now."
SERVES_AGAIN = "The server that ran before serves again, verified."


@dataclass(frozen=True, slots=True)
class Carried:
    """How it went. `changed` tells whether there was any step; `notes` what became of the one that ran before."""

    changed: bool
    error: HomellmError | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class UnitRun:
    """One unit of a job. `device` is what its loads wait in line for, `anew` why it is made anew whatever it is."""

    desired: Desired
    unit: Unit
    job: Job
    emit: Emit
    device: str
    prove: Verify
    prove_old: ProveOld
    anew: str = ""

    def run(self) -> Carried:
        """Carry the plan out. Every error of homellm's is in what is returned."""
        plan = self.plan()
        if not plan:
            return Carried(changed=False)
        refused = self.refused(plan)
        if refused is not None:
            return Carried(False, refused)
        self.tell_notes()
        swap = Swap(self.job.ports, self.job.scope, self.emit, self.prove, self.job.options.engine_return_s)
        try:
            with self.turn():
                swap.run(plan)
        except HomellmError as error:
            return self.undone(error, swap)
        return Carried(changed=True)

    def plan(self) -> Plan:
        """The steps that are to be carried out."""
        desired = replace(self.desired, labels={**self.desired.labels, LABEL_MAKER: self.job.ports.maker})
        return reconcile(desired, self.unit, anew=self.job.options.anew or self.anew)

    def refused(self, plan: Plan) -> Refused | None:
        """Why the plan cannot be begun: somebody else holds a name that it gives."""
        taken = taken_names(plan, self.unit, self.desired.unit, self.job.stack.name, self.job.ports.engine)
        return Refused(taken[0].message, problems=taken) if taken else None

    def tell_notes(self) -> None:
        """Say what is worth knowing of what is about to be done."""
        for note in self.desired.notes:
            self.emit(Note(note, model=self.desired.unit))

    def undone(self, error: HomellmError, swap: Swap) -> Carried:
        """How a swap went that was taken back because of an error: what serves again is proved."""
        moved = moved_image(self.unit.current, self.desired.spec, self.job.ports, self.desired.unit)
        error.problems = (*error.problems, *moved)
        notes = self._prove_predecessor(swap)
        return Carried(True, error, (*notes, RESTARTED) if swap.engine_was_away else notes)

    def bring_back(self, steps: tuple[Step, ...]) -> tuple[str, ...]:
        """Start again what a run that was killed has stopped, and prove it; what there is to say of it."""
        swap = Swap(self.job.ports, self.job.scope, self.emit, self.prove, self.job.options.engine_return_s)
        swap.restore(steps, "while bringing back what an earlier run had stopped")
        return self._prove_predecessor(swap)

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Wait in line for the device."""
        self.emit(Progress(self.desired.unit, "waiting"))
        lock = self.job.turns.take(self.device, self.job.scope)
        try:
            yield
        finally:
            lock.release()

    def _prove_predecessor(self, swap: Swap) -> tuple[str, ...]:
        """Prove what the undo started again, and say how that went; nothing when it started nothing.

        A daemon that is going down takes what was just started with it: then the start is tried again once it is back.
        """
        restart = [step for step in swap.undone if step.target == self.unit.name]
        if not any(isinstance(step, StartContainer) for step in restart):
            return ()
        self.emit(Progress(self.desired.unit, "undoing", "what ran before is being verified"))
        refused = self._predecessor_refused()
        if refused is not None:
            for step in restart:
                swap.take_back(step)
            refused = self._predecessor_refused()
        again = SERVES_AGAIN if refused is None else f"The server that ran before was started again, but: {refused}"
        changed = self.unit.outdated.get(self.unit.current.id) if self.unit.current is not None else None
        return (again,) if changed is None else (again, LOADED_NOW.format(changed=changed))

    def _predecessor_refused(self) -> HomellmError | None:
        try:
            current = self.job.ports.engine.find_container(self.unit.name)
            if current is None:
                return ContainerGone(f"{self.unit.name} is gone")
            self.prove_old(current, shielded())
        except HomellmError as error:
            return error
        return None


def current_of(unit: Unit, job: Job) -> Container | None:
    """What bears the canonical name now; None too when the engine cannot be asked, or when it is somebody else's."""
    try:
        found = job.ports.engine.find_container(unit.name)
    except HomellmError:
        return None
    return found if found is not None and found.label(LABEL_STACK) == job.stack.name else None

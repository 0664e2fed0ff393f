"""Carry out the steps of a plan, and take them back. The only code that creates, stops, renames and removes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from homellm.deploy.engine_return import once_reachable
from homellm.deploy.free_names import names_given
from homellm.deploy.scope import Scope, shielded
from homellm.deploy.session import Emit, Ports
from homellm.deploy.stopping import stop
from homellm.domain.events import Note, StepFinished, StepStarted
from homellm.domain.names import FAILED, LABEL_STACK
from homellm.domain.steps import (
    CreateContainer,
    CreateNetwork,
    Plan,
    RemoveContainer,
    RemoveNetwork,
    RenameContainer,
    SetRestartPolicy,
    StartContainer,
    Step,
    StopContainer,
    VerifyModel,
)
from homellm.errors import ContainerGone, EngineUnreachable, HomellmError, Interrupted, NotRemoved
from homellm.render.body import api_body

#: Steps that are taken back even when they fail half-way. A creation or a renaming that fails has done nothing, and
#: what bears the name then may be somebody else's.
_HALF_DONE = (StopContainer, VerifyModel, SetRestartPolicy)

#: Verifies the container of that name; raises HomellmError when it is not as declared.
Verify = Callable[[str, Scope], None]


@dataclass(slots=True)
class Swap:
    """The execution of the plan of one unit, or of several that move together.

    `verify` is called for the plan's VerifyModel steps. An engine that went away is waited for `engine_return_s`
    before anything is taken back. `done` are the steps that were carried out, `undone`
    those that an undo carried out. `failed` is the unit of the step that was last begun, in a plan of several.
    """

    ports: Ports
    scope: Scope
    emit: Emit
    verify: Verify
    engine_return_s: float
    done: list[Step] = field(default_factory=list)
    undone: tuple[Step, ...] = ()
    engine_was_away: bool = False
    failed: str | None = None

    def run(self, plan: Plan) -> None:
        """Carry out every step in order.

        A step that fails takes all before it back, in reverse order, and its error is raised; a fault of homellm's
        own does so too, since it must not leave the old container stopped. Ctrl-C is heeded between steps until the
        last verification has passed: the renames after it take milliseconds and are finished. What the engine cannot
        remove fails the plan only where its name is needed.
        """
        proofs = [at for at, step in enumerate(plan.steps, start=1) if isinstance(step, VerifyModel)]
        proved = proofs[-1] if proofs else len(plan.steps)
        try:
            for at, step in enumerate(plan.steps, start=1):
                self.failed = step.model
                if at <= proved:
                    self.scope.check()
                if isinstance(step, RemoveContainer) and step.target not in names_given(plan.steps[at:]):
                    clear(step, step.target, self.ports, self.scope, self.emit)
                    continue
                self._do(step, self.scope)
        except Exception as error:
            self.undo(error)
            raise

    def undo(self, reason: Exception) -> None:
        """Take back what was done, newest first; what cannot be taken back is told and the rest goes on.

        A successor that was interrupted, that somebody removes, or that the failure of another unit takes back, did not
        fail: it is removed, and an older failure stays.
        """
        undone = tuple(back for step in reversed(self.done) for back in step.undo)
        if isinstance(reason, Interrupted):
            undone = _without_failure(undone, "it was interrupted before it was proved")
        elif isinstance(reason, ContainerGone):
            undone = _without_failure(undone, "somebody has begun to remove it")
        elif self.failed is not None:
            undone = _without_failure(undone, "it moves together with one that failed", self.failed)
        self.done.clear()
        self.restore(undone, f"while taking back after: {reason}")

    def restore(self, steps: tuple[Step, ...], when: str) -> None:
        """Carry these steps out, whatever becomes of each: they lead back to what served."""
        self.undone = steps
        for back in steps:
            error = self.take_back(back)
            if error is not None:
                self.emit(Note(f"could not {back.title}: {error} ({when})", model=back.model, warning=True))

    def take_back(self, back: Step) -> HomellmError | None:
        """Carry out one step of an undo; the error that kept it from being done. What is gone needs no undo.

        An engine that is away, as a daemon is that is being restarted, is waited for.
        """
        try:
            try:
                self._carry_out(back, shielded())
            except EngineUnreachable:
                self.engine_was_away = True
                once_reachable(lambda: self._carry_out(back, shielded()), self.engine_return_s)
        except ContainerGone:
            return None
        except HomellmError as error:
            return error
        return None

    def _do(self, step: Step, scope: Scope) -> None:
        self.emit(StepStarted(step))
        half_done = isinstance(step, _HALF_DONE)
        if half_done:
            self.done.append(step)
        try:
            self._carry_out(step, scope)
        except EngineUnreachable:
            if isinstance(step, StartContainer):
                self.done.append(step)  # nobody knows whether it started: stopping it is right either way
            raise
        if not half_done:
            self.done.append(step)
        if isinstance(step, CreateContainer):
            self._join_networks(step)
        self.emit(StepFinished(step))

    def _carry_out(self, step: Step, scope: Scope) -> None:
        engine = self.ports.engine
        match step:
            case CreateContainer():
                self._create(step)
            case StartContainer():
                engine.start(step.target)
            case StopContainer():
                stop(step.target, step.grace_s, self.ports, scope)
            case VerifyModel():
                self.verify(step.target, scope)
            case SetRestartPolicy():
                engine.set_restart_policy(step.target, step.policy)
            case RenameContainer():
                engine.rename(step.target, step.name)
            case RemoveContainer():
                remove(step.target, self.ports, scope)
            case CreateNetwork():
                engine.create_network(step.target, {LABEL_STACK: step.stack})
            case RemoveNetwork():
                engine.remove_network(step.target)
            case _:
                raise TypeError(f"no way to carry out {step.kind}")

    def _create(self, step: CreateContainer) -> None:
        # `no` whatever is declared: a successor that is not verified must not come up by itself.
        created = self.ports.engine.create(step.target, api_body(step.spec, step.labels, restart="no"))
        for warning in created.warnings:
            self.emit(Note(f"the engine warns: {warning}", model=step.model, warning=True))

    def _join_networks(self, step: CreateContainer) -> None:
        """Join the networks after the first: Engine 20.10 takes one at creation."""
        for network in step.spec.networks[1:]:
            self.ports.engine.connect_network(network.name, step.target, network.aliases)


def _without_failure(steps: tuple[Step, ...], cause: str, failed: str | None = None) -> tuple[Step, ...]:
    """The undo with a successor removed where it would be kept under `.failed`, but for that of `failed`."""
    renamed = (s for s in steps if isinstance(s, RenameContainer) and s.name.endswith(FAILED))
    kept = {s.name: s for s in renamed if failed is None or s.model != failed}
    result: list[Step] = []
    for step in steps:
        if isinstance(step, RenameContainer) and step.name in kept:
            result.append(RemoveContainer(target=step.target, model=step.model, cause=cause))
        elif not (isinstance(step, RemoveContainer) and step.target in kept):
            result.append(step)
    return tuple(result)


def clear(step: RemoveContainer, ref: str, ports: Ports, scope: Scope, emit: Emit, grace_s: float = 0) -> bool:
    """Stop and remove a container whose name nobody waits for; whether it is gone.

    What the engine could not take away is dead and in nobody's way, so it is told and no error.
    """
    emit(StepStarted(step))
    try:
        remove(ref, ports, scope, grace_s)
    except NotRemoved as error:
        (problem,) = error.problems
        emit(Note(f"{problem.message} {problem.hint}", model=step.model, warning=True))
        return False
    emit(StepFinished(step))
    return True


def remove(ref: str, ports: Ports, scope: Scope, grace_s: float = 0) -> None:
    """Stop a container and remove it; one that is gone is done."""
    stop(ref, grace_s, ports, scope)
    ports.engine.remove(ref)

"""One pull, of an image or of a model's files, told while it runs and given up on Ctrl-C."""

from __future__ import annotations

from homellm.deploy.scope import Scope
from homellm.deploy.session import Emit
from homellm.domain.events import Progress, StepFinished, StepStarted
from homellm.domain.steps import Step
from homellm.errors import HomellmError, Problem
from homellm.ports import PullStream


def carry(step: Step, stream: PullStream, scope: Scope, emit: Emit) -> tuple[Problem, ...]:
    """Carry a pull out; what kept it from its end, empty when it is done."""
    emit(StepStarted(step))
    try:
        with scope.closing(stream.close):
            for progress in stream:
                scope.check()
                emit(
                    Progress(
                        step.model or "",
                        "pulling",
                        progress.status,
                        done_bytes=progress.done_bytes,
                        total_bytes=progress.total_bytes,
                        what=step.target,
                    )
                )
        scope.check()
    except HomellmError as error:
        return _interrupted(scope) or error.problems
    emit(StepFinished(step))
    return ()


def _interrupted(scope: Scope) -> tuple[Problem, ...]:
    """A pull that was given up says so, whatever error its closed stream ended with."""
    try:
        scope.check()
    except HomellmError as error:
        return error.problems
    return ()

"""Bring the images that models need, several at once."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from homellm.deploy.scope import Scope
from homellm.deploy.select import select
from homellm.deploy.session import Emit, Options, Ports
from homellm.deploy.threads import side_by_side
from homellm.domain.events import Progress, StackFinished, StackOpened, StepFinished, StepStarted
from homellm.domain.reports import ModelReport, StackReport
from homellm.domain.stack import Model, Stack
from homellm.domain.steps import PullImage
from homellm.domain.verdicts import State
from homellm.errors import HomellmError, Problem


def pull(
    stack: Stack,
    only: tuple[str, ...],
    ports: Ports,
    options: Options,  # noqa: ARG001 - every verb takes the same
    scope: Scope,
    emit: Emit,
) -> StackReport:
    """Ask the registry for every image of the models named, also for those that are here.

    A model whose image could not be had is failed, the others are unverified: nothing was started.
    """
    models = select(stack, only)
    emit(StackOpened(stack.name, tuple(model.name for model in models)))
    steps = {model.image: _step(model, "asked for by homellm pull") for model in models}
    problems = run_pulls(steps, models, ports, scope, emit)
    scope.check()
    reports = tuple(
        ModelReport(name=m.name, state=State.FAILED, problems=problems[m.name])
        if m.name in problems
        else ModelReport(name=m.name, state=State.UNVERIFIED, runner=m.runner)
        for m in models
    )
    report = StackReport(stack=stack.name, models=reports)
    emit(StackFinished(report))
    return report


def missing_images(models: tuple[Model, ...], ports: Ports) -> dict[str, PullImage]:
    """A step for each image that has to be asked for before anything can be planned."""
    steps: dict[str, PullImage] = {}
    for model in models:
        if model.image in steps:
            continue
        if model.pull == "always":
            steps[model.image] = _step(model, "pull: always")
        elif model.pull == "missing" and ports.engine.find_image(model.image) is None:
            steps[model.image] = _step(model, "the image is not here")
    return steps


def _step(model: Model, cause: str) -> PullImage:
    return PullImage(target=model.image, model=model.name, cause=cause)


def run_pulls(
    steps: dict[str, PullImage], models: tuple[Model, ...], ports: Ports, scope: Scope, emit: Emit
) -> dict[str, tuple[Problem, ...]]:
    """Carry the pulls out side by side; the problems by the name of each model that needs an image it did not get."""
    work: dict[str, Callable[[Emit], tuple[Problem, ...]]] = {
        image: partial(_pull_one, step, ports, scope) for image, step in steps.items()
    }
    failed = side_by_side(work, emit)
    return {model.name: failed[model.image] for model in models if failed.get(model.image)}


def _pull_one(step: PullImage, ports: Ports, scope: Scope, emit: Emit) -> tuple[Problem, ...]:
    emit(StepStarted(step))
    stream = ports.engine.pull(step.target)
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
                    )
                )
        scope.check()
    except HomellmError as error:
        scope_error = _interrupted(scope)
        return scope_error or error.problems
    emit(StepFinished(step))
    return ()


def _interrupted(scope: Scope) -> tuple[Problem, ...]:
    """A pull that was given up says so, whatever error its closed stream ended with."""
    try:
        scope.check()
    except HomellmError as error:
        return error.problems
    return ()

"""Bring the images that models need, several at once."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from homellm.deploy.scope import Scope
from homellm.deploy.select import select, servers_of
from homellm.deploy.session import Emit, Options, Ports
from homellm.deploy.threads import side_by_side
from homellm.domain.events import Progress, StackFinished, StackOpened, StepFinished, StepStarted
from homellm.domain.reports import ModelReport, StackReport
from homellm.domain.stack import Declared, Model, Stack
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
    steps = {one.image: _step(one, "asked for by homellm pull") for one in with_images(stack, models)}
    failed = run_pulls(steps, ports, scope, emit)
    scope.check()
    problems = {model.name: failed.get(image_of(model, stack) or "", ()) for model in models}
    reports = tuple(
        ModelReport(name=m.name, state=State.FAILED, problems=problems[m.name])
        if problems[m.name]
        else ModelReport(name=m.name, state=State.UNVERIFIED, runner=m.runner)
        for m in models
    )
    report = StackReport(stack=stack.name, models=reports)
    emit(StackFinished(report))
    return report


def missing_images(declared: tuple[Declared, ...], ports: Ports) -> dict[str, PullImage]:
    """A step for each image that has to be asked for before anything can be planned."""
    steps: dict[str, PullImage] = {}
    for one in declared:
        if one.image in steps:
            continue
        if one.pull == "always":
            steps[one.image] = _step(one, "pull: always")
        elif one.pull == "missing" and ports.engine.find_image(one.image) is None:
            steps[one.image] = _step(one, "the image is not here")
    return steps


def with_images(stack: Stack, models: tuple[Model, ...]) -> tuple[Declared, ...]:
    """What of these models needs an image at once: a llama-server each, or the Ollama server that is ours.

    The image of a model that Ollama serves is for the ladder, and is brought when that is climbed.
    """
    own = tuple(model for model in models if model.runner == "llama-server")
    return (*own, *(server for server in servers_of(stack, models) if server.ours))


def image_of(model: Model, stack: Stack) -> str | None:
    """The image that a model needs at once; None for one on an Ollama that is not ours."""
    if model.runner == "llama-server":
        return model.image
    server = stack.ollama_server(model.server)
    return server.image if server is not None and server.ours else None


def _step(one: Declared, cause: str) -> PullImage:
    return PullImage(target=one.image, model=one.name, cause=cause)


def run_pulls(steps: dict[str, PullImage], ports: Ports, scope: Scope, emit: Emit) -> dict[str, tuple[Problem, ...]]:
    """Carry the pulls out side by side; the problems by image, for those that could not be had."""
    work: dict[str, Callable[[Emit], tuple[Problem, ...]]] = {
        image: partial(_pull_one, step, ports, scope) for image, step in steps.items()
    }
    return {image: problems for image, problems in side_by_side(work, emit).items() if problems}


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

"""What a rung of the ladder needs, brought while Ollama still serves: its image, and the file of a source on a hub.

Most models never come to the rung `source`, so its file is asked for there and not before.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from homellm.deploy.gather import gather
from homellm.deploy.job import Job
from homellm.deploy.pull import missing_images, run_pulls
from homellm.deploy.pull_models import HubFiles, ask_hub
from homellm.deploy.session import Emit
from homellm.deploy.settle import settle
from homellm.domain.stack import Model, Stack
from homellm.errors import Problem, Refused


def prepare(moved: Model, rung: str, job: Job, emit: Emit) -> Model:
    """Bring what is missing for `moved`, a model as llama-server is to serve it on `rung`; the model with its file.

    A file that nothing could be done with is not brought: what is known to stop the container is told before it.
    Raises Refused for what cannot be had, Interrupted on Ctrl-C, and EngineUnreachable.
    """
    if rung != "source" or moved.source.kind != "hf":
        _unless_failed(run_pulls(missing_images((moved,), job.ports), job.ports, job.scope, emit))
        return moved
    # One after another: of two models with one source the second finds what the first has brought.
    turn = job.turns.take(f"{moved.source}", job.scope)
    try:
        return _with_file(moved, job, emit)
    finally:
        turn.release()


def _with_file(moved: Model, job: Job, emit: Emit) -> Model:
    stack = _declaring(moved, job.stack)
    files = ask_hub(stack, (moved,), job.ports, job.options, job.scope, emit)
    _unless_failed(files.problems)
    (there,) = (one for one in files.located(stack).models if one.name == moved.name)
    if files.steps:
        _unless_failed({moved.name: _known_to_stop(there, stack, files, job)})
    images = missing_images((moved,), job.ports)
    _unless_failed(run_pulls(images, job.ports, job.scope, emit, files))
    return there


def _declaring(moved: Model, stack: Stack) -> Stack:
    """The stack as if it declared the model as it has moved."""
    return replace(stack, models=tuple(moved if one.name == moved.name else one for one in stack.models))


def _known_to_stop(there: Model, stack: Stack, files: HubFiles, job: Job) -> tuple[Problem, ...]:
    world = files.in_world(gather(stack, (there,), job.ports))
    return settle(there, stack, world, fit=job.options.fit)[2]


def _unless_failed(problems: Mapping[str, tuple[Problem, ...]]) -> None:
    found = tuple(problem for several in problems.values() for problem in several)
    if found:
        raise Refused(found[0].message, problems=found)

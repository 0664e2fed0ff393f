"""Two models of one Ollama server that turn out to be the same weights: it has them in memory once, with one ctx."""

from __future__ import annotations

from homellm.deploy.job import Job
from homellm.deploy.ollama_models import Named, lookup
from homellm.deploy.ollama_reached import Reached
from homellm.deploy.settle import unit_of
from homellm.domain.evidence import Load
from homellm.domain.stack import Model
from homellm.errors import Problem, Refused
from homellm.health.checks.ollama import is_loaded_with
from homellm.runners.ollama_models import served_name

#: As the loader calls what it sees in the stack file already: two models of one source that differ in `ctx`.
CONTRADICTION = "contradiction"


def ensure_alone(model: Model, named: Named, last: tuple[Load, ...], reached: Reached, job: Job) -> None:
    """Refuse to load a model whose weights another one of the stack has in memory with a context of its own.

    Two tags of a registry often name the same weights, and what an Ollama before 0.30 makes from a file is that file
    (seen at 0.24.0); only the store tells. To load the one would put out the other, and its next request would load it
    back. `last` is the last load of these weights. One that got too few slots there moves, and is nobody's hindrance.
    Raises Refused.
    """
    for other in job.stack.models_on(reached.server):
        if other.name == model.name or other.ctx == model.ctx or not _serves(other, last):
            continue
        stored = lookup(served_name(other), reached)
        if stored.usable and stored.blob_name == named.stored.blob_name and not _has_moved(other, job):
            raise _refused(model, other, reached)


def _serves(other: Model, last: tuple[Load, ...]) -> bool:
    return any(is_loaded_with(load, other.ctx) and load.slots == other.parallel and load.ready for load in last)


def _has_moved(other: Model, job: Job) -> bool:
    return unit_of(other, job.stack, job.world).current is not None


def _refused(model: Model, other: Model, reached: Reached) -> Refused:
    problem = Problem(
        id=CONTRADICTION,
        message=f"models {other.name} and {model.name} are the same weights on the Ollama server {reached.server.name},"
        f" with {other.ctx} and {model.ctx} tokens a slot: it has them in memory once, so each request to one would put"
        " out the other",
        hint="Give both the same `ctx`, set `runner: llama-server` at one of them, or declare a second server under"
        " `ollama:`.",
        model=model.name,
    )
    return Refused(problem.message, problems=(problem,))

"""A request to an Ollama that was cut off: whether its server ended, as the engine tells it."""

from __future__ import annotations

from homellm.deploy.engine_return import once_reachable
from homellm.deploy.follow import TICK_S
from homellm.deploy.job import Job
from homellm.deploy.look import not_running, paused
from homellm.deploy.ollama_reached import Reached
from homellm.domain.evidence import Chat
from homellm.domain.stack import Model
from homellm.domain.world import Container
from homellm.errors import HomellmError, OllamaUnreachable, Problem

#: The engine may note the end of a process a moment after its connections broke.
_LOOKS = 20


def told_as_end(error: HomellmError, model: Model, reached: Reached, job: Job) -> tuple[Problem, ...]:
    """The problems of an error; where nobody answers because the server of the stack ended, that is what is told."""
    ended = end_of(model, reached, job) if isinstance(error, OllamaUnreachable) else None
    return error.problems if ended is None else (ended,)


def unanswered(chat: Chat | None, model: Model, reached: Reached, job: Job) -> Problem | None:
    """Why a model's one request had no answer at all, where that is that the server ended."""
    return end_of(model, reached, job) if chat is not None and not chat.status else None


def end_of(model: Model, reached: Reached, job: Job) -> Problem | None:
    """That the server ended, or was started anew, since it was reached; None where it runs on or is not ours."""
    begun = reached.container
    if begun is None:
        return None
    for _ in range(_LOOKS):
        now = _find(begun, job)
        if now is None or not now.running or paused(now) or now.started_at != begun.started_at:
            return _ended(begun, now, model, job)
        if job.scope.wait(TICK_S):
            break
    return None


def _find(begun: Container, job: Job) -> Container | None:
    engine = job.ports.engine
    return once_reachable(lambda: engine.find_container(begun.id), job.options.engine_return_s)


def _ended(begun: Container, now: Container | None, model: Model, job: Job) -> Problem:
    server = f"{begun.name}, the Ollama server of {model.name},"
    if now is None:
        message = f"{server} was removed in the middle"
        return Problem(id="container-gone", message=message, hint="homellm up makes it anew.", model=model.name)
    again = f"homellm up goes on. Why it ended: homellm logs {model.name}"
    if now.running and not paused(now):
        message = f"{server} ended in the middle and was started again"
        return Problem(id="server-ended", message=message, hint=again, model=model.name)
    problem = not_running(model, now, job.ports)
    if problem.id != "not-running":
        return problem
    message = f"{server} ended in the middle ({now.status}, exit code {now.exit_code})"
    return Problem(id="server-ended", message=message, hint=again, model=model.name)

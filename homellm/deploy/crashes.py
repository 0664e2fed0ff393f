"""Servers that ended and were started again by the engine: whether they came back, and if not, why they end."""

from __future__ import annotations

from datetime import datetime, timedelta

from homellm.deploy.observe import read_log
from homellm.deploy.session import Ports
from homellm.domain.engine_time import engine_time
from homellm.domain.evidence import LogSummary
from homellm.domain.stack import Model
from homellm.domain.world import NEVER, Container
from homellm.errors import Problem
from homellm.health.exits import diagnose_exit, log_reason

#: A large model may load for a minute before its server ends again, so one that ended more than once has to run longer
#: than that to be believed.
STEADY_S = 60.0
#: The engine stamps the last lines of a run a little after its end, and starts the next one 100 ms after it.
_LATE = timedelta(milliseconds=80)


def was_restarted(container: Container) -> bool:
    """Whether the engine started it again after it had ended by itself, since somebody started it."""
    return container.restart_count > 0 or container.status == "restarting"


def loops(container: Container) -> bool:
    """Whether one that does not serve ends again and again: it is being started again, or was several times."""
    return container.status == "restarting" or container.restart_count > 1


def seems_to_loop(container: Container, now: datetime) -> bool:
    """The same by inspect alone: in a loop it is `running` for moments. One whose own health check passes serves."""
    if container.status == "restarting" or not loops(container):
        return container.status == "restarting"
    ran_s = (now - engine_time(container.started_at)).total_seconds()
    return container.health != "healthy" and ran_s < STEADY_S


def came_back(container: Container, model: str) -> str:
    """What is said of one that ended, was started again and runs on."""
    return (
        f"It ended and was started again {_times(container.restart_count)}, last at {_moment(container.finished_at)}: "
        f"homellm logs {model} tells why; homellm restart {model} clears the count."
    )


def crash_problem(model: Model, container: Container, ports: Ports) -> Problem:
    """That a server ends again and again, with the reason that the log of its last run gives."""
    summary = log_of_last_run(container, ports)
    hint = f"Read its log: homellm logs {model.name}"
    message = f"{container.name} crashes again and again: {container.restart_count} restarts"
    if container.restart_count <= 1:
        message = f"{container.name} crashed and is being started again"
    if not container.running:
        message += f", last exit code {container.exit_code}"
        said: Problem | None = diagnose_exit(
            container.exit_code,
            oom_killed=container.oom_killed,
            summary=summary,
            memory_limit_bytes=container.memory_bytes or None,
            image=container.image,
        )
    else:
        said = log_reason(summary)  # the engine forgets the exit code once the next run begins
    if said is not None:
        message, hint = f"{message}: {said.message}", said.hint or hint
    hint = f"{hint.rstrip('.')}. Once that is mended, homellm restart {model.name} starts it at once."
    return Problem(id="not-running", message=message, hint=hint, model=model.name)


def log_of_last_run(container: Container, ports: Ports) -> LogSummary:
    """The summary of the run that ended last: what the next one wrote meanwhile would hide why."""
    return read_log(container, ports, until=_end(container)) if was_restarted(container) else read_log(container, ports)


def _end(container: Container) -> str | None:
    if container.finished_at == NEVER:
        return None
    return f"{engine_time(container.finished_at) + _LATE:%Y-%m-%dT%H:%M:%S.%f}Z"


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def _moment(text: str) -> str:
    """A time of the engine as people read it."""
    return "a time that it does not tell" if text == NEVER else f"{engine_time(text):%Y-%m-%d %H:%M:%S} UTC"

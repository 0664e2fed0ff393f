"""The one exception tree of homellm: what happened, what to type next, and the exit code it ends with.

Exit codes (see docs/cli.md): 1 a fault of homellm itself, 2 the command line or the stack file, 3 the engine
cannot be reached, 4 the host, an image, a model file or the engine refuses, 5 degraded, 130 interrupted.
"""

from __future__ import annotations

import errno
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum


class ExitCode(IntEnum):
    """The exit codes of every verb."""

    OK = 0
    FAULT = 1
    USAGE = 2
    ENGINE_UNREACHABLE = 3
    REFUSED = 4
    DEGRADED = 5
    CHANGES = 6
    INTERRUPTED = 130


#: Which of several exit codes wins, the first one that occurred.
PRECEDENCE = (
    ExitCode.INTERRUPTED,
    ExitCode.FAULT,
    ExitCode.ENGINE_UNREACHABLE,
    ExitCode.USAGE,
    ExitCode.REFUSED,
    ExitCode.DEGRADED,
    ExitCode.CHANGES,
    ExitCode.OK,
)


def worst(codes: list[ExitCode]) -> ExitCode:
    """The exit code that stands for all of `codes`; OK for none."""
    return next((code for code in PRECEDENCE if code in codes), ExitCode.OK)


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong, as people and programs are told it.

    `id` is stable and lower-case (`port-taken`), `message` says what happened and why, `hint` what to type or change
    next. `file`, `line` and `column` (from 1) point into the stack file where one is to blame, `excerpt` is that line
    with a caret under the place. `model` names the model concerned, None for the whole stack.
    """

    id: str
    message: str
    hint: str = ""
    file: str | None = None
    line: int | None = None
    column: int | None = None
    excerpt: str | None = None
    model: str | None = None
    exit_code: ExitCode = ExitCode.REFUSED


class HomellmError(Exception):
    """The root: carries one or more problems and the exit code that they lead to."""

    exit_code: ExitCode = ExitCode.FAULT
    default_id: str = "fault"

    def __init__(self, message: str, *, hint: str = "", id: str = "", problems: tuple[Problem, ...] = ()) -> None:
        super().__init__(message)
        self.problems = problems or (
            Problem(id=id or self.default_id, message=message, hint=hint, exit_code=self.exit_code),
        )

    @property
    def hint(self) -> str:
        """What to type or change next; empty when there is nothing to say."""
        return self.problems[0].hint


class UsageError(HomellmError):
    """The command line asks for something that does not exist or contradicts itself (exit 2)."""

    exit_code = ExitCode.USAGE
    default_id = "usage"


class StackFileError(HomellmError):
    """The stack file is wrong; `problems` holds every error of the file (exit 2)."""

    exit_code = ExitCode.USAGE
    default_id = "stack-file"


class EngineUnreachable(HomellmError):
    """No Docker Engine answers: absent, not permitted, or a context points elsewhere (exit 3)."""

    exit_code = ExitCode.ENGINE_UNREACHABLE
    default_id = "engine-unreachable"


class Refused(HomellmError):
    """The host, an image, a model file or the engine refuses what was asked (exit 4)."""

    exit_code = ExitCode.REFUSED
    default_id = "refused"


class TooManyFiles(Refused):
    """This process may not open one more file or connection, or the machine may not."""

    default_id = "too-many-files"

    def __init__(self) -> None:
        super().__init__(
            "Too many open files: homellm holds a few connections for each model, and may not open one more.",
            hint="ulimit -n shows the limit of this shell. Raise it: ulimit -n 1024, or name fewer models at once.",
        )

    @staticmethod
    def caused(error: BaseException) -> bool:
        """Whether the limit of open files is at the bottom of an error, or of what a library made of it."""
        return any(isinstance(one, OSError) and one.errno in (errno.EMFILE, errno.ENFILE) for one in chain(error))


def chain(error: BaseException) -> Iterator[BaseException]:
    """An error, what it carries in its arguments, and what it was raised from, each once."""
    seen: set[int] = set()
    waiting: list[object] = [error]
    while waiting:
        one = waiting.pop(0)
        if isinstance(one, BaseException) and id(one) not in seen:
            seen.add(id(one))
            yield one
            waiting += [*one.args, getattr(one, "reason", None), one.__cause__, one.__context__]


class EngineRefused(Refused):
    """The engine answered with an error; `original` is its own text, shown under --debug."""

    default_id = "engine-refused"

    def __init__(self, message: str, *, hint: str = "", id: str = "", original: str = "") -> None:
        super().__init__(message, hint=hint, id=id)
        self.original = original


class ContainerGone(EngineRefused):
    """The container asked about does not exist (any more)."""

    default_id = "container-gone"


class NotRemoved(EngineRefused):
    """The engine began to remove a container and could not end it: what is left is dead, and keeps its name."""

    default_id = "not-removed"


class NameTaken(EngineRefused):
    """Another container or network has that name."""

    default_id = "name-taken"


class PullFailed(Refused):
    """An image or a model cannot be had: it does not exist, what has it is out of reach, or the disk is full.

    `original` is the engine's or the hub's own text, shown under --debug.
    """

    default_id = "pull-failed"

    def __init__(self, message: str, *, hint: str = "", id: str = "", original: str = "") -> None:
        super().__init__(message, hint=hint, id=id)
        self.original = original


class HubUnreachable(PullFailed):
    """No model hub answers: none there, switched off, or not in time."""

    default_id = "hub-unreachable"


class OllamaFailed(Refused):
    """An Ollama server answered with an error; `original` is its own text, shown under --debug.

    `status` is HTTP's, 200 for an error that came in the midst of a stream.
    """

    default_id = "ollama-refused"

    def __init__(self, message: str, *, hint: str = "", id: str = "", original: str = "", status: int = 0) -> None:
        super().__init__(message, hint=hint, id=id)
        self.original = original
        self.status = status


class OllamaUnreachable(OllamaFailed):
    """No Ollama answers at its address, or not in time."""

    default_id = "ollama-unreachable"


class ModelAbsent(OllamaFailed):
    """The Ollama server has no model of that name."""

    default_id = "model-absent"


class Locked(Refused):
    """Another homellm is at work on this stack."""

    default_id = "locked"


class Interrupted(HomellmError):
    """Ctrl-C or SIGTERM (exit 130)."""

    exit_code = ExitCode.INTERRUPTED
    default_id = "interrupted"

"""Find and read the stack file; loading then says what it means."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path

from homellm.errors import ExitCode, HomellmError, Problem, StackFileError

DEFAULT_NAME = "homellm.yaml"
#: A stack file of a hundred models has 100 kB. What is larger is some other file.
LIMIT_BYTES = 1024 * 1024

_HINT = "Name it with --file or in HOMELLM_FILE, or change to the folder of your homellm.yaml."


def locate(option: Path | None, environ: Mapping[str, str]) -> Path:
    """The stack file: the option, then HOMELLM_FILE, then ./homellm.yaml. Whether it is there shows on reading."""
    return option or Path(environ.get("HOMELLM_FILE") or DEFAULT_NAME)


def read(path: Path) -> str:
    """The text of a stack file. Raises StackFileError when it cannot be read as one."""
    try:
        with path.open("rb") as file:
            data = file.read(LIMIT_BYTES + 1)
    except FileNotFoundError:
        raise _wrong(path, "there is no such file", f"{_HINT}{_example(path)}") from None
    except IsADirectoryError:
        raise _wrong(path, "this is a folder and no stack file", _HINT) from None
    except PermissionError:
        raise _wrong(path, "it may not be read", f"Let this user read it: ls -l {path}") from None
    except (OSError, ValueError) as error:
        raise _wrong(path, f"it cannot be read: {getattr(error, 'strerror', None) or error}", _HINT) from None
    if len(data) > LIMIT_BYTES:
        raise _wrong(path, "it is larger than 1 MiB, so it is no stack file", _HINT)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        column = error.start - data.rfind(b"\n", 0, error.start)
        raise _wrong(path, "it is not UTF-8 text", "Save it as UTF-8.", line=line, column=column) from None


def _example(path: Path) -> str:
    """How to begin a stack file: a line of a hint, empty where no examples are installed."""
    from homellm.resources import stacks_root

    try:
        example = stacks_root() / "cpu-only.yaml"
    except HomellmError:
        return ""
    command = f"cp {shlex.quote(str(example))} {shlex.quote(str(path))}"
    return f"\nTo begin one, copy an example and change what it says of models (others lie beside it):\n{command}"


def _wrong(
    path: Path, message: str, hint: str, *, line: int | None = None, column: int | None = None
) -> StackFileError:
    problem = Problem(
        id="stack-file",
        message=message,
        hint=hint,
        file=str(path),
        line=line,
        column=column,
        exit_code=ExitCode.USAGE,
    )
    return StackFileError(message, hint=hint, problems=(problem,))

"""What ends a verb early, told to people on stderr or to programs as JSON on stdout, and its exit code."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from homellm.cli.streams import NotWritten, errors_output, screen_width, write_document
from homellm.errors import EngineRefused, ExitCode, HomellmError, Interrupted, Problem, TooManyFiles

if TYPE_CHECKING:
    from homellm.cli.options import Common


def tell_error(error: HomellmError, common: Common, stack: str | None = None) -> ExitCode:
    """Tell an error of the tree; its exit code."""
    if isinstance(error, NotWritten):
        errors_output().write(f"error: {error}\n")
    elif isinstance(error, Interrupted) and not common.json:
        errors_output().write(f"{error}\n")
    else:
        _tell(error.problems, common, stack)
    if common.debug:
        _debug(error)
    return error.exit_code


def tell_fault(error: Exception, common: Common, stack: str | None = None) -> ExitCode:
    """Tell an exception that should not have been: a fault of homellm, unless the limit of open files is behind it."""
    if TooManyFiles.caused(error):
        return tell_error(TooManyFiles(), common, stack)
    what = f"{type(error).__name__}: {error}".rstrip(": ")
    message = f"a fault of homellm, not of your stack: {what}"
    hint = "Please report it with the output of the same command under --debug."
    _tell((Problem("fault", message, hint, exit_code=ExitCode.FAULT),), common, stack)
    if common.debug:
        _traceback(error)
    return ExitCode.FAULT


def tell_usage(message: str, hint: str, common: Common) -> ExitCode:
    """Tell what is wrong with the command line."""
    _tell((Problem("usage", message, hint, exit_code=ExitCode.USAGE),), common, None)
    return ExitCode.USAGE


def tell_interrupt(common: Common) -> ExitCode:
    """Ctrl-C where there was nothing to undo."""
    return tell_error(Interrupted("interrupted"), common)


def _tell(problems: tuple[Problem, ...], common: Common, stack: str | None) -> None:
    from homellm.cli.typed import commands
    from homellm.report.json_report import error_document
    from homellm.report.problems import problems_text

    problems = commands(common).of(problems)
    if common.json:
        write_document(error_document(stack, problems))
    else:
        errors_output().write(problems_text(problems, width=screen_width(sys.stderr)))


def _debug(error: HomellmError) -> None:
    if isinstance(error, EngineRefused) and error.original:
        errors_output().write(f"  the engine said: {error.original}\n")
    _traceback(error)


def _traceback(error: Exception) -> None:
    import traceback

    errors_output().write("".join(traceback.format_exception(error)))

"""stdout and stderr of this process, as sinks and tables use them."""

from __future__ import annotations

import errno
import io
import os
import shutil
import sys
from typing import TYPE_CHECKING, TextIO

from homellm.errors import ExitCode, HomellmError

if TYPE_CHECKING:
    from homellm.cli.options import Common
    from homellm.report.json_report import Document
    from homellm.report.stream import Output


class NotWritten(HomellmError):
    """stdout does not take what was to be printed: a full disk, say (exit 1). It can only be told on stderr."""

    default_id = "stdout"


def output(common: Common) -> Output:
    """stdout, with colours where they are wanted."""
    from homellm.report.stream import Output, wants_colour

    stream = _stream(sys.stdout)
    return Output(stream, colour=wants_colour(stream, os.environ, no_color=common.no_color))


def errors_output() -> Output:
    """stderr, never coloured: its lines begin with a word that says what they are."""
    from homellm.report.stream import Output

    return Output(_stream(sys.stderr))


def live(common: Common) -> bool:
    """Whether lines can be redrawn in place: stdout is a terminal that can move its cursor."""
    return not common.json and _is_terminal(_stream(sys.stdout)) and os.environ.get("TERM", "dumb") != "dumb"


def screen_width(stream: TextIO | None) -> int | None:
    """The columns of the terminal behind a stream; None for a pipe or a file, whose lines are never broken."""
    if stream is None or not _is_terminal(stream):
        return None
    return max(20, shutil.get_terminal_size().columns)


def write_document(document: Document) -> None:
    """Print one JSON document in UTF-8, whatever the locale says. A reader that has gone is no error.

    Raises NotWritten when stdout does not take it.
    """
    from homellm.report.json_report import text

    stream = _stream(sys.stdout)
    data = text(document)
    try:
        if hasattr(stream, "buffer"):
            stream.flush()
            # Half a surrogate pair (an undecodable file name) becomes \udcXX, which JSON reads back.
            stream.buffer.write(data.encode("utf-8", "backslashreplace"))
        else:
            stream.write(data)
        stream.flush()
    except BrokenPipeError:
        return
    except OSError as error:
        raise NotWritten(_not_written(error)) from error


def write_text(common: Common, text: str) -> None:
    """Print what a verb found. Raises NotWritten when stdout does not take it."""
    out = output(common)
    out.write(text)
    check(out)


def check(out: Output) -> None:
    """Raise NotWritten if the stream has not taken everything; a reader that has gone is no error."""
    if out.failure is not None:
        raise NotWritten(_not_written(out.failure)) from out.failure


def finish(code: ExitCode | int) -> int:
    """Flush what is left. A reader that has gone is quiet; a disk that is full is not, and makes a success a fault.

    What could not be written stays in the buffer and fails here again: it was told already when `code` is no success.
    """
    for stream in (sys.stdout, sys.stderr):
        if stream is None:
            continue
        try:
            stream.flush()
        except (OSError, ValueError) as error:
            _detach(stream)
            if _nobody_reads(error):
                continue
            if stream is sys.stdout and not code:
                errors_output().write(f"error: {_not_written(error)}\n")
            code = code or ExitCode.FAULT
    return int(code)


def unwritten(error: OSError | ValueError) -> int:
    """The exit code once stdout has not taken what was printed; nothing of that may be left for `finish` to find."""
    _detach(sys.stdout)
    if _nobody_reads(error):
        return finish(ExitCode.OK)
    errors_output().write(f"error: {_not_written(error)}\n")
    return finish(ExitCode.FAULT)


def _nobody_reads(error: OSError | ValueError) -> bool:
    """Whether a reader has gone, or a terminal went away."""
    return isinstance(error, BrokenPipeError) or getattr(error, "errno", None) == errno.EIO


def _detach(stream: TextIO) -> None:
    """Point a broken stream at nothing, so that the interpreter's own flush at exit cannot fail again."""
    try:
        nothing = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nothing, stream.fileno())
        os.close(nothing)
    except (OSError, ValueError):
        pass


def _stream(stream: TextIO | None) -> TextIO:
    """The stream itself, or nothing to write to when it was closed before homellm began (`>&-`)."""
    return io.StringIO() if stream is None else stream


def _not_written(error: OSError | ValueError) -> str:
    return f"what was to be printed could not be written: {getattr(error, 'strerror', None) or error}"


def _is_terminal(stream: TextIO) -> bool:
    from homellm.report.stream import is_terminal

    return is_terminal(stream)

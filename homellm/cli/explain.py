"""`homellm explain`: what a log says, in words."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, BinaryIO

import typer

from homellm.cli.options import DebugOption, FormatOption, NoColorOption, common

if TYPE_CHECKING:
    from homellm.domain.evidence import LogSummary

#: Read so much at once: large enough that reading costs nothing, small enough to be no memory to speak of.
_CHUNK = 1 << 20


def explain(
    ctx: typer.Context,
    log: Annotated[
        Path | None,
        typer.Argument(metavar="FILE|-", show_default=False, help="A log; - or nothing reads standard input."),
    ] = None,
    format_: FormatOption = None,
    no_color: NoColorOption = False,
    debug: DebugOption = False,
) -> int:
    """Say what happened in a server's log, and what to do about it.

    The log of a llama-server or an Ollama server, in any form: docker logs, with -t or of Compose, the journal, JSON
    lines, with colours, of one model or of a router with several.
    """
    from homellm.cli import streams
    from homellm.errors import ExitCode
    from homellm.report.explain import explain_document, explain_text

    given = common(ctx, None, format_, no_color, debug)
    summary = _standard_input() if log is None or str(log) == "-" else _file(log)
    if given.json:
        streams.write_document(explain_document(summary))
    else:
        streams.output(given).write(explain_text(summary, width=streams.screen_width(sys.stdout)))
    return ExitCode.OK


def read_log(stream: BinaryIO) -> LogSummary:
    """What a whole log tells, read to its end in constant memory."""
    from homellm.health.reader import LogReader

    reader = LogReader()
    while frame := stream.read(_CHUNK):
        reader.feed(frame)
    return reader.finish()


def _standard_input() -> LogSummary:
    from homellm.errors import UsageError

    if sys.stdin is None or sys.stdin.isatty():
        raise UsageError(
            "there is no log to read", hint="Name a file, or pipe one in: docker logs NAME 2>&1 | homellm explain"
        )
    return read_log(sys.stdin.buffer)


def _file(path: Path) -> LogSummary:
    from homellm.errors import Refused, UsageError

    try:
        with path.open("rb") as stream:
            return read_log(stream)
    except FileNotFoundError as error:
        raise UsageError(
            f"there is no file {path}", hint="Check the path; - reads standard input.", id="no-file"
        ) from error
    except IsADirectoryError as error:
        raise UsageError(f"{path} is a folder, not a log", hint="Name the file itself.", id="no-file") from error
    except OSError as error:
        reason = error.strerror or str(error)
        raise Refused(f"{path} cannot be read: {reason}", hint="Check who may read it.", id="unreadable") from error

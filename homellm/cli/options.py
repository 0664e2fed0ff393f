"""The options that every verb takes, before it or after it, and the arguments that several share."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from pathlib import Path
from typing import Annotated, cast

import typer

from homellm.cli import completion
from homellm.cli.completion import stack_files


class Format(StrEnum):
    """How a verb tells what it found."""

    TABLE = "table"
    JSON = "json"


@dataclass(frozen=True, slots=True)
class Common:
    """What was given before the verb or after it; after it wins. `file` is None when neither named one.

    `by_name` is for a verb that needs the stack's name alone, not all of its file; `looking` for one that shows what
    runs and starts nothing: variables of what it does not show may be unset.
    """

    file: Path | None = None
    format: Format = Format.TABLE
    no_color: bool = False
    debug: bool = False
    by_name: bool = False
    looking: bool = False

    @property
    def json(self) -> bool:
        """Whether stdout belongs to one JSON document."""
        return self.format is Format.JSON


#: The longest timeout: what is longer is a slip of the finger, and `inf` would overflow every wait.
WEEK_S = 7 * 24 * 3600

_FILE_HELP = "The stack file; else HOMELLM_FILE, else ./homellm.yaml."

FileOption = Annotated[
    Path | None, typer.Option("--file", "-f", metavar="PATH", help=_FILE_HELP, autocompletion=stack_files)
]
#: For `logs`, where -f follows.
LongFileOption = Annotated[
    Path | None, typer.Option("--file", metavar="PATH", help=_FILE_HELP, autocompletion=stack_files)
]
FormatOption = Annotated[
    Format | None, typer.Option("--format", show_default=False, help="A table for people, or JSON for programs.")
]
#: For `logs`, which has no JSON form and says so.
HiddenFormatOption = Annotated[Format | None, typer.Option("--format", show_default=False, hidden=True)]
NoColorOption = Annotated[bool, typer.Option("--no-color", help="No colours; NO_COLOR does the same.")]
DebugOption = Annotated[bool, typer.Option("--debug", help="Show what the engine said, and tracebacks.")]

ModelsArgument = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="MODELS", show_default=False, help="Models; all when none is named.", autocompletion=completion.models
    ),
]
WaitTimeoutOption = Annotated[
    float,
    typer.Option("--wait-timeout", metavar="SECONDS", min=1, max=WEEK_S, help="The most that all of it may take."),
]
StallTimeoutOption = Annotated[
    float,
    typer.Option(
        "--stall-timeout", metavar="SECONDS", min=1, max=WEEK_S, help="The most that a start may go without progress."
    ),
]

NoFitOption = Annotated[
    bool, typer.Option("--no-fit", help="Start also what, by the reckoning, cannot fit into memory.")
]


def common(ctx: typer.Context, file: Path | None, format_: Format | None, no_color: bool, debug: bool) -> Common:
    """The common options of a verb: its own, and below them those that stood before it."""
    before = cast("Common", ctx.find_root().obj)
    return Common(
        file=file if file is not None else before.file,
        format=format_ if format_ is not None else before.format,
        no_color=no_color or before.no_color,
        debug=debug or before.debug,
    )


def given_in(argv: list[str]) -> Common:
    """What can be told of a command line that could not be read: the form of its errors."""
    words = argv[: argv.index("--")] if "--" in argv else argv
    json = "--format=json" in words or any(pair == ("--format", "json") for pair in pairwise(words))
    return Common(
        format=Format.JSON if json else Format.TABLE, no_color="--no-color" in words, debug="--debug" in words
    )

"""`homellm logs`."""

from __future__ import annotations

import contextlib
import shlex
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from homellm.cli.options import (
    DebugOption,
    HiddenFormatOption,
    LongFileOption,
    ModelsArgument,
    NoColorOption,
    common,
)

if TYPE_CHECKING:
    from homellm.cli.options import Common
    from homellm.domain.stack import Stack
    from homellm.errors import ExitCode


def logs(
    ctx: typer.Context,
    models: ModelsArgument = None,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on with new lines until Ctrl-C.")] = False,
    tail: Annotated[
        int | None,
        typer.Option("--tail", "-n", metavar="N", min=0, show_default=False, help="Only the last N lines of each."),
    ] = None,
    file: LongFileOption = None,
    format_: HiddenFormatOption = None,
    no_color: NoColorOption = False,
    debug: DebugOption = False,
) -> int:
    """Print the servers' logs.

    An Ollama server of the stack may be named like a model. Where there are several, each line stands behind its name.
    Ctrl-C ends -f. Here -f follows, and the stack file is named by --file. They are lines, with no JSON form.
    """
    from homellm.cli.failures import tell_error
    from homellm.errors import HomellmError, UsageError

    given = replace(common(ctx, file, format_, no_color, debug), looking=True)
    if given.json:
        raise UsageError(
            "logs are lines and no JSON document", hint="Leave --format json away, or see homellm explain."
        )
    stack, only = _prepare(given, models, follow=follow)
    try:
        return _print(given, stack, only, follow=follow, tail=tail)
    except HomellmError as error:
        return tell_error(error, given, stack.name)


def _prepare(given: Common, models: list[str] | None, *, follow: bool) -> tuple[Stack, tuple[str, ...]]:
    """The stack and the models; a file that stands where a model's name is due was meant for --file."""
    from homellm.cli.run_verb import prepare
    from homellm.errors import StackFileError, UsageError

    try:
        return prepare(given, models, servers=True)
    except (StackFileError, UsageError) as error:
        meant = next((name for name in models or () if Path(name).is_file()), None) if follow else None
        if meant is None or error.problems[0].id not in ("stack-file", "no-such-model"):
            raise
        others = [name for name in models or () if name != meant]
        command = shlex.join(["homellm", "--file", meant, "logs", "-f", *others])
        raise UsageError(
            f"{meant} is a file and no model: after logs, -f follows", hint=f"The stack file is --file: {command}"
        ) from error


def _print(given: Common, stack: Stack, only: tuple[str, ...], *, follow: bool, tail: int | None) -> ExitCode:
    from homellm.cli import signals, streams, wiring
    from homellm.deploy.logs import logs as act
    from homellm.deploy.scope import Scope
    from homellm.errors import ExitCode, Interrupted
    from homellm.report.layout import cell_width, pad

    ports, scope, out = wiring.connect(), Scope(), streams.output(given)
    out.colour = False
    shown = only or tuple(model.name for model in stack.models)
    names = max(map(cell_width, shown)) if len(shown) > 1 else 0

    def write(model: str, line: str) -> None:
        out.write(f"{pad(model, names)} | {line}\n" if names else f"{line}\n")
        if out.broken or out.failure is not None:
            scope.cancel()  # nobody reads any more, as in `homellm logs | head`

    # Ctrl-C is how a followed log is left: it needs no telling.
    with signals.cancelling(scope.cancel, lambda: None, lambda: None), contextlib.suppress(Interrupted):
        act(stack, only, ports, scope, follow=follow, tail=tail, write=write)
    streams.check(out)
    return ExitCode.INTERRUPTED if scope.cancelled and not out.broken else ExitCode.OK

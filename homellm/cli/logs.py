"""`homellm logs`."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Annotated

import typer

from homellm.cli.options import (
    DebugOption,
    FormatOption,
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
    format_: FormatOption = None,
    no_color: NoColorOption = False,
    debug: DebugOption = False,
) -> int:
    """Print the servers' logs.

    Where there are several, each line stands behind its model's name. Ctrl-C ends -f.
    """
    from homellm.cli.failures import tell_error
    from homellm.cli.run_verb import prepare
    from homellm.errors import HomellmError, UsageError

    given = common(ctx, file, format_, no_color, debug)
    if given.json:
        raise UsageError(
            "logs are lines and no JSON document", hint="Leave --format json away, or see homellm explain."
        )
    stack, only = prepare(given, models)
    try:
        return _print(given, stack, only, follow=follow, tail=tail)
    except HomellmError as error:
        return tell_error(error, given, stack.name)


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

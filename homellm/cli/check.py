"""`homellm check`."""

from __future__ import annotations

from typing import Annotated

import typer

from homellm.cli.options import DebugOption, FileOption, FormatOption, ModelsArgument, NoColorOption, common


def check(
    ctx: typer.Context,
    models: ModelsArgument = None,
    concurrency: Annotated[
        bool,
        typer.Option("--concurrency", help="Also ask as many short requests at once as there are slots."),
    ] = False,
    file: FileOption = None,
    format_: FormatOption = None,
    no_color: NoColorOption = False,
    debug: DebugOption = False,
) -> int:
    """Hold what runs against what was asked, and show the evidence.

    Changes nothing. Ends with 0 when everything is as declared, 5 when advice fails, 4 when a gate fails: fit for cron.
    """
    from homellm.cli.run_verb import deploy_options, run_verb
    from homellm.cli.typed import commands
    from homellm.deploy.check import check as act
    from homellm.report.check_table import check_table

    given = common(ctx, file, format_, no_color, debug)
    typed = commands(given)
    options = deploy_options(given, concurrency=concurrency)
    return run_verb(
        given,
        models,
        lambda call: typed.of(act(call.stack, call.only, call.ports, options, call.scope, typed.emit(call.emit))),
        lambda report, width: typed.text(check_table(report, width=width)),
        events=False,
    )

"""`homellm restart`."""

from __future__ import annotations

import typer

from homellm.cli.options import (
    DebugOption,
    FileOption,
    FormatOption,
    ModelsArgument,
    NoColorOption,
    StallTimeoutOption,
    WaitTimeoutOption,
    common,
)


def restart(
    ctx: typer.Context,
    models: ModelsArgument = None,
    wait_timeout: WaitTimeoutOption = 600,
    stall_timeout: StallTimeoutOption = 120,
    file: FileOption = None,
    format_: FormatOption = None,
    no_color: NoColorOption = False,
    debug: DebugOption = False,
) -> int:
    """Stop and start what is there, and verify it again."""
    from homellm.cli.run_verb import deploy_options, run_verb
    from homellm.cli.typed import commands
    from homellm.deploy.restart import restart as act
    from homellm.report.tables import up_table

    given = common(ctx, file, format_, no_color, debug)
    typed = commands(given)
    options = deploy_options(given, wait_timeout_s=wait_timeout, stall_timeout_s=stall_timeout)
    return run_verb(
        given,
        models,
        lambda call: typed.of(act(call.stack, call.only, call.ports, options, call.scope, typed.emit(call.emit))),
        lambda report, width: typed.text(up_table(report, width=width, tell_unchanged=False)),
        goes_on=typed.text("homellm up"),
    )

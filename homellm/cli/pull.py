"""`homellm pull`."""

from __future__ import annotations

import typer

from homellm.cli.options import (
    DebugOption,
    FileOption,
    FormatOption,
    ModelsArgument,
    NoColorOption,
    common,
)


def pull(
    ctx: typer.Context,
    models: ModelsArgument = None,
    file: FileOption = None,
    format_: FormatOption = None,
    no_color: NoColorOption = False,
    debug: DebugOption = False,
) -> int:
    """Bring the images and the models of hf: sources; start nothing."""
    from homellm.cli.run_verb import deploy_options, run_verb
    from homellm.cli.typed import commands
    from homellm.deploy.pull import pull as act
    from homellm.report.tables import pull_table

    given = common(ctx, file, format_, no_color, debug)
    typed = commands(given)
    options = deploy_options(given)
    return run_verb(
        given,
        models,
        lambda call: typed.of(act(call.stack, call.only, call.ports, options, call.scope, typed.emit(call.emit))),
        lambda report, width: typed.text(pull_table(report, width=width)),
        goes_on=typed.text("homellm pull"),
    )

"""`homellm down`."""

from __future__ import annotations

from dataclasses import replace

import typer

from homellm.cli.options import DebugOption, FileOption, FormatOption, NoColorOption, common


def down(
    ctx: typer.Context,
    file: FileOption = None,
    format_: FormatOption = None,
    no_color: NoColorOption = False,
    debug: DebugOption = False,
) -> int:
    """Stop and remove what carries the stack's labels; no model files.

    Of the stack file only its name counts: variables may be unset and other keys wrong.
    """
    from homellm.cli.run_verb import deploy_options, run_verb
    from homellm.cli.typed import commands
    from homellm.deploy.down import down as act
    from homellm.report.tables import down_text

    given = replace(common(ctx, file, format_, no_color, debug), by_name=True)
    typed = commands(given)
    options = deploy_options(given)
    return run_verb(
        given,
        None,
        lambda call: typed.of(act(call.stack.name, call.ports, options, call.scope, typed.emit(call.emit))),
        lambda report, _width: typed.text(down_text(report)),
        goes_on=typed.text("homellm down"),
    )

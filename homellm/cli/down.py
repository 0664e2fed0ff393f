"""`homellm down`."""

from __future__ import annotations

import typer

from homellm.cli.options import DebugOption, FileOption, FormatOption, NoColorOption, common


def down(
    ctx: typer.Context,
    file: FileOption = None,
    format_: FormatOption = None,
    no_color: NoColorOption = False,
    debug: DebugOption = False,
) -> int:
    """Stop and remove what carries the stack's labels; no model files."""
    from homellm.cli.run_verb import deploy_options, run_verb
    from homellm.deploy.down import down as act
    from homellm.report.tables import down_text

    given = common(ctx, file, format_, no_color, debug)
    options = deploy_options(given)
    return run_verb(
        given,
        None,
        lambda call: act(call.stack.name, call.ports, options, call.scope, call.emit),
        lambda report, _width: down_text(report),
        goes_on="homellm down",
    )

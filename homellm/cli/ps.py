"""`homellm ps`."""

from __future__ import annotations

import typer

from homellm.cli.options import DebugOption, FileOption, FormatOption, NoColorOption, common


def ps(
    ctx: typer.Context,
    file: FileOption = None,
    format_: FormatOption = None,
    no_color: NoColorOption = False,
    debug: DebugOption = False,
) -> int:
    """Show what runs now: state, slots, endpoint, container."""
    from homellm.cli.run_verb import run_verb
    from homellm.deploy.ps import ps as act
    from homellm.report.tables import ps_table

    return run_verb(
        common(ctx, file, format_, no_color, debug),
        None,
        lambda call: act(call.stack, call.ports),
        lambda report, width: ps_table(report, width=width),
        events=False,
    )

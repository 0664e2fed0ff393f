"""`homellm ps`."""

from __future__ import annotations

from dataclasses import replace

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
    from homellm.cli.typed import commands
    from homellm.deploy.ps import ps as act
    from homellm.report.tables import ps_table

    given = replace(common(ctx, file, format_, no_color, debug), looking=True)
    typed = commands(given)
    return run_verb(
        given,
        None,
        lambda call: typed.of(act(call.stack, call.ports)),
        lambda report, width: typed.text(ps_table(report, width=width)),
        events=False,
    )

"""`homellm version`."""

from __future__ import annotations

import typer

from homellm.cli.options import DebugOption, FormatOption, NoColorOption, common


def version(
    ctx: typer.Context,
    format_: FormatOption = None,
    no_color: NoColorOption = False,
    debug: DebugOption = False,
) -> int:
    """Print the version of homellm."""
    from homellm import __version__
    from homellm.cli import streams
    from homellm.errors import ExitCode
    from homellm.report.json_report import error_document

    given = common(ctx, None, format_, no_color, debug)
    if given.json:
        streams.write_document({**error_document(None, ()), "version": __version__})
    else:
        streams.write_text(given, f"homellm {__version__}\n")
    return ExitCode.OK

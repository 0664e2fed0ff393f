"""`homellm config`."""

from __future__ import annotations

import typer

from homellm.cli.options import DebugOption, FileOption, FormatOption, NoColorOption, common


def config(
    ctx: typer.Context,
    file: FileOption = None,
    format_: FormatOption = None,
    no_color: NoColorOption = False,
    debug: DebugOption = False,
) -> int:
    """Print the stack file as it is understood, secrets redacted.

    Defaults are merged, variables replaced, paths absolute. Asks no engine, so it also tells whether a file is right.
    """
    from homellm.cli import streams, wiring
    from homellm.errors import ExitCode
    from homellm.report.config_text import config_document, config_text
    from homellm.report.json_report import error_document

    given = common(ctx, file, format_, no_color, debug)
    stack = wiring.load_stack(given)
    if given.json:
        streams.write_document({**error_document(stack.name, ()), "config": config_document(stack)})
    else:
        streams.write_text(given, config_text(stack))
    return ExitCode.OK

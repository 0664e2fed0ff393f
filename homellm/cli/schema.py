"""`homellm schema`."""

from __future__ import annotations

import typer

from homellm.cli.options import DebugOption, FormatOption, NoColorOption, common


def schema(
    ctx: typer.Context,
    format_: FormatOption = None,
    no_color: NoColorOption = False,
    debug: DebugOption = False,
) -> int:
    """Print the JSON Schema of a stack file, for editors.

    An editor with a YAML language server completes and explains keys by it, and underlines wrong ones. It finds the
    schema by a stack file's first line:
    # yaml-language-server: $schema=./homellm.schema.json
    """
    from homellm.cli import streams
    from homellm.errors import ExitCode
    from homellm.loading.schema import json_schema
    from homellm.report.json_report import error_document

    given = common(ctx, None, format_, no_color, debug)
    # A schema may carry words that it does not define: the keys of every document change nothing in it.
    streams.write_document({**error_document(None, ()), **json_schema()} if given.json else json_schema())
    return ExitCode.OK

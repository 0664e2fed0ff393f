"""The command line: the options before the verb, and the verbs."""

from __future__ import annotations

from importlib import import_module
from typing import Annotated

import typer

from homellm.cli.examples import epilog
from homellm.cli.options import Common, DebugOption, FileOption, Format, FormatOption, NoColorOption
from homellm.cli.verbs import NAMES, Verb, Verbs

_EPILOG = "Every verb has its own help: homellm up --help. Options stand before or after the verb."


def build(only: str | None = None) -> typer.Typer:
    """The whole application, or with `only` so much of it as a command line with that verb needs.

    A verb has the name of its module and of its function there. Nothing heavy is imported: each verb imports what it
    needs when it runs, and the framework takes two milliseconds for every verb that it is told of.
    """
    app = typer.Typer(
        name="homellm",
        cls=Verbs,
        invoke_without_command=True,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
        epilog=_EPILOG,
    )
    app.callback()(root)
    for name in NAMES if only is None else (only,):
        app.command(name, cls=Verb, epilog=epilog(name))(getattr(import_module(f"homellm.cli.{name}"), name))
    return app


def root(
    ctx: typer.Context,
    file: FileOption = None,
    format_: FormatOption = None,
    no_color: NoColorOption = False,
    debug: DebugOption = False,
    version_: Annotated[bool, typer.Option("--version", help="Print the version of homellm.")] = False,
) -> int:
    """Declare the models of a home server, start them with Docker, and prove that they run as declared."""
    ctx.obj = Common(file=file, format=format_ or Format.TABLE, no_color=no_color, debug=debug)
    if ctx.invoked_subcommand is None:
        if version_:
            from homellm.cli.version import version

            return version(ctx)
        typer.echo(ctx.get_help())
    return 0

"""The command line: the options before the verb, and the verbs."""

from __future__ import annotations

from typing import Annotated

import typer

from homellm.cli.check import check
from homellm.cli.config import config
from homellm.cli.doctor import doctor
from homellm.cli.down import down
from homellm.cli.endpoints import endpoints
from homellm.cli.examples import epilog
from homellm.cli.explain import explain
from homellm.cli.fit import fit
from homellm.cli.logs import logs
from homellm.cli.options import Common, DebugOption, FileOption, Format, FormatOption, NoColorOption
from homellm.cli.plan import plan
from homellm.cli.ps import ps
from homellm.cli.pull import pull
from homellm.cli.render import render
from homellm.cli.restart import restart
from homellm.cli.schema import schema
from homellm.cli.up import up
from homellm.cli.verbs import Verbs
from homellm.cli.version import version

_EPILOG = "Every verb has its own help: homellm up --help. Options stand before or after the verb."


def build() -> typer.Typer:
    """The whole application. Nothing heavy is imported here: each verb imports what it needs when it runs."""
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
    run = (up, down, restart, pull)
    look = (plan, check, ps, logs, doctor, fit, explain)
    write = (endpoints, render, config, schema, version)
    for verb in (*run, *look, *write):
        app.command(epilog=epilog(verb.__name__))(verb)
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
            return version(ctx)
        typer.echo(ctx.get_help())
    return 0

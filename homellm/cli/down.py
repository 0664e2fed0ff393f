"""`homellm down`."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import typer

from homellm.cli import completion
from homellm.cli.options import DebugOption, FileOption, FormatOption, NoColorOption, common


def down(
    ctx: typer.Context,
    models: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="MODELS",
            show_default=False,
            help="Models, or Ollama servers; the whole stack when none is named.",
            autocompletion=completion.models,
        ),
    ] = None,
    file: FileOption = None,
    format_: FormatOption = None,
    no_color: NoColorOption = False,
    debug: DebugOption = False,
) -> int:
    """Stop and remove what carries the stack's labels; no model files.

    Of models that are named, their containers alone; the network and all others stay. Of the stack file only its
    name counts: variables may be unset and other keys wrong.
    """
    from homellm.cli import wiring
    from homellm.cli.run_verb import deploy_options, run_verb
    from homellm.cli.typed import commands
    from homellm.deploy.down import down as act
    from homellm.report.tables import down_text

    given = replace(common(ctx, file, format_, no_color, debug), by_name=True)
    typed = commands(given)
    options = deploy_options(given)
    only = tuple(models or ())
    declared = wiring.declared_models(given) if only else ()
    return run_verb(
        given,
        None,
        lambda call: typed.of(
            act(call.stack.name, call.ports, options, call.scope, typed.emit(call.emit), only, declared)
        ),
        lambda report, _width: typed.text(down_text(report)),
        goes_on=typed.text(" ".join(("homellm down", *only))),
    )

"""`homellm up`."""

from __future__ import annotations

from typing import Annotated

import typer

from homellm.cli.options import (
    DebugOption,
    FileOption,
    FormatOption,
    ModelsArgument,
    NoColorOption,
    NoFitOption,
    StallTimeoutOption,
    WaitTimeoutOption,
    common,
)


def up(
    ctx: typer.Context,
    models: ModelsArgument = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the plan and change nothing.")] = False,
    wait_timeout: WaitTimeoutOption = 600,
    stall_timeout: StallTimeoutOption = 120,
    force_recreate: Annotated[
        bool, typer.Option("--force-recreate", help="Make the containers anew although nothing changed.")
    ] = False,
    remove_orphans: Annotated[
        bool, typer.Option("--remove-orphans", help="Remove containers of models that the file has no more.")
    ] = False,
    no_fit: NoFitOption = False,
    retry_ollama: Annotated[
        bool, typer.Option("--retry-ollama", help="Ask Ollama again for the slots that it refused before.")
    ] = False,
    file: FileOption = None,
    format_: FormatOption = None,
    no_color: NoColorOption = False,
    debug: DebugOption = False,
) -> int:
    """Start what is declared, and prove that it runs as declared.

    What already runs as declared is left alone. A container is replaced only when its successor is verified; until
    then the old one comes back whenever something fails.
    """
    from homellm.cli.plan import tell_plan
    from homellm.cli.run_verb import deploy_options, run_verb
    from homellm.cli.typed import commands
    from homellm.report.tables import up_table

    given = common(ctx, file, format_, no_color, debug)
    typed = commands(given)
    options = deploy_options(
        given,
        wait_timeout_s=wait_timeout,
        stall_timeout_s=stall_timeout,
        force_recreate=force_recreate,
        remove_orphans=remove_orphans,
        fit=not no_fit,
        retry_ollama=retry_ollama,
    )
    if dry_run:
        return tell_plan(given, models, options)
    from homellm.deploy.up import up as act

    return run_verb(
        given,
        models,
        lambda call: typed.of(act(call.stack, call.only, call.ports, options, call.scope, typed.emit(call.emit))),
        lambda report, width: typed.text(up_table(report, width=width)),
        goes_on=typed.text("homellm up"),
    )

"""`homellm up`."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated

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

if TYPE_CHECKING:
    from homellm.cli.run_verb import Call
    from homellm.domain.reports import StackReport


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
    from homellm.cli.witnessed import Witnessed
    from homellm.deploy.up import up as act

    def table(report: StackReport, width: int | None) -> str:
        return typed.text(up_table(report, width=width))

    def carried_out(call: Call) -> StackReport:
        run = partial(act, call.stack, call.only, call.ports, options, call.scope)
        return witnessed.run(call, lambda emit: typed.of(run(typed.emit(emit))))

    usual = not (force_recreate or remove_orphans or retry_ollama or debug)
    witnessed = Witnessed.start(given, typed, table, usual=usual)
    code = run_verb(given, models, carried_out, table, goes_on=typed.text("homellm up"))
    witnessed.keep(code)
    return code

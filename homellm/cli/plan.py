"""`homellm plan`, and what `up --dry-run` prints."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from homellm.cli.options import (
    Common,
    DebugOption,
    FileOption,
    FormatOption,
    ModelsArgument,
    NoColorOption,
    NoFitOption,
    common,
)

if TYPE_CHECKING:
    from homellm.deploy.session import Options


def plan(
    ctx: typer.Context,
    models: ModelsArgument = None,
    detailed_exitcode: Annotated[
        bool, typer.Option("--detailed-exitcode", help="End with 6 when there is something to do.")
    ] = False,
    no_fit: NoFitOption = False,
    file: FileOption = None,
    format_: FormatOption = None,
    no_color: NoColorOption = False,
    debug: DebugOption = False,
) -> int:
    """Show what up would do, with each cause and undo; change nothing."""
    from homellm.cli.run_verb import deploy_options

    given = common(ctx, file, format_, no_color, debug)
    return tell_plan(given, models, deploy_options(given, fit=not no_fit), detailed=detailed_exitcode)


def tell_plan(given: Common, models: list[str] | None, options: Options, *, detailed: bool = False) -> int:
    """Print the plan; its exit code. With `detailed`, 6 when there are changes and nothing is wrong."""
    from homellm.cli import streams, wiring
    from homellm.cli.failures import tell_error
    from homellm.cli.run_verb import prepare
    from homellm.cli.typed import commands
    from homellm.deploy.preview import plan as act
    from homellm.errors import ExitCode, HomellmError, worst
    from homellm.report.json_report import plan_document
    from homellm.report.plan_table import plan_table
    from homellm.report.problems import problems_text

    stack, only = prepare(given, models)
    typed = commands(given)
    try:
        report = typed.of(act(stack, only, wiring.connect(), options))
    except HomellmError as error:
        return tell_error(error, given, stack.name)
    if given.json:
        streams.write_document(plan_document(report))
    else:
        streams.write_text(given, typed.text(plan_table(report, width=streams.screen_width(sys.stdout))))
        streams.errors_output().write(problems_text(report.problems, width=streams.screen_width(sys.stderr)))
    codes = [problem.exit_code for problem in report.problems]
    if detailed and report.changes:
        codes.append(ExitCode.CHANGES)
    return worst(codes)

"""`homellm render run` and `homellm render compose`: the same containers, for people who want to see or keep them."""

from __future__ import annotations

import sys
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from homellm.cli.options import (
    DebugOption,
    FileOption,
    FormatOption,
    ModelsArgument,
    NoColorOption,
    common,
)

if TYPE_CHECKING:
    from homellm.domain.spec import ContainerSpec
    from homellm.domain.stack import Stack
    from homellm.errors import Problem


class Form(StrEnum):
    """What is printed."""

    RUN = "run"
    COMPOSE = "compose"


def render(
    ctx: typer.Context,
    form: Annotated[
        Form, typer.Argument(metavar="FORM", show_default=False, help="run: a bash script. compose: a compose file.")
    ],
    models: ModelsArgument = None,
    show_secrets: Annotated[
        bool, typer.Option("--show-secrets", help="Write secrets down; else they are variables to set.")
    ] = False,
    file: FileOption = None,
    format_: FormatOption = None,
    no_color: NoColorOption = False,
    debug: DebugOption = False,
) -> int:
    """Print a docker run script or a compose file, with every reason.

    They make the containers that `up` makes, for people who want to see them or to keep them without homellm.
    """
    from homellm.cli import streams, wiring
    from homellm.cli.failures import tell_error
    from homellm.cli.run_verb import prepare
    from homellm.cli.typed import commands
    from homellm.deploy.pull_models import locate
    from homellm.deploy.rendered import rendered
    from homellm.errors import HomellmError, worst
    from homellm.report.problems import problems_text

    given = common(ctx, file, format_, no_color, debug)
    stack, only = prepare(given, models)
    try:
        ports = wiring.connect()
        stack = locate(stack, ports.hub)
        found = rendered(stack, only, ports)
    except HomellmError as error:
        return tell_error(error, given, stack.name)
    warnings = tuple(f"{one.message}. {one.hint}" for one in found.absent)
    warnings = commands(given).of(warnings if found.specs else (*warnings, *found.notes))
    problems, specs = commands(given).of(found.problems), list(found.specs)
    text = _text(form, stack, specs, list(found.notes), show_secrets=show_secrets) if specs else ""
    if given.json:
        _document(form, stack, text, problems, warnings)
    else:
        _print(text)
        for warning in warnings:
            streams.errors_output().write(f"note: {warning}\n")
        streams.errors_output().write(problems_text(problems, width=streams.screen_width(sys.stderr)))
    return worst([problem.exit_code for problem in problems])


def _text(form: Form, stack: Stack, specs: list[ContainerSpec], notes: list[str], *, show_secrets: bool) -> str:
    from homellm.render.compose import render_compose
    from homellm.render.run import render_run
    from homellm.resources import template_root

    title = f"{stack.name}, rendered by homellm render {form} from {stack.file.name}"
    if form is Form.RUN:
        template = (template_root() / "run.sh.j2").read_text("utf-8")
        return render_run(specs, template, title=title, notes=notes, show_secrets=show_secrets)
    template = (template_root() / "compose.yaml.j2").read_text("utf-8")
    return render_compose(specs, template, project=stack.name, title=title, notes=notes, show_secrets=show_secrets)


def _document(form: Form, stack: Stack, text: str, problems: tuple[Problem, ...], warnings: tuple[str, ...]) -> None:
    """The keys that every document has, and the text."""
    from homellm.cli import streams
    from homellm.report.json_report import error_document

    streams.write_document(
        {**error_document(stack.name, problems), "form": form.value, "text": text, "notes": list(warnings)}
    )


def _print(text: str) -> None:
    """To stdout as it is: a script is for a machine, so no character of it is fitted to a terminal."""
    stream = sys.stdout
    if not hasattr(stream, "buffer"):
        stream.write(text)
        return
    stream.flush()
    stream.buffer.write(text.encode("utf-8", "surrogateescape"))
    stream.flush()

"""`homellm doctor`."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from homellm.cli.options import DebugOption, FileOption, FormatOption, NoColorOption, common

if TYPE_CHECKING:
    from homellm.cli.options import Common
    from homellm.deploy.session import Ports
    from homellm.domain.diagnosis import Diagnosis
    from homellm.domain.stack import Stack
    from homellm.errors import Problem


def doctor(
    ctx: typer.Context,
    file: FileOption = None,
    format_: FormatOption = None,
    no_color: NoColorOption = False,
    debug: DebugOption = False,
) -> int:
    """Say what this host is, what would stop the stack, what to type.

    Works without a stack file and without an engine, as far as it goes. Also finds a running Open WebUI whose
    background jobs take slots, and an Ollama that runs on the host itself. Changes nothing.
    """
    from homellm.cli import streams
    from homellm.cli.typed import commands
    from homellm.report.doctor import doctor_document, doctor_text

    given = common(ctx, file, format_, no_color, debug)
    typed = commands(given)
    found = typed.of(_diagnose(given))
    if given.json:
        streams.write_document(doctor_document(found))
    else:
        streams.write_text(given, typed.text(doctor_text(found, width=streams.screen_width(sys.stdout))))
    return found.exit_code


def _diagnose(given: Common) -> Diagnosis:
    from homellm.adapters.gguf_files import GgufFiles
    from homellm.cli.run_verb import deploy_options
    from homellm.cli.this_machine import this_machine
    from homellm.deploy.doctor import doctor as examine
    from homellm.deploy.doctor import doctor_without_engine

    stack, told = _stack(given)
    ports, unreachable = _ports()
    if ports is not None:
        return examine(stack, ports, deploy_options(given), told)
    return doctor_without_engine(stack, this_machine(os.environ), GgufFiles(), (*told, *unreachable))


def _stack(given: Common) -> tuple[Stack | None, tuple[Problem, ...]]:
    """The stack, or why it cannot be looked at; neither when nobody named a file and there is none here."""
    from homellm.cli import wiring
    from homellm.cli.stack_file import DEFAULT_NAME
    from homellm.errors import StackFileError

    if given.file is None and not os.environ.get("HOMELLM_FILE") and not Path(DEFAULT_NAME).exists():
        return None, ()
    try:
        return wiring.load_stack(given), ()
    except StackFileError as error:
        return None, error.problems


def _ports() -> tuple[Ports | None, tuple[Problem, ...]]:
    from homellm.cli import wiring
    from homellm.errors import HomellmError

    try:
        return wiring.connect(), ()
    except HomellmError as error:
        return None, error.problems

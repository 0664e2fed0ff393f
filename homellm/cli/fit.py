"""`homellm fit`: what models need of memory, before anything is downloaded or started."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from homellm.cli.options import DebugOption, FormatOption, ModelsArgument, NoColorOption, common
from homellm.cli.this_machine import this_machine
from homellm.cli.typed import commands

if TYPE_CHECKING:
    from homellm.cli.options import Common
    from homellm.deploy.fit import Asked
    from homellm.domain.stack import OllamaServer
    from homellm.domain.world import ModelFile
    from homellm.ports import OllamaStore
    from homellm.sizing.answer import FitReport

_MODEL_FILE_HELP = "A stack file, or a model: a .gguf, a blob of an Ollama store, an https:// address of one."
_MAGIC = b"GGUF"
_MOST_SLOTS = 256


def fit(
    ctx: typer.Context,
    models: ModelsArgument = None,
    parallel: Annotated[
        str | None, typer.Option("--parallel", metavar="N|A..B", help="Slots to reckon with, or a range to compare.")
    ] = None,
    slot_ctx: Annotated[
        int | None, typer.Option("--ctx", metavar="N", min=1, max=2**31, help="Tokens of one slot.")
    ] = None,
    memory: Annotated[
        str | None, typer.Option("--memory", metavar="SIZE", help="Memory of the GPU, as 8191MiB, where none tells.")
    ] = None,
    free: Annotated[
        str | None, typer.Option("--free", metavar="SIZE", help="How much of --memory is free; all of it without.")
    ] = None,
    fit_target: Annotated[
        str | None,
        typer.Option("--fit-target", metavar="SIZE", help="What stays free on each device (1024MiB)."),
    ] = None,
    file: Annotated[str | None, typer.Option("--file", "-f", metavar="PATH", help=_MODEL_FILE_HELP)] = None,
    format_: FormatOption = None,
    no_color: NoColorOption = False,
    debug: DebugOption = False,
) -> int:
    """Reckon what models need of memory, and how many slots fit.

    Reads only the headers of the models, and needs no engine. A file is a model or a stack; what the GPU has is given
    by --memory where its driver does not tell.
    """
    given = common(ctx, None, format_, no_color, debug)
    asked = _asked(parallel, slot_ctx, memory, free, fit_target)
    named = file or (str(given.file) if given.file else None)
    if named and _is_model(named):
        return tell(_of_file(named, models, asked), replace(given, file=None))
    given = replace(given, file=Path(named) if named else None)
    return tell(commands(given).of(_of_stack(given, models, asked)), given)


def tell(report: FitReport, given: Common) -> int:
    """Print the report; its exit code."""
    from homellm.cli import streams
    from homellm.report.fit import fit_document, fit_table
    from homellm.report.problems import problems_text

    if given.json:
        streams.write_document(fit_document(report))
    else:
        streams.write_text(given, fit_table(report, width=streams.screen_width(sys.stdout)))
        streams.errors_output().write(problems_text(report.problems, width=streams.screen_width(sys.stderr)))
    return report.exit_code


def _asked(parallel: str | None, ctx: int | None, memory: str | None, free: str | None, target: str | None) -> Asked:
    from homellm.deploy.fit import Asked
    from homellm.errors import UsageError
    from homellm.sizing import Device

    slots = _slots(parallel) if parallel is not None else range(0)
    total, left = _size("--memory", memory), _size("--free", free)
    if left is not None and total is not None and left > total:
        raise UsageError(f"--free {free} is more than --memory {memory}", hint="Free is what is left of the memory.")
    room = left if left is not None else total
    return Asked(
        parallel=slots[0] if len(slots) == 1 else None,
        slots=slots if len(slots) > 1 else range(0),
        ctx=ctx,
        fit_target_bytes=_size("--fit-target", target),
        device=None if room is None else Device("GPU", room, total),
    )


def _slots(text: str) -> range:
    from homellm.errors import UsageError

    first, dots, last = text.partition("..")
    try:
        low, high = int(first), int(last if dots else first)
    except ValueError:
        low, high = 0, 0
    if not 1 <= low <= high <= _MOST_SLOTS:
        raise UsageError(f"--parallel {text} is no number of slots and no range", hint="Write 3, or 1..8.")
    return range(low, high + 1)


def _size(option: str, text: str | None) -> int | None:
    from homellm.errors import UsageError
    from homellm.loading.units import parse_size

    if text is None:
        return None
    try:
        return parse_size(text)
    except ValueError as error:
        raise UsageError(f"{option} {text}: {error}", hint="Write 8191MiB or 8g.") from error


def _is_model(named: str) -> bool:
    """Whether a file is a model and no stack: by its name, by an address, or by its first bytes."""
    if named.endswith(".gguf") or named.startswith(("https://", "http://")):
        return True
    try:
        with Path(named).open("rb") as stream:
            return stream.read(len(_MAGIC)) == _MAGIC
    except OSError:
        return False


def _of_file(named: str, models: list[str] | None, asked: Asked) -> FitReport:
    from homellm.deploy.fit import fit_file
    from homellm.errors import UsageError
    from homellm.sizing import Demand

    if models:
        raise UsageError(f"{named} is a model and no stack, so it has no model {models[0]}", hint="Leave the name out.")
    last = asked.slots[-1] if asked.slots else 1
    demand = Demand(ctx=asked.ctx or Demand().ctx, parallel=asked.parallel or last)
    return fit_file(_look(named), demand, this_machine(os.environ).snapshot(), asked)


def _look(named: str) -> ModelFile:
    if not named.startswith(("https://", "http://")):
        from homellm.adapters.gguf_files import GgufFiles

        return GgufFiles().look(Path(named))
    from homellm.adapters.gguf_remote import RemoteFiles
    from homellm.domain.secret import Secret

    token = os.environ.get("HF_TOKEN")
    with RemoteFiles(token=Secret(token) if token and named.startswith("https://huggingface.co/") else None) as files:
        return files.look(named)


def _of_stack(given: Common, models: list[str] | None, asked: Asked) -> FitReport:
    from homellm.adapters.gguf_files import GgufFiles
    from homellm.cli.run_verb import prepare
    from homellm.cli.wiring import connect_hub
    from homellm.deploy.fit import fit as reckon

    stack, only = prepare(given, models)
    hub = connect_hub() if any(model.source.kind == "hf" for model in stack.models) else None
    return reckon(stack, only, GgufFiles(), this_machine(os.environ).snapshot(), _store_of, asked, hub)


def _store_of(server: OllamaServer) -> tuple[OllamaStore, Path] | None:
    from homellm.adapters.ollama_store import folder_store

    if server.store is None or server.store.named:
        return None
    root = Path(server.store.source) / "models"
    return folder_store(root), root

"""What the models of a stack need of this machine: headers, host and devices read, then reckoned."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from homellm.deploy.pull_models import locate, look_there
from homellm.domain.gguf import GgufHeader
from homellm.domain.places import problem_at
from homellm.domain.stack import Model, OllamaServer, Stack
from homellm.domain.world import Host, ModelFile
from homellm.errors import Problem
from homellm.planning.machine import SYSTEM_MEMORY, as_served, machine_of, mapped_file, system_memory
from homellm.ports import ModelFiles, ModelHub, OllamaStore
from homellm.sizing import Demand, Device, Machine, UnknownType, demand_of
from homellm.sizing.answer import FitReport, Subject, answer

#: What llama-server may keep of earlier prompts in system memory unless --cache-ram says otherwise (build 11669).
PROMPT_CACHE_BYTES = 8192 * 1024 * 1024
#: The store of an Ollama server and its root on this machine; None for one that cannot be read from here.
StoreOf = Callable[[OllamaServer], tuple[OllamaStore, Path] | None]


@dataclass(frozen=True, slots=True)
class Asked:
    """What the command line asks in place of what is declared. `device` stands for every GPU of the stack.

    `slots` are the numbers of slots to compare beside what is declared.
    """

    parallel: int | None = None
    slots: range = range(0)
    ctx: int | None = None
    fit_target_bytes: int | None = None
    device: Device | None = None


@dataclass(frozen=True, slots=True)
class _Weights:
    header: GgufHeader
    projector_bytes: int = 0


def fit(
    stack: Stack,
    only: tuple[str, ...],
    files: ModelFiles,
    host: Host,
    store_of: StoreOf,
    asked: Asked,
    hub: ModelHub | None = None,
) -> FitReport:
    """Reckon the models named, all when none is; what is wrong with one model is a problem and stops no other.

    Of a model of a hub that is not here the header is read there.
    """
    stack = stack if hub is None else locate(stack, hub)
    models = tuple(model for model in stack.models if not only or model.name in only)
    subjects: list[Subject] = []
    problems: list[Problem] = []
    notes: dict[str, None] = {}
    for model in models:
        weights = _weights(model, stack, files, store_of, hub)
        if isinstance(weights, Problem):
            problems.append(weights)
            continue
        machine, note = _machine(model, stack, host, asked)
        notes.update(dict.fromkeys(filter(None, [note])))
        demand, file = _demand(model, stack, asked, weights), mapped_file(model)
        subject = Subject(model.name, weights.header, demand, machine, asked.slots, file)
        wrong = _unreckonable(subject)
        if wrong:
            problems.append(
                problem_at(model, "kv_cache_type", id="kv-cache-type", message=wrong, hint="Use f16 or q8_0.")
            )
        else:
            subjects.append(subject)
    report = answer(stack.name, subjects)
    return replace(report, problems=tuple(problems), notes=(*notes, *_prompt_cache(report)))


def fit_file(file: ModelFile, demand: Demand, host: Host, asked: Asked) -> FitReport:
    """Reckon one file without a stack. With a device given, all layers go to it; else to this machine's memory."""
    name = Path(file.path).name
    if file.header is None:
        message = f"{file.path} cannot be reckoned: {file.reason}"
        return FitReport(None, problems=(Problem("model-unreadable", message, "Name a .gguf file that is whole."),))
    machine = Machine(gpu=asked.device, host=None if asked.device else system_memory(host))
    demand = replace(demand, gpu_layers=file.header.layers + 1) if asked.device else demand
    subject = Subject(name, file.header, demand, _with_target(machine, asked), asked.slots)
    wrong = _unreckonable(subject)
    if wrong:
        return FitReport(None, problems=(Problem("kv-cache-type", wrong, "Use f16 or q8_0."),))
    notes = (f"{name} is cut short: {file.reason}",) if file.state == "truncated" else ()
    report = answer(None, [subject])
    return replace(report, notes=(*notes, *_prompt_cache(report)))


def _prompt_cache(report: FitReport) -> tuple[str, ...]:
    """A word about what grows later, where there would be no room for it."""
    short = [place for place in report.places if place.name == SYSTEM_MEMORY and not place.missing_bytes]
    if not any(place.free_bytes - place.target_bytes - place.used_bytes < PROMPT_CACHE_BYTES for place in short):
        return ()
    return (
        "Each llama-server may keep up to 8192 MiB of earlier prompts in system memory besides, as it serves;"
        " --cache-ram in extra_args sets another limit",
    )


def _unreckonable(subject: Subject) -> str:
    try:
        answer(None, [replace(subject, machine=Machine(), slots=range(0))])
    except UnknownType as error:
        return str(error)
    return ""


def _weights(
    model: Model, stack: Stack, files: ModelFiles, store_of: StoreOf, hub: ModelHub | None
) -> _Weights | Problem:
    projector = model.mmproj
    if model.source.kind != "ollama" and model.source.path is not None:
        path = model.source.path
    elif model.source.kind == "ollama":
        found = _stored(model, stack, store_of)
        if isinstance(found, Problem):
            return found
        path, projector = found[0], projector or found[1]
    else:
        return _far(model, files, hub)
    file = files.look(path)
    if file.header is None:
        message = f"{model.name} cannot be reckoned: {file.path}: {file.reason}"
        return problem_at(model, "source", id="model-unreadable", message=message, hint="homellm plan tells more.")
    return _Weights(file.header, files.look(projector).weights_bytes or 0 if projector else 0)


def _far(model: Model, files: ModelFiles, hub: ModelHub | None) -> _Weights | Problem:
    """The weights of a model of a hub that is not here, by its header there."""
    seen = look_there(model, hub) if hub is not None else None
    if isinstance(seen, Problem):
        return seen
    if seen is None or seen.header is None:
        message = f"the weights of {model.name} are not here yet: {model.source}"
        hint = "homellm fit --file https://… reckons a file by its address, without a download."
        return problem_at(model, "source", id="model-absent", message=message, hint=hint)
    return _Weights(seen.header, files.look(model.mmproj).weights_bytes or 0 if model.mmproj else 0)


def _stored(model: Model, stack: Stack, store_of: StoreOf) -> tuple[Path, Path | None] | Problem:
    server = stack.ollama_server(model.server)
    store = store_of(server) if server is not None else None
    if store is None:
        message = f"the Ollama store of {model.name} cannot be read from here"
        hint = (
            "fit asks no engine, so it reads a store in a folder alone (`store: ./folder`). Of one in a volume plan, "
            "up and doctor judge the same; or name the blob: homellm fit --file …/models/blobs/sha256-…"
        )
        return problem_at(model, "source", id="store-unreadable", message=message, hint=hint)
    reader, root = store
    stored = reader.find(model.source.ref)
    if not stored.usable or stored.blob is None:
        hint = f"Bring it with: ollama pull {model.source.ref}"
        return problem_at(
            model, "source", id="model-absent", message=stored.reason or f"{stored.name} is absent", hint=hint
        )
    return root / stored.blob, root / stored.projectors[-1] if stored.projectors else None


def _demand(model: Model, stack: Stack, asked: Asked, weights: _Weights) -> Demand:
    demand = demand_of(as_served(model, stack))
    return replace(
        demand,
        ctx=asked.ctx or demand.ctx,
        parallel=asked.parallel or demand.parallel,
        projector_bytes=weights.projector_bytes,
    )


def _machine(model: Model, stack: Stack, host: Host, asked: Asked) -> tuple[Machine, str]:
    machine, note = machine_of(model, stack, host, device=asked.device)
    return _with_target(machine, asked), note


def _with_target(machine: Machine, asked: Asked) -> Machine:
    return machine if asked.fit_target_bytes is None else replace(machine, fit_target_bytes=asked.fit_target_bytes)

"""Bring a model into an Ollama server under the name that clients ask for."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from homellm.deploy.job import Job
from homellm.deploy.ollama_kept import keep_made
from homellm.deploy.ollama_made import note, old_copy_leaves, origin, parts_of, with_digests
from homellm.deploy.ollama_reached import Reached
from homellm.deploy.ollama_record import ServerRecord
from homellm.deploy.scope import Scope
from homellm.deploy.session import Emit
from homellm.domain.events import Progress
from homellm.domain.ollama import PULL_CURES, MadeFrom, ShownModel, StoredModel, stored_from_api
from homellm.domain.ollama_families import MERGES_SPLIT_SINCE, parse_version
from homellm.domain.ollama_names import parse_name
from homellm.domain.stack import Model
from homellm.errors import Problem, Refused
from homellm.planning.machine import as_served, capacity_bytes, machine_of
from homellm.ports import PullStream
from homellm.runners.ollama_models import Making, making, served_name, source_name


@dataclass(frozen=True, slots=True)
class Named:
    """A model that can be asked for by its name, and the server's record after it was made."""

    name: str
    stored: StoredModel
    shown: ShownModel
    record: ServerRecord


def bring(model: Model, reached: Reached, record: ServerRecord, job: Job, emit: Emit) -> Named:
    """Pull what is missing, make the name, and tell what is there. Raises HomellmError when it cannot be had."""
    source = _source(model, reached, job, emit)
    name = served_name(model)
    own = lookup(name, reached)
    came = origin(model, name, record, reached, job, emit)
    record = came.record
    plan = making(
        model,
        reached.server,
        job.stack.models_on(reached.server),
        source=source,
        own=own if own.state != "absent" else None,
        made=came.made,
    )
    if plan.kind != "none":
        _not_somebody_elses(model, plan, own, source, record, reached)
        _not_altered_in_place(model, plan, reached, record)
        # Noted before it is made: a run that is cut off in between must know its own work again.
        note(name, record.made.get(name), reached, job)
        record = note(name, _make(model, plan, own, came.file, reached, job, emit), reached, job)
    stored = lookup(name, reached)
    if not stored.usable:
        raise unusable(stored, reached)
    if name in record.made:
        keep_made(name, stored.digest, record.made[name], reached, job)
    return Named(name, stored, reached.api.show(name), record)


def lookup(name: str, reached: Reached) -> StoredModel:
    """What the server has under a name: by its store's files, else by its API alone."""
    store = reached.store()
    if store is not None:
        return store.find(name)
    wanted = parse_name(name)
    for listed in reached.api.list_models():
        if parse_name(listed.name).same(wanted):
            return stored_from_api(listed, reached.api.show(listed.name))
    return StoredModel(name=str(wanted), state="absent", reason=f"{wanted.short} is not on {reached.url}")


def _source(model: Model, reached: Reached, job: Job, emit: Emit) -> StoredModel | None:
    """The model that the stack file names, pulled if it is not whole; None for one that is made from a file."""
    wanted = source_name(model)
    if wanted is None:
        return None
    found = lookup(str(wanted), reached)
    if found.usable and model.pull != "always":
        return found
    if model.pull == "never" or (not found.usable and found.state not in PULL_CURES):
        raise unusable(found, reached)
    store = reached.store()
    pull = reached.api.pull(
        wanted.pull_name, insecure=wanted.insecure, room_bytes=store.free_bytes() if store is not None else None
    )
    _stream(pull, model.name, job.scope, emit, most_bytes=_most(model, job))
    found = lookup(str(wanted), reached)
    if not found.usable:
        raise unusable(found, reached)
    return found


def _typed(words: str, reached: Reached) -> str:
    """A command of Ollama's as it can be typed here: this machine may have no `ollama` of its own."""
    if reached.container is not None:
        return f"docker exec {reached.container.name} {words}"
    return f"OLLAMA_HOST={reached.url} {words}"


def unusable(found: StoredModel, reached: Reached) -> Refused:
    """That a model of the store cannot be used, why, and what to type."""
    hint = {
        "cloud": "It runs on ollama.com and has no weights here: choose another model.",
        "safetensors": "Ollama has it as safetensors, which nothing else reads: choose a GGUF of it.",
        "absent": "Set pull: missing: then homellm up brings it.",
    }.get(found.state, f"Bring it again: {_typed(f'ollama pull {found.name}', reached)}")
    reason = found.reason or f"{found.name} cannot be used"
    if reached.container is not None:
        reason = reason.replace(reached.container.id, reached.container.name)
    return Refused(reason, hint=hint, id=f"model-{found.state}")


def _not_somebody_elses(
    model: Model, plan: Making, own: StoredModel, source: StoredModel | None, record: ServerRecord, reached: Reached
) -> None:
    """A name that the store has for another model is not taken over, unless homellm made it."""
    if own.state == "absent" or plan.name in record.made:
        return
    if source is not None and own.blob is not None and own.blob == source.blob:
        return  # the same weights: deriving changes its parameters alone
    problem = Problem(
        id="name-in-store",
        message=f"the store has another model named {plan.name}, and nothing tells that homellm made it",
        hint=f"Give {model.name} another name in the stack file, or remove that one: "
        f"{_typed(f'ollama rm {plan.name}', reached)}",
        model=model.name,
    )
    raise Refused(problem.message, problems=(problem,))


def _not_altered_in_place(model: Model, plan: Making, reached: Reached, record: ServerRecord) -> None:
    """On a server that is not ours, a model that others use too is not given another context under its own name."""
    if reached.server.ours or plan.kind != "derive" or plan.name != plan.source or plan.name in record.made:
        return
    problem = Problem(
        id="name-in-store",
        message=f"{plan.name} on {reached.url} would have to be changed in place: {plan.because}",
        hint=f"Give {model.name} another name in the stack file; homellm then makes a model of that name from it.",
        model=model.name,
    )
    raise Refused(problem.message, problems=(problem,))


def _make(
    model: Model, plan: Making, own: StoredModel, file: MadeFrom | None, reached: Reached, job: Job, emit: Emit
) -> MadeFrom | None:
    """Make the name, and tell from which file; what it meant before is served until it means the new model."""
    emit(Progress(model.name, "creating", plan.because))
    if plan.kind == "copy":
        reached.api.copy(plan.source, plan.name)
        return None
    if plan.kind == "derive":
        parameters = dict(plan.parameters)
        stream = reached.api.create(plan.name, source=plan.source, parameters=parameters, family=plan.family)
        _stream(stream, model.name, job.scope, emit)
        return None
    if file is None:
        raise Refused(f"{model.source} cannot be read", hint="Check that it is there.", id="model-missing")
    parts = parts_of(model, job.ports.files)
    _can_be_merged(model, parts, reached)
    file = _upload(model, parts, file, reached, job, emit)
    with old_copy_leaves(plan.name, own, reached):
        files = {part.name: f"sha256:{one}" for part, one in zip(parts, file.digests, strict=True)}
        stream = reached.api.create(plan.name, files=files, parameters=dict(plan.parameters), family=plan.family)
        _stream(stream, model.name, job.scope, emit)
    return file


def _can_be_merged(model: Model, parts: tuple[Path, ...], reached: Reached) -> None:
    """Raises Refused for a split model on an Ollama that does not put its parts together."""
    version = parse_version(reached.version)
    if len(parts) < 2 or version is None or not any(version) or version >= MERGES_SPLIT_SINCE:  # noqa: PLR2004 - parts
        return
    raise Refused(
        f"{model.source} has {len(parts)} parts, and Ollama {reached.version} takes models in one file alone",
        hint="Take an Ollama from 0.30 on (`image`), serve it by runner: llama-server, which reads the parts, or name a"
        " GGUF in one file.",
        id="model-split",
    )


def _upload(model: Model, parts: tuple[Path, ...], file: MadeFrom, reached: Reached, job: Job, emit: Emit) -> MadeFrom:
    """Bring the file into the store as a blob, each part of a split one as its own; the file with its digests.

    Ollama writes the file anew from that blob, so twice its size is needed until it prunes the first (facts).
    """
    size = file.size_bytes
    store = reached.store()
    free = store.free_bytes() if store is not None else None
    if free is not None and 2 * size > free:
        raise Refused(
            f"making {model.name} in Ollama needs {2 * size / 1e9:.1f} GB of the store's disk, twice the file, and"
            f" {free / 1e9:.1f} GB are left",
            hint="Free some, or serve the file by runner: llama-server, which reads it where it is.",
            id="disk-full",
        )
    file = with_digests(file, parts, job)
    for part, one in zip(parts, file.digests, strict=True):
        if not reached.api.has_blob(f"sha256:{one}"):
            _stream(reached.api.upload(f"sha256:{one}", part), model.name, job.scope, emit)
    return file


def _most(model: Model, job: Job) -> int | None:
    """The most bytes that a model may have to fit anywhere here; None where nobody can tell or nobody wants to know."""
    machine, _ = machine_of(model, job.stack, job.world.host)
    hidden = as_served(model, job.stack).gpu is not None and machine.gpu is None and not machine.shared
    return None if hidden or not job.options.fit else capacity_bytes(machine)


def _stream(stream: PullStream, model: str, scope: Scope, emit: Emit, most_bytes: int | None = None) -> None:
    with scope.closing(stream.close):
        for progress in stream:
            scope.check()
            if most_bytes is not None and progress.total_bytes > most_bytes:
                raise Refused(
                    f"{model} has {progress.total_bytes / 1e9:.1f} GB, and this machine has {most_bytes / 1e9:.1f} GB"
                    " of memory in all",
                    hint="Choose a smaller quantisation or model. Or insist: homellm up --no-fit.",
                    id="does-not-fit",
                )
            emit(
                Progress(
                    model,
                    "pulling",
                    progress.status,
                    done_bytes=progress.done_bytes,
                    total_bytes=progress.total_bytes,
                )
            )
    scope.check()

"""The llama-server that a model of Ollama's moves to: what it is, whether it finds room, and the swap to it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from homellm.deploy.converge import converge
from homellm.deploy.gather import gather
from homellm.deploy.job import Job
from homellm.deploy.ollama_load import embeds, in_memory
from homellm.deploy.ollama_models import Named
from homellm.deploy.ollama_reached import STORE_FOLDER, Reached
from homellm.deploy.session import Emit
from homellm.deploy.settle import unit_of
from homellm.deploy.swap import clear
from homellm.domain.events import Note
from homellm.domain.names import FAILED, LABEL_OUTCOMES, LABEL_UNIT, container_name
from homellm.domain.reports import ModelReport
from homellm.domain.stack import Model, Stack
from homellm.domain.steps import RemoveContainer
from homellm.errors import Problem
from homellm.planning.desired import desire
from homellm.planning.ladder import FALLBACKS, Outcome
from homellm.planning.ladder_memory import Room, room
from homellm.planning.ladder_record import dump_outcomes, keep, read_outcomes
from homellm.planning.machine import machine_of
from homellm.runners.ollama_fallback import Carried, carry_over
from homellm.sizing import demand_of, needs


def successor(
    model: Model, named: Named, rung: str, stack: Stack, outcomes: tuple[Outcome, ...] = ()
) -> Carried | None:
    """The model as llama-server is to serve it on a rung; None where its weights cannot be given to it.

    `outcomes` are those of its ladder: the trial on Ollama found the GPU's libraries.
    """
    name = next((one for one in FALLBACKS if one == rung), None)
    if name is None or name == "ollama":
        return None
    return carry_over(
        model,
        named.stored,
        name,
        stack,
        blob_path=named.shown.blob_path,
        variant=next((one.gpu_libraries for one in outcomes if one.rung == "ollama"), "") or None,
        embedding=embeds(model, named),
    )


def successor_hash(moved: Model, job: Job) -> str:
    """The hash of its container in the world as it is now; empty where it cannot be made, as without its image."""
    return desire(moved, job.stack, gather(job.stack, (moved,), job.ports)).hash


def move(moved: Model, won: Outcome, outcomes: tuple[Outcome, ...], job: Job, emit: Emit) -> ModelReport:
    """Bring the successor up as a unit like any other, in a world gathered for it; its labels tell why it is.

    `won` is the outcome that it stands for, and `outcomes` are those that led to it: they count once the container is
    committed, which is when anybody reads its labels. What it needs is here (`prepare`). One that serves the very file
    which Ollama's model is made from is made anew once that file is another: its container would be the same.
    """
    anew = ""
    if won.rung == "llama-server" and moved.stored is None and _of_another_model(moved, won, job):
        anew = f"{moved.source} is another file than the one that it was started on"
        emit(Note(anew, model=moved.name))
    job = replace(job, world=gather(job.stack, (moved,), job.ports))
    won = replace(won, spec_hash=desire(moved, job.stack, job.world).hash)
    return converge(moved, job, emit, {LABEL_OUTCOMES: dump_outcomes(keep(outcomes, won))}, anew=anew)


def _of_another_model(moved: Model, won: Outcome, job: Job) -> bool:
    """Whether what serves now was proved for another model of Ollama's, as its label tells."""
    serving = unit_of(moved, job.stack, job.world).current
    proved = read_outcomes(serving.label(LABEL_OUTCOMES)) if serving is not None else ()
    return any(outcome.key.digest != won.key.digest for outcome in proved)


def room_for(moved: Model, named: Named, reached: Reached, job: Job) -> Room:
    """Whether both copies fit at once; without a header that can be read from here, carefully.

    Where a successor serves already its own memory is what a newer one takes over.
    """
    serving = unit_of(moved, job.stack, job.world).current
    if serving is not None and serving.running:
        return Room("both")
    store, blob = reached.server.store, named.stored.blob
    if store is None or store.named or blob is None or moved.stored is None:
        return Room("unload-first")
    file = job.ports.files.look(Path(store.source) / STORE_FOLDER / blob)
    if file.header is None:
        return Room("unload-first")
    machine, _ = machine_of(moved, job.stack, job.world.host)
    return room(needs(file.header, demand_of(moved)), machine, in_memory(named, reached))


def told_by(report: ModelReport, problem: Problem) -> str:
    """What a trial that failed is remembered by: the problem's id, `unseen-...` for a gate that nobody could see."""
    unseen = any(gate.verdict == "unknown" and problem.id == f"gate-{gate.id}" for gate in report.checks)
    return problem.id.replace("gate-", "unseen-", 1) if unseen else problem.id


def clear_failed(model: Model, job: Job, emit: Emit) -> None:
    """Remove what a rung that failed has left: its evidence is recorded, and its log is in the report."""
    name = container_name(job.stack, model) + FAILED
    left = job.ports.engine.find_container(name)
    if left is None or left.label(LABEL_UNIT) != model.name:
        return
    _remove(left.id, name, model, "this rung of the ladder failed, and why is recorded", job, emit)


def clear_all(model: Model, job: Job, emit: Emit) -> None:
    """Ollama serves the model: a llama-server that served it before, and all that is left of one, is not needed."""
    for container in unit_of(model, job.stack, job.world).containers:
        _remove(container.id, container.name, model, "Ollama serves this model now", job, emit)


def _remove(ref: str, name: str, model: Model, cause: str, job: Job, emit: Emit) -> None:
    step = RemoveContainer(target=name, model=model.name, cause=cause)
    clear(step, ref, job.ports, job.scope, emit, model.stop_grace_s)

"""What `plan` tells of a model that Ollama is to serve: by the same questions as `up`, and nothing is changed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from homellm.deploy.gather import gather
from homellm.deploy.job import Job
from homellm.deploy.loaded_files import with_outdated
from homellm.deploy.ollama_ladder import foresee
from homellm.deploy.ollama_made import looks_changed
from homellm.deploy.ollama_models import Named, lookup, unusable
from homellm.deploy.ollama_ps import ps_on_ollama
from homellm.deploy.ollama_reached import Reached
from homellm.deploy.ollama_record import outcomes_of, read_server_record
from homellm.deploy.ollama_server import find
from homellm.deploy.pull import missing_images
from homellm.deploy.settle import settle, unit_of
from homellm.domain.names import server_container_name
from homellm.domain.ollama import StoredModel
from homellm.domain.stack import Model
from homellm.domain.steps import PullModel, RemoveContainer, Step, VerifyModel
from homellm.domain.verdicts import State
from homellm.errors import HomellmError, Problem
from homellm.planning.desired import Desired
from homellm.planning.ladder import Key
from homellm.planning.units import Unit
from homellm.runners.ollama_models import Making, making, served_name, source_name

#: Gives the steps of one unit, and notes what is known to stop it.
Swap = Callable[[tuple[Desired, Unit, tuple[Problem, ...]]], tuple[Step, ...]]


def steps_on_ollama(model: Model, job: Job, swap: Swap, *, swapped: bool) -> tuple[Step, ...]:
    """What Ollama gives is only known once it has loaded the model: that is the step, unless it is known already.

    `swapped` tells that something is done to its server first: then a model that it serves is loaded anew, and one that
    has moved is asked of it again if it may be another Ollama. Raises HomellmError of an engine or a server that does
    not answer, and Refused where its store lacks what `pull: never` keeps `up` from bringing.
    """
    moved = unit_of(model, job.stack, job.world).current is not None
    reached = _reached(model, job) if moved or not swapped else None
    if reached is None:
        missing = source_name(model) is not None and model.pull != "never"
        return (_trial(model, job, f"{model.source} is brought if its store lacks it, then " if missing else ""),)
    if swapped and _is_another_ollama(reached, job):
        return (_trial(model, job, f"{_where(reached)} gets another image: "),)
    record = read_server_record(reached.container, reached.url, job.ports)
    name = served_name(model)
    changed = looks_changed(model, name, record, job.ports.files)
    if changed:
        return (_trial(model, job, f"{changed} "),)
    wanted, own = source_name(model), lookup(name, reached)
    source = lookup(str(wanted), reached) if wanted is not None else None
    if source is not None and not source.usable and model.pull == "never":
        raise unusable(source, reached)
    if source is not None and not source.usable:
        pull = PullModel(
            target=str(model.source), model=model.name, cause=f"it is not in the store of {_where(reached)}"
        )
        return pull, _trial(model, job)
    plan = _making(model, source, own, reached, job, made=name in record.made)
    if plan.kind != "none" or not own.usable:
        return (_trial(model, job, f"{name} is made in Ollama ({plan.because}): "),)
    return _of_known(model, Named(name, own, reached.api.show(name), record), reached, job, swap)


def _reached(model: Model, job: Job) -> Reached | None:
    """Its server as it runs now; None where it cannot be asked."""
    server = job.stack.ollama_server(model.server)
    try:
        return find(server, job.stack, job.ports) if server is not None else None
    except HomellmError:
        return None


def _is_another_ollama(reached: Reached, job: Job) -> bool:
    """Whether the server's container is to be of another image than the one that runs."""
    image = job.ports.engine.find_image(reached.server.image)
    return reached.container is not None and (image is None or image.id != reached.container.image_id)


def _where(reached: Reached) -> str:
    return reached.container.name if reached.container is not None else reached.url


def _making(
    model: Model, source: StoredModel | None, own: StoredModel, reached: Reached, job: Job, *, made: bool
) -> Making:
    models = job.stack.models_on(reached.server)
    present = own if own.state != "absent" else None
    return making(model, reached.server, models, source=source, own=present, made=made)


def _of_known(model: Model, named: Named, reached: Reached, job: Job, swap: Swap) -> tuple[Step, ...]:
    """One that is in the store as it is to be: what follows from what earlier runs found."""
    rung, moved = foresee(model, named, reached, job)
    if moved is not None and moved.source.kind == "hf" and moved.stored is None and moved.source.path is None:
        cause = f"{rung} serves it, and the file is not here"
        return (PullModel(target=str(moved.source), model=model.name, cause=cause),)
    if moved is not None:
        images = tuple(missing_images((moved,), job.ports).values()) if moved.pull != "always" else ()
        world = gather(job.stack, (moved,), job.ports)
        desired, unit, found = settle(moved, job.stack, world, fit=job.options.fit)
        return (*images, *swap((desired, with_outdated(unit, job.ports, local=world.engine.local), found)))
    left = unit_of(model, job.stack, job.world).containers
    known = ps_on_ollama(model, job.stack, job.world.containers, job.ports)
    loaded = known.state in (State.VERIFIED, State.DEGRADED) and not left  # of what has moved it keeps no copy
    begin = _asked_again(model, named, reached, job) if rung is None else ""
    trial = () if rung == "ollama" and loaded else (_trial(model, job, begin),)
    stays = "fallback: none keeps it on Ollama" if model.fallback == "none" else "Ollama serves it"
    gone = left if rung == "ollama" else ()
    return (*trial, *(RemoveContainer(target=one.name, model=model.name, cause=stays) for one in gone))


def _asked_again(model: Model, named: Named, reached: Reached, job: Job) -> str:
    """Why Ollama is asked of a model that it was asked of before, for the front of a cause; empty for a new one."""
    known = outcomes_of(model.name, unit_of(model, job.stack, job.world).current, named.record)
    before = known[0].key if known else None
    now = Key(reached.version, named.stored.digest, model.parallel, model.ctx)
    if before is None:
        return ""
    if before == now:
        return "asked again by --retry-ollama: " if job.options.retry_ollama else ""
    differs = {
        f"Ollama {now.version} instead of {before.version}": before.version != now.version,
        f"{now.slots} slots instead of {before.slots}": before.slots != now.slots,
        f"{now.ctx} tokens a slot instead of {before.ctx}": before.ctx != now.ctx,
        "another model under that name": before.digest != now.digest and before.ctx == now.ctx,
    }
    return f"asked again, for {', '.join(text for text, is_so in differs.items() if is_so)}: "


def _trial(model: Model, job: Job, begin: str = "") -> VerifyModel:
    """Ollama is to load it, and what follows from that."""
    server = job.stack.ollama_server(model.server)
    cause = f"{begin}Ollama loads it and its slots are counted"
    if model.fallback != "none" and model.parallel > 1:
        cause += f"; with fewer than {model.parallel} it moves to llama-server"
        cause += _pulled_then(model, job)
    target = ""
    if server is not None:
        target = server_container_name(job.stack, server) if server.ours else server.url or ""
    return VerifyModel(target=target, model=model.name, cause=cause)


def _pulled_then(model: Model, job: Job) -> str:
    """What of llama-server's would have to be pulled; nobody is asked for it before the model needs it."""
    if model.pull == "never":
        return ""
    moved, last = replace(model, runner="llama-server", pull="missing"), model.fallback_source
    text = "".join(f", whose image {image} is pulled then" for image in missing_images((moved,), job.ports))
    if last is None or last.kind != "hf" or last.path is not None:
        return text
    return f"{text}, and {last} is pulled if nothing reads Ollama's file"

"""Why a model cannot fit into memory, told before a pull and before a start, with the nearest thing that fits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from homellm.domain.gguf import GgufHeader
from homellm.domain.places import problem_at
from homellm.domain.stack import Model, Stack
from homellm.domain.world import World
from homellm.errors import ExitCode, Problem
from homellm.planning.machine import as_served, empty, machine_in
from homellm.planning.memory_together import beside_others, freed_for, not_together
from homellm.sizing import (
    Demand,
    Machine,
    Needs,
    Place,
    UnknownType,
    ctx_fits,
    demand_of,
    layers_fit,
    needs,
    places,
    slots_fit,
)
from homellm.sizing.fit import MIB


def memory_problem(model: Model, stack: Stack, world: World, *, kept: bool = False) -> Problem | None:
    """What of the memory stands in the way of `model`; None when it fits, or when too little is known to tell.

    Refused is what fits nowhere: more than the whole machine or card has, by itself or together with the models that
    are to run beside it, or more than the container's limit beyond weights that can be read again from the file. What
    fits only while nothing else holds memory is advice (exit OK), since what runs now may be about to stop. A model
    that is `kept` runs as declared already: no others speak against it.
    """
    file = world.model_files.get(str(model.source.path)) if model.source.path else None
    if file is None or file.header is None:
        return None
    try:
        machine = freed_for(model, stack, world, machine_in(model, stack, world))
        demand = demand_of(as_served(model, stack))
        alone = _judged(model, file.header, machine, demand, lambda: beside_others(model, stack, world))
        if alone is not None and alone.exit_code is not ExitCode.OK:
            return alone
        return None if kept else not_together(model, stack, world) or alone
    except UnknownType as error:
        return problem_at(model, "kv_cache_type", id="kv-cache-type", message=str(error), hint="Use f16 or q8_0.")


def _judged(
    model: Model, header: GgufHeader, machine: Machine, demand: Demand, beside: Callable[[], str]
) -> Problem | None:
    limit, machine = machine.container_bytes, replace(machine, container_bytes=None)
    whole = empty(machine)
    if model.gpu_layers == "auto":
        demand = _with_fewer_layers(header, demand, (machine, whole))
    need = needs(header, demand)
    never = _short(need, whole)
    if never:
        return _told(model, never, beside() or _nearest(header, demand, whole), certain=True)
    if limit is not None and (over := _over_limit(model, need, limit, shared=machine.shared)):
        return replace(over, hint=f"{_nearest(header, demand, Machine(container_bytes=limit))} Or raise memory.")
    now = _short(need, machine)
    return _told(model, now, _nearest(header, demand, machine), certain=False) if now else None


def _with_fewer_layers(header: GgufHeader, demand: Demand, machines: tuple[Machine, ...]) -> Demand:
    """With `gpu_layers: auto` the server itself leaves layers on the CPU until it fits: now, or on an empty machine."""
    found = (layers_fit(header, demand, machine) for machine in machines)
    return next((replace(demand, gpu_layers=layers) for layers in found if layers is not None), demand)


def _short(need: Needs, machine: Machine) -> Place | None:
    return next((place for place in places([need], machine) if place.missing_bytes), None)


def _told(model: Model, place: Place, nearest: str, *, certain: bool) -> Problem:
    has = "has" if certain else "has free"
    kept = f", of which {_mib(place.target_bytes)} stay free" if place.target_bytes else ""
    needed, there = _mib(place.used_bytes), _mib(place.free_bytes)
    return problem_at(
        model,
        "ctx",
        id="does-not-fit" if certain else "fits-alone",
        message=f"{model.name} needs {needed} of {place.name}, which {has} {there}{kept}",
        hint=nearest if certain else f"It fits once what holds the rest lets go. As it is now: {nearest}",
        exit_code=ExitCode.REFUSED if certain else ExitCode.OK,
    )


def _over_limit(model: Model, need: Needs, limit: int, *, shared: bool) -> Problem | None:
    share = (need.host, need.gpu) if shared else (need.host,)
    total = sum(part.total for part in share)
    pinned = total if model.mlock else sum(part.unmapped for part in share)
    if total <= limit:
        return None
    certain = pinned > limit
    words = f"{model.name} needs {_mib(total)}, and its container may take {_mib(limit)} (memory)"
    besides = "" if certain else ": the weights that do not fit are read from the file again and again"
    return problem_at(
        model,
        "memory",
        id="does-not-fit" if certain else "memory-tight",
        message=words + besides,
        hint="",
        exit_code=ExitCode.REFUSED if certain else ExitCode.OK,
    )


def _nearest(header: GgufHeader, demand: Demand, machine: Machine) -> str:
    slots = slots_fit(header, demand, machine)
    if slots:
        return f"At this ctx parallel: {slots} fits."
    ctx = ctx_fits(header, demand, machine)
    if ctx:
        return f"With parallel: {demand.parallel}, ctx: {ctx} fits."
    layers = layers_fit(header, demand, machine) if demand.gpu_layers is not None else None
    if layers:
        return f"gpu_layers: {layers} fits, the rest on the CPU."
    return "A smaller model or a smaller quantization is needed."


def _mib(count: int) -> str:
    return f"{count / MIB:.0f} MiB"

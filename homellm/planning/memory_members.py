"""The models that will be in memory beside each other, each with what decides how much it takes. Pure.

A llama-server has its model for itself. An Ollama server loads those that are asked for, as many at once as it may, and
makes room for one by unloading another.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from homellm.domain.gguf import GgufHeader
from homellm.domain.names import container_name, server_container_name
from homellm.domain.stack import Model, OllamaServer, Stack
from homellm.domain.world import Container, ModelFile, World
from homellm.planning.machine import as_served, empty, machine_in, mapped_file
from homellm.planning.units import sort_unit
from homellm.runners.recognise import recognise
from homellm.sizing import Demand, UnknownType, demand_of, fits, layers_fit, needs
from homellm.sizing.together import Member

#: Ollama's own rule, for 0 as well: three models for each GPU, or three on the CPU (server/sched.go).
_BY_DEFAULT = 3


@dataclass(frozen=True, slots=True)
class One:
    """A model that will be in memory, and its own container if that runs now; `server` is the Ollama that loads it."""

    model: Model
    member: Member
    running: Container | None = None
    server: str = ""


def of_llama_server(one: Model, model: Model | None, stack: Stack, world: World) -> One | None:
    """A model that has a llama-server, or is to have one: declared so, or moved from Ollama; None for others.

    `model` is the one that is judged, which may be about to move.
    """
    unit = sort_unit(container_name(stack, one), one.name, world.containers)
    running = unit.current if unit.current is not None and unit.current.running else None
    if one is not model and one.runner != "llama-server":
        return _moved(one, running, stack, world) if running is not None else None
    file = world.model_files.get(str(one.source.path)) if one.source.path else None
    fixed = one is not model and one.name not in world.gathered_for
    if file is None or file.header is None or (fixed and running is None):
        return None
    demand = demand_of(as_served(one, stack))
    member = Member(
        name=one.name,
        header=file.header,
        demand=present(demand, running) if fixed and running is not None else demand,
        machine=replace(machine_in(one, stack, world), container_bytes=None),
        file=mapped_file(one),
        fixed=fixed,
        auto=one.gpu is not None and one.gpu_layers in (None, "auto"),
    )
    return One(one, member, running) if one is model or _reckonable(member) else None


def _moved(one: Model, running: Container, stack: Stack, world: World) -> One | None:
    """One that serves on the weights of Ollama's store, or on another file of about that size."""
    file = world.ollama_weights.get(one.name)
    if file is None or file.header is None:
        return None
    member = _served(one, file.header, stack, world, fixed=True)
    member = replace(member, demand=present(member.demand, running), file=file.path)
    return One(one, member, running) if _reckonable(member) else None


def on_ollama(model: Model | None, stack: Stack, world: World, *, least: bool = False) -> list[One]:
    """The models that Ollama servers of ours will have in memory: of each the largest, as many as it loads at once.

    With `least` the largest one of each alone: for that the others make room. Left out are `model`, those that have
    moved, those whose weights are not known, and those that do not even fit an empty machine, which is told of the
    server. A server counts that runs, or has models whose turn it is.
    """
    from homellm.runners.ollama_server import loaded_at_once  # noqa: PLC0415 - for stacks with an Ollama alone

    found: list[One] = []
    for server in stack.ollama:
        models = stack.models_on(server)
        if not server.ours or not models:
            continue
        there = [one for one in candidates(server, stack, world) if model is None or one.model.name != model.name]
        fitting = [one for one in there if fits_alone(one.member)]
        found += fitting[: 1 if least else loaded_at_once(server, models) or _BY_DEFAULT]
    return found


def candidates(server: OllamaServer, stack: Stack, world: World) -> list[One]:
    """The models that a server may load, as far as their weights are known, the largest first.

    Weights that several have are in memory once (Ollama knows what is there by the blob).
    """
    models = stack.models_on(server)
    unit = sort_unit(server_container_name(stack, server), server.name, world.containers)
    runs = unit.current is not None and unit.current.running
    if not runs and not any(one.name in world.gathered_for for one in models):
        return []
    by_file: dict[str, One] = {}
    for one in models:
        file = world.ollama_weights.get(one.name)
        if file is None or file.header is None or _has_moved(one, stack, world):
            continue
        member = _served(one, file.header, stack, world, fixed=runs)
        known = by_file.get(file.path)
        if _reckonable(member) and (known is None or _size(member) > _size(known.member)):
            by_file[file.path] = One(one, member, server=server.name)
    return sorted(by_file.values(), key=lambda one: -_size(one.member))


def not_known(server: OllamaServer, stack: Stack, world: World) -> dict[str, ModelFile]:
    """The models of a server whose weights are not known, each with what is there, which says why."""
    found = {one.name: world.ollama_weights.get(one.name) for one in stack.models_on(server)}
    return {name: file for name, file in found.items() if file is not None and file.header is None and file.reason}


def _has_moved(one: Model, stack: Stack, world: World) -> bool:
    current = sort_unit(container_name(stack, one), one.name, world.containers).current
    return current is not None and current.running


def _served(one: Model, header: GgufHeader, stack: Stack, world: World, *, fixed: bool) -> Member:
    """As Ollama serves it: on a GPU it leaves layers on the CPU itself until the rest fits."""
    served = as_served(one, stack)
    machine = replace(machine_in(one, stack, world), container_bytes=None)
    return Member(
        name=one.name,
        header=header,
        demand=demand_of(served),
        machine=machine,
        fixed=fixed,
        auto=served.gpu is not None,
    )


def fits_alone(member: Member) -> bool:
    """Whether a machine with nothing else on it could hold a model, with what does not fit on its GPU on the CPU."""
    machine = empty(member.machine)
    if member.auto:
        return layers_fit(member.header, member.demand, machine) is not None
    return fits([needs(member.header, member.demand)], machine)


def _size(member: Member) -> int:
    return needs(member.header, member.demand).total


def _reckonable(member: Member) -> bool:
    """Whether another model's declaration makes sense; what is wrong with it is told in its own turn."""
    try:
        needs(member.header, member.demand)
    except UnknownType:
        return False
    return True


def present(demand: Demand, container: Container) -> Demand:
    """What a container was started to serve, as far as its arguments tell."""
    served = recognise(container.args)
    return replace(demand, parallel=served.parallel or demand.parallel, ctx=served.ctx or demand.ctx)


def whole(ones: Sequence[One]) -> list[Member]:
    """The same on machines with nothing else on them."""
    return [replace(one.member, machine=empty(one.member.machine)) for one in ones]

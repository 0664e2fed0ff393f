"""Whether the models of a stack fit into memory beside each other, as they will be once all of them are up. Pure.

Counted are the models whose turn it is, as they are declared, and those of the stack that run besides. What is not to
run takes nothing. Of the models on an Ollama server the largest one is counted, since it makes room for one by
unloading another; whether all that it may load at once fit is advice of its own (`memory_ollama`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from homellm.domain.places import problem_at
from homellm.domain.stack import Model, Stack
from homellm.domain.world import World
from homellm.errors import ExitCode, Problem
from homellm.planning.memory_members import One, of_llama_server, on_ollama, present, whole
from homellm.sizing import Device, Machine, Place, needs, places
from homellm.sizing.fit import MIB
from homellm.sizing.together import Member, ctx_each, needs_together, places_together, slots_each

#: How a keep_alive of Ollama's begins that does not end: a negative one.
_FOR_EVER = "-"


def not_together(model: Model, stack: Stack, world: World) -> Problem | None:
    """Why `model` cannot be up together with the others of its stack; None when it can, or stands in nobody's way.

    Refused is what the whole machine could not hold. What it could, and what is free now cannot, is advice; so is what
    some model may make room for by sleeping (`sleep_idle`, a `keep_alive` of its Ollama). Raises caches.UnknownType.
    """
    ones = _ones(model, stack, world)
    if len(ones) == 1:
        return None
    certain = _told(model, ones, whole(ones), stack, world, certain=True)
    if certain is not None:
        return certain
    starting = [one for one in ones if not one.member.fixed]
    return _told(model, starting, _now(starting), stack, world, certain=False) if len(starting) > 1 else None


def freed_for(model: Model, stack: Stack, world: World, machine: Machine) -> Machine:
    """The machine with what the containers give back that are to be replaced, that of `model` among them."""
    return _with(machine, _held([one for one in _ones(model, stack, world) if not one.member.fixed]))


def beside_others(model: Model, stack: Stack, world: World) -> str:
    """The nearest that `model` and the others of its stack could have together; empty when there are no others."""
    ones = _ones(model, stack, world)
    return _nearest(ones) if len(ones) > 1 else ""


def _ones(model: Model, stack: Stack, world: World) -> list[One]:
    """All that will be in memory at once for good: of each Ollama server one model, for which others make room."""
    found = [of_llama_server(model if one.name == model.name else one, model, stack, world) for one in stack.models]
    return [*(one for one in found if one is not None), *on_ollama(model, stack, world, least=True)]


def _now(ones: Sequence[One]) -> list[Member]:
    """What is to be started, on what is free now and will be once the containers that are replaced have gone."""
    held = _held(ones)
    return [replace(one.member, machine=_with(one.member.machine, held)) for one in ones]


def _held(ones: Sequence[One]) -> Mapping[str, int]:
    """What the containers of these models hold of each device. Mapped weights count as free for others already."""
    held: dict[str, int] = {}
    for one in ones:
        if one.running is None:
            continue
        machine = one.member.machine
        need = needs(one.member.header, present(one.member.demand, one.running))
        on_host = (need.host.total if one.model.mlock else need.host.unmapped) + machine.shared * need.gpu.total
        for device, size in ((machine.host, on_host), (machine.gpu, need.gpu.total)):
            if device is not None:
                held[device.name] = held.get(device.name, 0) + size
    return held


def _with(machine: Machine, held: Mapping[str, int]) -> Machine:
    return replace(machine, gpu=_freed(machine.gpu, held), host=_freed(machine.host, held))


def _freed(device: Device | None, held: Mapping[str, int]) -> Device | None:
    if device is None:
        return None
    free = device.free_bytes + held.get(device.name, 0)
    return replace(device, free_bytes=free if device.total_bytes is None else min(free, device.total_bytes))


def _told(
    model: Model, ones: Sequence[One], members: Sequence[Member], stack: Stack, world: World, *, certain: bool
) -> Problem | None:
    used = _used(members)
    there = places_together(needs_together(members), [one.machine for one in members])
    place = next((place for place in there if place.missing_bytes and _to_blame(model, ones, used, place)), None)
    if place is None:
        return None
    sleeps = any(_sleeps(one, stack) for one in ones)
    refused = certain and not sleeps
    nearest = _nearest(_ones(model, stack, world))
    return problem_at(
        model,
        "ctx",
        id="does-not-fit" if refused else "fits-alone",
        message=_message(model, used, place, certain=certain),
        hint=nearest if refused else f"It fits once what holds the rest lets go. As it is now: {nearest}",
        exit_code=ExitCode.REFUSED if refused else ExitCode.OK,
    )


def _sleeps(one: One, stack: Stack) -> bool:
    """Whether a model lets go of its memory by itself when it is idle."""
    server = stack.ollama_server(one.server) if one.server else None
    return bool(one.model.sleep_idle_s) if server is None else not str(server.keep_alive).startswith(_FOR_EVER)


def _used(members: Sequence[Member]) -> dict[str, dict[str, int]]:
    """What each takes of each device, by name."""
    wanted = zip(members, needs_together(members), strict=True)
    return {one.name: {place.name: place.used_bytes for place in places([need], one.machine)} for one, need in wanted}


def _to_blame(model: Model, ones: Sequence[One], used: Mapping[str, Mapping[str, int]], place: Place) -> bool:
    """Whether `model` is one of those that fill this device: those that lie there for the most part.

    One that has a little of itself there is to blame only where everything else there runs already.
    """

    def lies_there(name: str) -> bool:
        return max(used[name], key=lambda device: used[name][device], default="") == place.name

    if not used[model.name].get(place.name):
        return False
    others = (one for one in ones if one.model.name != model.name)
    return lies_there(model.name) or all(one.running is not None or not lies_there(one.model.name) for one in others)


def _message(model: Model, used: Mapping[str, Mapping[str, int]], place: Place, *, certain: bool) -> str:
    others = [f"{name} {_mib(on[place.name])}" for name, on in used.items() if name != model.name and on[place.name]]
    kept = f", of which {_mib(place.target_bytes)} stay free" if place.target_bytes else ""
    has = "has" if certain else "has free"
    return (
        f"{model.name} needs {_mib(used[model.name][place.name])} of {place.name} and {_listed(others)}: together"
        f" {_mib(place.used_bytes)}, and it {has} {_mib(place.free_bytes)}{kept}"
    )


def _nearest(ones: Sequence[One]) -> str:
    """What would fit: in what is free now rather than on a machine where nothing else is."""
    names = _listed([one.model.name for one in ones])
    moving = [one for one in ones if not one.member.fixed]
    for members in (_now(moving), whole(ones)):
        for key, most in (("parallel", slots_each(members)), ("ctx", ctx_each(members))):
            less = [one.model.name for one in moving if most and getattr(one.model, key) > most]
            if less:
                return f"{names} fit together with {key}: {most} for {_listed(less)}."
    return "Leave one of them out, or take a smaller model or a smaller quantization."


def _listed(words: Sequence[str]) -> str:
    *first, last = words
    return f"{', '.join(first)} and {last}" if first else last


def _mib(count: int) -> str:
    return f"{count / MIB:.0f} MiB"

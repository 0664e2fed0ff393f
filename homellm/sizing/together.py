"""Models that are in memory at the same time: what all of them take of each device, and what of them would fit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from homellm.domain.gguf import GgufHeader
from homellm.sizing.demand import CELL_PADDING, Demand
from homellm.sizing.fit import MOST_CTX, Machine, Place, layers_fit, places
from homellm.sizing.needs import Needs, Share, needs


@dataclass(frozen=True, slots=True)
class Member:
    """One of several models that are to be in memory at once.

    `file` names weights that are mapped: those of one file lie in the page cache of the machine once, however many
    servers read them. It is empty for weights that nobody else can share. A `fixed` one is there already and no
    advice changes it. Of an `auto` one the server itself leaves layers on the CPU until it fits on its GPU.
    """

    name: str
    header: GgufHeader
    demand: Demand
    machine: Machine
    file: str = ""
    fixed: bool = False
    auto: bool = False


def needs_together(members: Sequence[Member]) -> tuple[Needs, ...]:
    """What each takes beside the others, in their order. Raises caches.UnknownType."""
    found: dict[int, Needs] = {}
    for number in sorted(range(len(members)), key=lambda n: members[n].auto):
        member = members[number]
        others = [seen_from(member.machine, members[n].machine, need) for n, need in found.items()]
        found[number] = needs(member.header, _placed(member, others))
    return mapped_once([found[number] for number in range(len(members))], [member.file for member in members])


def _placed(member: Member, others: Sequence[Needs]) -> Demand:
    if not member.auto:
        return member.demand
    layers = layers_fit(member.header, member.demand, member.machine, others=others)
    return replace(member.demand, gpu_layers=layers or 0)


def mapped_once(wanted: Sequence[Needs], files: Sequence[str]) -> tuple[Needs, ...]:
    """The needs with the weights in host memory counted once for each file that several of them map."""
    counted: dict[str, int] = {}
    found = []
    for need, file in zip(wanted, files, strict=True):
        before = min(counted.get(file, 0), need.host.weights) if file else 0
        if file:
            counted[file] = max(counted.get(file, 0), need.host.weights)
        found.append(replace(need, host=replace(need.host, weights=need.host.weights - before)))
    return tuple(found)


def places_together(wanted: Sequence[Needs], machines: Sequence[Machine]) -> tuple[Place, ...]:
    """Each device once, with what all of them take there. Limits of containers are each model's own."""
    sums: dict[str, Place] = {}
    for need, machine in zip(wanted, machines, strict=True):
        for place in places([need], replace(machine, container_bytes=None)):
            before = sums.get(place.name)
            used, free = (before.used_bytes, before.free_bytes) if before else (0, place.free_bytes)
            sums[place.name] = replace(
                place, used_bytes=place.used_bytes + used, free_bytes=min(place.free_bytes, free)
            )
    return tuple(sums.values())


def all_fit(members: Sequence[Member]) -> bool:
    """Whether all of them fit at once."""
    wanted = needs_together(members)
    return not any(place.missing_bytes for place in places_together(wanted, [one.machine for one in members]))


def slots_each(members: Sequence[Member]) -> int:
    """The most slots, the same number for each that has more, at which all fit; 0 when not even one each does."""
    most = max((one.demand.parallel for one in members if not one.fixed), default=0)
    return _most(most, lambda slots: all_fit([_with(one, parallel=slots) for one in members]))


def ctx_each(members: Sequence[Member]) -> int:
    """The largest context of a slot, in steps of 256 tokens, for each that has more, at which all fit; 0 for none."""
    most = max((one.demand.ctx for one in members if not one.fixed), default=0)
    steps = min(most, MOST_CTX) // CELL_PADDING
    return _most(steps, lambda step: all_fit([_with(one, ctx=step * CELL_PADDING) for one in members])) * CELL_PADDING


def _with(member: Member, *, parallel: int | None = None, ctx: int | None = None) -> Member:
    if member.fixed:
        return member
    demand = member.demand
    smaller = replace(demand, parallel=min(demand.parallel, parallel or demand.parallel))
    return replace(member, demand=replace(smaller, ctx=min(demand.ctx, ctx or demand.ctx)))


def _most(most: int, good: Callable[[int], bool]) -> int:
    low, high = 0, most
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if good(middle) else (low, middle - 1)
    return low


def seen_from(machine: Machine, its_machine: Machine, need: Needs) -> Needs:
    """What another model takes of this one's devices: its GPU's part only on the same GPU, its container's never."""
    if machine.gpu is not None and its_machine.gpu is not None and machine.gpu.name == its_machine.gpu.name:
        return need
    host = _sum(need.host, need.gpu) if its_machine.shared else need.host
    return replace(need, host=host, gpu=Share())


def _sum(one: Share, other: Share) -> Share:
    return Share(
        weights=one.weights + other.weights,
        kv=one.kv + other.kv,
        recurrent=one.recurrent + other.recurrent,
        compute=one.compute + other.compute,
        output=one.output + other.output,
        projector=one.projector + other.projector,
    )

"""Whether needs fit into what is free, and what would fit.

llama-server keeps 1024 MiB of each device free (`--fit-target`), and so does the reckoning here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from homellm.domain.gguf import GgufHeader
from homellm.sizing.demand import CELL_PADDING, Demand
from homellm.sizing.needs import Needs, needs

MIB = 1024 * 1024
#: What llama-server leaves free on each device unless told otherwise (help of build 11669).
FIT_TARGET_BYTES = 1024 * MIB
#: llama-server takes no more slots than this (LLAMA_MAX_SEQ in llama-cparams.h).
MOST_SLOTS = 256
#: A search for a context ends here when the file does not tell what the model was trained on.
MOST_CTX = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Device:
    """Memory of one device. `free_bytes` is what is free before anything of ours is there."""

    name: str
    free_bytes: int
    total_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class Machine:
    """Where a model is to run. None for a device that there is not, or whose size is not known and so not judged.

    `shared` tells that the GPU takes its memory from the host's (integrated GPUs). `container_bytes` is the limit of
    the container; no fit target is kept from it.
    """

    gpu: Device | None = None
    host: Device | None = None
    shared: bool = False
    container_bytes: int | None = None
    fit_target_bytes: int = FIT_TARGET_BYTES


@dataclass(frozen=True, slots=True)
class Place:
    """One device with what is asked of it. It fits while `used_bytes` stays within free less the target."""

    name: str
    used_bytes: int
    free_bytes: int
    target_bytes: int
    total_bytes: int | None = None

    @property
    def missing_bytes(self) -> int:
        """How much too large it is; 0 when it fits."""
        return max(self.used_bytes - (self.free_bytes - self.target_bytes), 0)


def places(wanted: Sequence[Needs], machine: Machine) -> tuple[Place, ...]:
    """Each device of the machine with what all of `wanted` take there together.

    The limit of the container is that of the first alone: the others have containers of their own.
    """
    gpu = sum(need.gpu.total for need in wanted)
    host = sum(need.host.total for need in wanted)
    found = []
    if machine.gpu is not None:
        found.append(_place(machine.gpu, gpu, machine.fit_target_bytes))
    on_host = host + gpu if machine.shared else host
    if machine.host is not None:
        found.append(_place(machine.host, on_host, machine.fit_target_bytes))
    if machine.container_bytes is not None:
        limit = Device("container limit", machine.container_bytes, machine.container_bytes)
        own = wanted[0].host.total + (wanted[0].gpu.total if machine.shared else 0)
        found.append(_place(limit, own, 0))
    return tuple(found)


def _place(device: Device, used: int, target: int) -> Place:
    return Place(device.name, used, device.free_bytes, target, device.total_bytes)


def fits(wanted: Sequence[Needs], machine: Machine) -> bool:
    """Whether all of `wanted` fit together."""
    return not any(place.missing_bytes for place in places(wanted, machine))


def slots_fit(header: GgufHeader, demand: Demand, machine: Machine, *, others: Sequence[Needs] = ()) -> int:
    """The largest number of slots of `demand.ctx` tokens that fits beside `others`; 0 when not even one does."""
    return _largest(1, MOST_SLOTS, lambda slots: _fits(header, replace(demand, parallel=slots), machine, others))


def ctx_fits(header: GgufHeader, demand: Demand, machine: Machine, *, others: Sequence[Needs] = ()) -> int:
    """The largest context of a slot, in steps of 256 tokens, for `demand.parallel` slots; 0 when not even 256 fit.

    It is not larger than what the model was trained on: beyond that the server cuts the context of a slot.
    """
    most = (header.context_length or MOST_CTX) // CELL_PADDING
    steps = _largest(1, most, lambda step: _fits(header, replace(demand, ctx=step * CELL_PADDING), machine, others))
    return steps * CELL_PADDING


def layers_fit(header: GgufHeader, demand: Demand, machine: Machine, *, others: Sequence[Needs] = ()) -> int | None:
    """The most layers that fit on the GPU with the rest on the host, counted as -ngl does; None when nothing fits."""
    for layers in range(header.layers + 1, -1, -1):
        if _fits(header, replace(demand, gpu_layers=layers), machine, others):
            return layers
    return None


def _fits(header: GgufHeader, demand: Demand, machine: Machine, others: Sequence[Needs]) -> bool:
    return fits([needs(header, demand), *others], machine)


def _largest(least: int, most: int, good: Callable[[int], bool]) -> int:
    """The largest number in [least, most] that is good, if all smaller ones are; least - 1 when none is."""
    low, high = least - 1, most
    while low < high:
        middle = (low + high + 1) // 2
        if good(middle):
            low = middle
        else:
            high = middle - 1
    return low

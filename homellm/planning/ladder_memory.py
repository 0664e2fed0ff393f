"""Whether a model can be loaded a second time beside Ollama's copy of it, before anything is started. Pure."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from homellm.domain.ollama import LoadedModel
from homellm.sizing.fit import Device, Machine, Place, places
from homellm.sizing.needs import Needs


@dataclass(frozen=True, slots=True)
class Room:
    """What has to be done for the successor to find room.

    `both`: it fits while Ollama keeps its copy. `unload-first`: only once Ollama let go of it, or where nobody can
    tell. `too-big`: not even then; `short` are the devices with what is asked of them and what is there.
    """

    verdict: Literal["both", "unload-first", "too-big"]
    short: tuple[Place, ...] = ()

    @property
    def reason(self) -> str:
        """What is short, as a phrase."""
        return "; ".join(_told(place) for place in self.short)


def _told(place: Place) -> str:
    free = _gib(place.free_bytes - place.target_bytes)
    return f"it needs {_gib(place.used_bytes)} of {place.name}, where {free} are free for it"


def room(successor: Needs, machine: Machine, loaded: LoadedModel | None) -> Room:
    """Where a successor with these needs can go on this machine, whose free memory has Ollama's copy in it already.

    `loaded` is that copy as /api/ps tells it; None when it is not in memory.
    """
    now = places([successor], machine)
    if not now:
        return Room("unload-first")  # no device is known: careful
    short = tuple(place for place in now if place.missing_bytes)
    if not short:
        return Room("both")
    if loaded is None:
        return Room("too-big", short)
    after = places([successor], _without(machine, loaded))
    still = tuple(place for place in after if place.missing_bytes)
    return Room("too-big", still) if still else Room("unload-first")


def _without(machine: Machine, loaded: LoadedModel) -> Machine:
    """The machine once Ollama has unloaded the model."""
    on_gpu = loaded.vram_bytes
    on_host = max(loaded.size_bytes - on_gpu, 0)
    if machine.shared:
        on_host += on_gpu
    return replace(machine, gpu=_freed(machine.gpu, on_gpu), host=_freed(machine.host, on_host))


def _freed(device: Device | None, size: int) -> Device | None:
    if device is None:
        return None
    most = device.total_bytes if device.total_bytes is not None else device.free_bytes + size
    return replace(device, free_bytes=min(device.free_bytes + size, most))


def _gib(size: int) -> str:
    return f"{max(size, 0) / 1024**3:.1f} GiB"

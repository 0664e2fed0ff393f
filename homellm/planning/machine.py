"""The memory that a model may take: of its declared GPU, of the machine, of its container."""

from __future__ import annotations

from dataclasses import replace

from homellm.domain.stack import KvCacheType, Model, Stack
from homellm.domain.world import Host, HostGpu, World
from homellm.errors import Problem
from homellm.gpu.listing import title
from homellm.gpu.resolve import resolve
from homellm.sizing import Device, Machine

SYSTEM_MEMORY = "system memory"


def as_served(model: Model, stack: Stack) -> Model:
    """The model with what its Ollama server decides where Ollama serves it: GPU, cache types, limit."""
    server = stack.ollama_server(model.server) if model.runner == "ollama" else None
    if server is None:
        return model
    kind = server.kv_cache_type
    return replace(
        model,
        gpu=model.gpu or server.gpu,
        kv_cache_type=model.kv_cache_type or (KvCacheType(kind, kind) if kind else None),
        flash_attention=model.flash_attention or server.flash_attention,
        memory_bytes=model.memory_bytes or server.memory_bytes,
    )


#: What decides whether llama-server maps its weights or copies them (help of builds 10434 and 11669).
_LOAD_FLAGS = ("-lm", "--load-mode", "--no-mmap", "-dio", "--direct-io")


def mapped_file(model: Model) -> str:
    """The file whose weights a model's server maps, so that others can share them; empty where they are its own.

    Locked weights are not counted on: newer builds copy what they lock (`--load-mode mlock`).
    """
    copied = model.mlock or any(word.partition("=")[0] in _LOAD_FLAGS for word in model.extra_args)
    return "" if copied or model.runner != "llama-server" or model.source.path is None else str(model.source.path)


def machine_of(model: Model, stack: Stack, host: Host, *, device: Device | None = None) -> tuple[Machine, str]:
    """Where a model is to run with what is free there now, and a word about what cannot be told (or nothing).

    `device` stands in for its GPU. What Ollama is told to leave free of a GPU is not offered.
    """
    served = as_served(model, stack)
    memory = system_memory(host)
    machine = Machine(host=memory, container_bytes=served.memory_bytes)
    declared = stack.gpu(served.gpu)
    if declared is None:
        return machine, "" if memory else "How much memory the machine has cannot be seen from here: give --memory."
    server = stack.ollama_server(model.server) if model.runner == "ollama" else None
    overhead = (server.gpu_overhead_bytes if server else None) or 0
    if device is not None:
        return replace(machine, gpu=_less(device, overhead)), ""
    card = resolve(declared, host)
    if isinstance(card, Problem):
        return machine, f"{card.message}; its memory is not judged. Give --memory and --free."
    return _with_card(machine, card, overhead)


def machine_in(model: Model, stack: Stack, world: World) -> Machine:
    """Where a model is to run in this world: a machine that cannot be seen has the memory that its engine tells."""
    machine, _ = machine_of(model, stack, world.host)
    total = world.engine.memory_bytes
    return replace(machine, host=Device(SYSTEM_MEMORY, total, total)) if machine.host is None and total else machine


def _with_card(machine: Machine, card: HostGpu, overhead: int) -> tuple[Machine, str]:
    name = f"{title(card)} ({card.pci})" if card.pci else title(card)
    if card.integrated:
        return replace(machine, shared=True), f"{name} takes its memory from the machine's: both are counted there."
    if card.memory_bytes is None:
        return machine, f"The driver does not tell how much memory {name} has: give --memory and --free."
    device = Device(name, max(card.memory_bytes - (card.used_bytes or 0), 0), card.memory_bytes)
    return replace(machine, gpu=_less(device, overhead)), ""


def _less(device: Device, overhead: int) -> Device:
    return replace(device, free_bytes=max(device.free_bytes - overhead, 0))


def system_memory(host: Host) -> Device | None:
    """The machine's memory with what is available of it; None where it cannot be seen."""
    free = host.available_bytes if host.available_bytes is not None else host.memory_bytes
    return Device(SYSTEM_MEMORY, free, host.memory_bytes) if free is not None else None


def empty(machine: Machine) -> Machine:
    """The same machine with nothing else on it and nothing kept free: what does not fit here fits never."""
    return replace(machine, gpu=_whole(machine.gpu), host=_whole(machine.host), fit_target_bytes=0)


def capacity_bytes(machine: Machine) -> int | None:
    """All memory that a machine has, of host and GPU together; None where either cannot be told.

    A file larger than this fits nowhere, whatever its layers: enough to refuse a download whose header nobody has yet.
    """
    devices = [device for device in (machine.host, machine.gpu) if device is not None]
    totals = [device.total_bytes for device in devices]
    known = [total for total in totals if total is not None]
    return sum(known) if devices and len(known) == len(totals) else None


def _whole(device: Device | None) -> Device | None:
    return None if device is None else replace(device, free_bytes=max(device.total_bytes or 0, device.free_bytes))

"""What would stop a container before it is made: told from the world alone, before anything is created."""

from __future__ import annotations

import ipaddress

from homellm.domain.names import FAILED, LABEL_STACK, NEXT, is_wildcard
from homellm.domain.stack import Model, Place, Stack
from homellm.domain.world import Container, ModelFile, World
from homellm.errors import Problem
from homellm.planning.units import Unit, split_name


def preflight(model: Model, stack: Stack, unit: Unit, world: World) -> tuple[Problem, ...]:
    """Everything that is known to stop `model`: its file, its CPUs, its port and its name."""
    found = (
        _model_file(model, world),
        _cpus(model, world),
        _port(model, unit, world),
        _name(model, unit, stack, world),
    )
    return tuple(problem for problem in found if problem is not None)


def _problem(model: Model, key: str, id: str, message: str, hint: str) -> Problem:
    place: Place | None = model.places.get(key) or model.places.get("")
    return Problem(
        id=id,
        message=message,
        hint=hint,
        model=model.name,
        file=place.file if place else None,
        line=place.line if place else None,
        column=place.column if place else None,
    )


_FILE_FAULTS = {
    "missing": ("model-missing", "model file {path} does not exist", "Check the path, or download the file."),
    "unreadable": (
        "model-unreadable",
        "model file {path} cannot be read: {reason}",
        "Check the owner and the mode of the file and of the folders above it.",
    ),
    "directory": ("model-missing", "{path} is a folder, not a model file", "Name the .gguf file in it."),
    "not-gguf": ("not-gguf", "{path} is not a GGUF file: {reason}", "Download the .gguf file itself."),
    "truncated": ("model-corrupt", "{reason}", "Download the file again; the download was cut short."),
}


def _model_file(model: Model, world: World) -> Problem | None:
    file = world.model_files.get(str(model.source.path)) if model.source.path else None
    if file is None or file.state == "ok":
        return None
    fault, message, hint = _FILE_FAULTS[file.state]
    return _problem(model, "source", fault, message.format(path=file.path, reason=_reason(file)), hint)


def _reason(file: ModelFile) -> str:
    if file.state == "truncated" and file.needed_bytes:
        have, need = file.size_bytes / 1e6, file.needed_bytes / 1e6
        return f"model file {file.path} is cut short ({have:.0f} of {need:.0f} MB)"
    return file.reason or file.state


def cpuset_numbers(cpuset: str) -> tuple[int, ...]:
    """The CPUs of a list as the kernel writes it (`0-3,8`), in ascending order."""
    numbers: set[int] = set()
    for part in filter(None, cpuset.split(",")):
        first, _, last = part.partition("-")
        numbers.update(range(int(first), int(last or first) + 1))
    return tuple(sorted(numbers))


def _cpus(model: Model, world: World) -> Problem | None:
    if model.cpuset is None:
        return None
    usable = world.host.online_cpus or tuple(range(world.engine.cpus))
    beyond = [n for n in cpuset_numbers(model.cpuset) if n not in usable]
    if not beyond or not usable:
        return None
    return _problem(
        model,
        "cpuset",
        "cpus-unavailable",
        f"cpuset {model.cpuset} asks for CPU {', '.join(map(str, beyond))}, which this machine does not have",
        f"This machine has CPUs {_ranges(usable)}.",
    )


def _ranges(numbers: tuple[int, ...]) -> str:
    runs: list[list[int]] = []
    for n in numbers:
        if runs and runs[-1][1] == n - 1:
            runs[-1][1] = n
        else:
            runs.append([n, n])
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in runs)


def overlapping(bind: str, address: str) -> bool:
    """Whether a port published on `bind` collides with one that is held on `address`.

    A wildcard takes the port on every address of its family; the IPv6 wildcard takes IPv4 as well, as the kernel
    binds it by default.
    """
    one, other = _address(bind), _address(address)
    if one.version == other.version:
        return one == other or one.is_unspecified or other.is_unspecified
    six = one if one.version == 6 else other  # noqa: PLR2004 - the version of an address family
    return six.is_unspecified


def _address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    return ipaddress.ip_address("0.0.0.0" if text == "" else text.strip("[]"))


def _port(model: Model, unit: Unit, world: World) -> Problem | None:
    if model.port is None:
        return None
    own = {container.name for container in unit.containers}
    for address, port, name in world.published:
        if port == model.port and overlapping(model.bind, address):
            return None if name in own else _held_by_container(model, name)
    for listener in world.host.listeners or ():
        if listener.port == model.port and overlapping(model.bind, listener.address):
            who = f"{listener.process} (pid {listener.pid})" if listener.process else "a process of the host"
            return _problem(
                model,
                "port",
                "port-taken",
                f"port {model.port} on {listener.address} is held by {who}",
                f"Stop it, or give {model.name} another port.",
            )
    return None


def _held_by_container(model: Model, name: str) -> Problem:
    return _problem(
        model,
        "port",
        "port-taken",
        f"port {model.port} on {'every address' if is_wildcard(model.bind) else model.bind} is published by"
        f" the container {name}",
        f"Stop it (docker stop {name}), or give {model.name} another port.",
    )


def _name(model: Model, unit: Unit, stack: Stack, world: World) -> Problem | None:
    for name in (unit.name, unit.name + NEXT, unit.name + FAILED):
        holder = world.name_holders.get(name)
        if holder is not None:
            return _problem(model, "container_name", "name-taken", _held(holder, stack), _other_name(holder, model))
    for container in world.containers:
        if split_name(container.name)[0] == unit.name and container not in unit.containers:
            return _problem(
                model,
                "container_name",
                "name-taken",
                f"the name {container.name} is held by another model of this stack that the file lacks now",
                "Run homellm up --remove-orphans to remove it.",
            )
    return None


def _held(holder: Container, stack: Stack) -> str:
    owner = holder.label(LABEL_STACK)
    whose = f"the stack {owner}" if owner else f"nobody that homellm knows (image {holder.image})"
    return f"the name {holder.name} is held by a container of {whose}, not of the stack {stack.name}"


def _other_name(holder: Container, model: Model) -> str:
    return f"Rename or remove it (docker rm {holder.name}), or set container_name for {model.name}."

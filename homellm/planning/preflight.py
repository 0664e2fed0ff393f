"""What would stop a container before it is made: told from the world alone, before anything is created."""

from __future__ import annotations

from functools import partial

from homellm.domain.places import problem_at
from homellm.domain.stack import Declared, Model, OllamaServer, Stack
from homellm.domain.world import ModelFile, World
from homellm.errors import Problem
from homellm.planning.held_names import held, other_name
from homellm.planning.host_problems import file_advice
from homellm.planning.memory import memory_problem
from homellm.planning.mlock import mlock_problem
from homellm.planning.port_moves import way_to_port
from homellm.planning.ports import port_problem
from homellm.planning.units import Unit, split_name


def preflight(
    model: Model, stack: Stack, unit: Unit, world: World, *, fit: bool = True, kept: bool = False
) -> tuple[Problem, ...]:
    """Everything that is known to stand in the way of `model`: its file, image, CPUs, port, name, memory, memory lock.

    Without `fit` nothing is reckoned: for somebody who knows better than the reckoning. A model that is `kept` has a
    container that runs as declared. A problem with exit code OK is
    advice: it may stand in the way, and stops nothing.
    """
    file = world.model_files.get(str(model.source.path)) if model.source.path else None
    found = (
        file_problem(model, file),
        _projector(model, world),
        _template(model, world),
        _image(model, world),
        _cpus(model, world),
        _port(model, unit, stack, world),
        _name(model, unit, stack, world),
        _networks(model, world),
        mlock_problem(model, world.host, world.engine, file.weights_bytes if file else None),
        *file_advice(model, world.host, world.engine),
        memory_problem(model, stack, world, kept=kept) if fit else None,
    )
    return tuple(problem for problem in found if problem is not None)


def preflight_server(
    server: OllamaServer, stack: Stack, unit: Unit, world: World, *, fit: bool = True, kept: bool = False
) -> tuple[Problem, ...]:
    """The same for an Ollama server of ours: its image, CPUs, port and name, and as advice the memory of its models."""
    from homellm.planning.memory_ollama import memory_advice  # noqa: PLC0415 - for stacks with an Ollama alone

    found = (
        _image(server, world),
        _cpus(server, world),
        _port(server, unit, stack, world),
        _name(server, unit, stack, world),
        _networks(server, world),
        *(memory_advice(server, stack, world, kept=kept) if fit else ()),
    )
    return tuple(problem for problem in found if problem is not None)


def _port(declared: Declared, unit: Unit, stack: Stack, world: World) -> Problem | None:
    own = tuple(container.name for container in unit.containers)
    way = partial(way_to_port, declared, stack, world)
    return port_problem(declared, own, world.published, world.host, way)


_FILE_FAULTS = {
    "missing": ("model-missing", "{what} {path} does not exist", "Check the path, or download the file."),
    "dangling": (
        "model-missing",
        "{what} {path} leads nowhere: {reason}",
        "Bring back what the link leads to (a disk that is not mounted?), or download the file.",
    ),
    "unreadable": (
        "model-unreadable",
        "{what} {path} cannot be read: {reason}",
        "Check the owner and the mode of the file and of the folders above it.",
    ),
    "directory": ("model-missing", "{path} is a folder, not a {what}", "Name the .gguf file in it."),
    "not-gguf": ("not-gguf", "{path} is not a GGUF file: {reason}", "Download the .gguf file itself."),
    "truncated": ("model-corrupt", "{reason}", "Download the file again; the download was cut short."),
}


def file_problem(
    model: Model, file: ModelFile | None, *, key: str = "source", what: str = "model file"
) -> Problem | None:
    """What is wrong with the file of a model's weights, or another of its files by `key` and in words.

    None when nothing is, or when nobody looked.
    """
    if file is None or file.state == "ok":
        return None
    fault, message, hint = _FILE_FAULTS[file.state]
    if file.state in ("missing", "dangling") and file.parts:
        message = "{what} {path} is not whole: {reason}"
    text = message.format(path=file.path, reason=_reason(file, what), what=what)
    return problem_at(model, key, id=fault, message=text, hint=hint)


def _reason(file: ModelFile, what: str) -> str:
    if file.state == "truncated" and file.needed_bytes:
        have, need = file.size_bytes / 1e6, file.needed_bytes / 1e6
        return f"{what} {file.path} is cut short ({have:.0f} of {need:.0f} MB)"
    if file.state == "truncated":
        return f"{what} {file.path} is cut short: {file.reason}"
    return file.reason or file.state


def _projector(model: Model, world: World) -> Problem | None:
    """What is wrong with a projector's file; every one that llama.cpp loads has the architecture `clip`."""
    file = world.model_files.get(str(model.mmproj)) if model.mmproj is not None else None
    if file is None or file.state != "ok" or file.architecture == "clip":
        return file_problem(model, file, key="mmproj", what="projector file")
    return problem_at(
        model,
        "mmproj",
        id="projector-broken",
        message=f"{file.path} is no projector: it is a model of the architecture {file.architecture}",
        hint="Name the mmproj file that belongs to the model; its makers give it beside the weights.",
    )


_TEMPLATE_FAULTS = {
    "missing": "does not exist",
    "dangling": "leads nowhere: {reason}",
    "unreadable": "cannot be read: {reason}",
    "directory": "is a folder, not a chat template",
}


def _template(model: Model, world: World) -> Problem | None:
    """What is wrong with the file of a chat template. It is no GGUF, and what it says is the server's to judge."""
    file = world.model_files.get(str(model.chat_template_file)) if model.chat_template_file is not None else None
    fault = _TEMPLATE_FAULTS.get(file.state) if file is not None else None
    if file is None or fault is None:
        return None
    return problem_at(
        model,
        "chat_template_file",
        id="template-unreadable",
        message=f"{file.path} {fault.format(reason=file.reason)}",
        hint="Name a file that can be read, or remove chat_template_file: the model's own template is used then.",
    )


def _image(declared: Declared, world: World) -> Problem | None:
    """An image that is not here and that nobody is to bring."""
    if declared.pull != "never" or declared.image in world.images:
        return None
    return problem_at(
        declared,
        "image",
        id="no-such-image",
        message=f"the image {declared.image} is not here, and pull is never",
        hint=f"Make it or bring it here (docker pull {declared.image}), or set pull: missing.",
    )


def cpuset_numbers(cpuset: str) -> tuple[int, ...]:
    """The CPUs of a list as the kernel writes it (`0-3,8`), in ascending order."""
    numbers: set[int] = set()
    for part in filter(None, cpuset.split(",")):
        first, _, last = part.partition("-")
        numbers.update(range(int(first), int(last or first) + 1))
    return tuple(sorted(numbers))


def _cpus(model: Declared, world: World) -> Problem | None:
    if model.cpuset is None:
        return None
    usable = world.host.online_cpus or tuple(range(world.engine.cpus))
    beyond = [n for n in cpuset_numbers(model.cpuset) if n not in usable]
    if not beyond or not usable:
        return None
    return problem_at(
        model,
        "cpuset",
        id="cpus-unavailable",
        message=f"cpuset {model.cpuset} asks for CPU {', '.join(map(str, beyond))}, which this machine does not have",
        hint=f"This machine has CPUs {_ranges(usable)}.",
    )


def _ranges(numbers: tuple[int, ...]) -> str:
    runs: list[list[int]] = []
    for n in numbers:
        if runs and runs[-1][1] == n - 1:
            runs[-1][1] = n
        else:
            runs.append([n, n])
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in runs)


def _name(model: Declared, unit: Unit, stack: Stack, world: World) -> Problem | None:
    holder = world.name_holders.get(unit.name)
    if holder is not None:
        return problem_at(
            model,
            "container_name",
            id="name-taken",
            message=held(holder, stack.name),
            hint=other_name(holder, model.name),
        )
    for container in world.containers:
        if split_name(container.name)[0] == unit.name and container not in unit.containers:
            return problem_at(
                model,
                "container_name",
                id="name-taken",
                message=f"the name {container.name} is held by another model of this stack that the file lacks now",
                hint="Run homellm up --remove-orphans to remove it.",
            )
    return None


def _networks(model: Declared, world: World) -> Problem | None:
    missing = next((name for name in model.networks if name not in world.networks), None)
    if missing is None:
        return None
    return problem_at(
        model,
        "networks",
        id="network-missing",
        message=f"there is no network {missing}",
        hint=f"Make it with docker network create {missing}, or leave it out of `networks`.",
    )

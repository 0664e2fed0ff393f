"""What `render` writes down: the containers that `up` makes, and of Ollama's models what no container can say."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, field

from homellm.deploy.gather import gather
from homellm.deploy.select import select, servers_of
from homellm.deploy.session import Ports
from homellm.deploy.settle import unit_of
from homellm.domain.names import server_container_name
from homellm.domain.spec import ContainerSpec
from homellm.domain.stack import Model, OllamaServer, Stack
from homellm.domain.world import World
from homellm.errors import HomellmError, Problem
from homellm.planning.preflight import file_problem
from homellm.runners.built import Built
from homellm.runners.llama_server import build


@dataclass(slots=True)
class Rendered:
    """The containers in the order in which they are to be made; `notes` say whom they concern.

    `absent` is what is wrong with files of weights, which stops no rendering.
    """

    specs: list[ContainerSpec] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    problems: tuple[Problem, ...] = ()
    absent: tuple[Problem, ...] = ()

    def add(self, name: str, built: Built) -> None:
        """One container more, or why there is none."""
        self.specs += [built.spec] if built.spec is not None else []
        self.problems += built.problems
        self.tell(name, *built.notes)

    def tell(self, name: str, *notes: str) -> None:
        """Notes on one model or server."""
        self.notes += [f"{name}: {note}" for note in notes]


def rendered(stack: Stack, only: tuple[str, ...], ports: Ports) -> Rendered:
    """The containers of the models named, of all for none, and of their Ollama servers. Raises EngineUnreachable.

    A model that has moved away from Ollama is rendered as it is served now, where that can be told.
    """
    models = select(stack, only)
    world = gather(stack, models, ports)
    found = Rendered()
    for server in servers_of(stack, models):
        if server.ours:
            from homellm.runners.ollama_server import build as build_server  # noqa: PLC0415 - for stacks with an Ollama

            found.add(server.name, build_server(server, stack.models_on(server), stack, world))
    for model in models:
        if model.runner == "ollama":
            _add_of_ollama(found, model, stack, world, ports)
            continue
        found.add(model.name, build(model, stack, world))
        missing = file_problem(model, world.model_files.get(str(model.source.path)))
        found.absent += (missing,) if missing is not None else ()
    return found


def _add_of_ollama(found: Rendered, model: Model, stack: Stack, world: World, ports: Ports) -> None:
    server = stack.ollama_server(model.server)
    if server is None:
        return
    if unit_of(model, stack, world).current is None or model.fallback == "none":
        found.tell(model.name, *_by_hand(model, server, stack, ports))
        return
    moved = _moved(model, server, stack, world, ports)
    if moved is None:
        told = f"it has moved to llama-server; how is not known while the Ollama server {server.name} does not answer"
        found.tell(model.name, told)
        return
    found.add(model.name, build(moved, stack, gather(stack, (moved,), ports)))
    told = f"Ollama gave it fewer than {model.parallel} slots, and llama-server serves it: so it is written here"
    found.tell(model.name, told, *_by_hand(model, server, stack, ports))


def _moved(model: Model, server: OllamaServer, stack: Stack, world: World, ports: Ports) -> Model | None:
    """The model as llama-server serves it, by what the last `up` found; None where nobody can tell."""
    from homellm.deploy.ollama_models import Named, lookup  # noqa: PLC0415
    from homellm.deploy.ollama_ps import told  # noqa: PLC0415 - for stacks with an Ollama alone
    from homellm.deploy.ollama_record import outcomes_of, read_server_record  # noqa: PLC0415
    from homellm.deploy.ollama_server import find  # noqa: PLC0415
    from homellm.deploy.ollama_successor import successor  # noqa: PLC0415
    from homellm.runners.ollama_models import served_name  # noqa: PLC0415

    name = served_name(model)
    try:
        reached = find(server, stack, ports)
        record = read_server_record(reached.container, reached.url, ports)
        named = Named(name, lookup(name, reached), reached.api.show(name), record)
    except HomellmError:
        return None
    outcomes = outcomes_of(model.name, unit_of(model, stack, world).current, record)
    fallback = told(outcomes)
    carried = successor(model, named, fallback.rung, stack, outcomes) if fallback is not None else None
    return carried.model if carried is not None else None


def _by_hand(model: Model, server: OllamaServer, stack: Stack, ports: Ports) -> tuple[str, ...]:
    """How a model comes into an Ollama server without homellm, as commands: no container can say it."""
    from homellm.runners.ollama_models import served_name, source_name  # noqa: PLC0415 - for stacks with an Ollama alone
    from homellm.runners.ollama_server import server_ctx  # noqa: PLC0415

    if not server.ours:
        return (f"the Ollama at {server.url} serves it, of which nothing is homellm's to write down",)
    container, name = server_container_name(stack, server), shlex.quote(served_name(model))
    own_ctx = model.ctx != server_ctx(stack.models_on(server))
    wanted = source_name(model)
    if wanted is not None:
        source = shlex.quote(wanted.short)
        by_http = "--insecure " if wanted.insecure else ""
        commands = [f"docker exec {container} ollama pull {by_http}{source}"]
        if own_ctx:
            commands.append(_create(container, name, wanted.short, model.ctx))
        elif source != name:
            commands.append(f"docker exec {container} ollama cp {source} {name}")
    elif model.source.path is None:
        return (f"{model.source} is not here yet: homellm pull {model.name} brings it, and then this can say more",)
    elif len(ports.files.look(model.source.path).parts) > 1:
        return ("it is made of a GGUF in parts: homellm up alone brings it into Ollama's store",)
    else:
        inside = "/tmp/homellm.gguf"  # noqa: S108 - in the container
        commands = [f"docker cp {shlex.quote(str(model.source.path))} {container}:{inside}"]
        commands.append(_create(container, name, inside, model.ctx if own_ctx else None))
    slots = (
        f"; whether Ollama gives it {model.parallel} slots is proved by homellm up alone" if model.parallel > 1 else ""
    )
    return (f"Ollama has it from these commands, once {container} runs{slots}", *commands)


def _create(container: str, name: str, source: str, ctx: int | None) -> str:
    """`ollama create` with a Modelfile, which has to be a file in the container."""
    text = f"FROM {source}\\n" + (f"PARAMETER num_ctx {ctx}\\n" if ctx is not None else "")
    script = f"cat >/tmp/Modelfile && ollama create {name} -f /tmp/Modelfile"
    return f"printf {shlex.quote(text)} | docker exec -i {container} sh -c {shlex.quote(script)}"

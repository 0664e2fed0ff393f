"""`endpoints`: the stack as it runs, where it does: addresses, ports, keys and runners of the containers."""

from __future__ import annotations

from dataclasses import dataclass, replace

from homellm.deploy.observe import environment
from homellm.deploy.session import Ports
from homellm.domain.names import LABEL_ROLE, LABEL_STACK, ROLE_SERVE, container_name, server_container_name
from homellm.domain.stack import OLLAMA_PORT, SERVER_PORT, Model, OllamaServer, Stack
from homellm.domain.world import Container
from homellm.planning.units import sort_unit
from homellm.ports import Engine
from homellm.runners.recognise import recognise


@dataclass(frozen=True, slots=True)
class Running:
    """A stack of which every part that runs is declared as it runs.

    `models` are the names of those that are served now, `moved` those of them that are declared on Ollama and have a
    llama-server of their own. A model on an Ollama that is not ours counts as served: nobody here knows better.
    """

    stack: Stack
    models: frozenset[str]
    moved: frozenset[str]


def as_running(stack: Stack, ports: Ports) -> Running:
    """What runs of a stack. Raises EngineUnreachable."""
    engine = ports.engine
    found = engine.list_containers({LABEL_STACK: stack.name, LABEL_ROLE: ROLE_SERVE})
    own = {model.name: _current(container_name(stack, model), model.name, found) for model in stack.models}
    servers = {
        server.name: _current(server_container_name(stack, server), server.name, found)
        for server in stack.ollama
        if server.ours
    }
    now = replace(
        stack,
        models=tuple(
            _given(model, stack, found, ports)
            if model.runner == "ollama" and own[model.name] is None
            else _model(model, own[model.name], engine)
            for model in stack.models
        ),
        ollama=tuple(_server(server, servers.get(server.name)) for server in stack.ollama),
    )
    moved = frozenset(model.name for model in stack.models if model.runner == "ollama" and own[model.name])
    served = {server.name for server in stack.ollama if not server.ours or servers[server.name]}
    on_ollama = {model.name for model in stack.models if model.runner == "ollama" and model.server in served}
    running = {name for name, container in own.items() if container}
    return Running(now, frozenset(running | on_ollama), moved)


def _current(name: str, unit: str, containers: tuple[Container, ...]) -> Container | None:
    """The container that serves a unit, None where none runs."""
    current = sort_unit(name, unit, containers).current
    return current if current is not None and current.running else None


def _model(model: Model, container: Container | None, engine: Engine) -> Model:
    if container is None:
        return model
    served = recognise(container.args, environment(container, engine) if container.has_key else ())
    bind, port = _published(container, SERVER_PORT, (model.bind, model.port))
    slots, ctx = served.parallel or model.parallel, served.ctx or model.ctx
    return replace(model, bind=bind, port=port, api_key=served.api_key, parallel=slots, ctx=ctx)


def _server(server: OllamaServer, container: Container | None) -> OllamaServer:
    if container is None:
        return server
    bind, port = _published(container, OLLAMA_PORT, (server.bind, server.port))
    return replace(server, bind=bind, port=port)


def _given(model: Model, stack: Stack, containers: tuple[Container, ...], ports: Ports) -> Model:
    """A model with the slots and the context that its Ollama server gave it when last seen; else as declared."""
    from homellm.deploy.ollama_ps import ps_on_ollama  # noqa: PLC0415 - for stacks with an Ollama alone

    seen = ps_on_ollama(model, stack, containers, ports)
    return replace(model, parallel=seen.slots or model.parallel, ctx=seen.ctx or model.ctx)


def _published(container: Container, inside: int, declared: tuple[str, int | None]) -> tuple[str, int | None]:
    found = container.published(inside)
    return declared if declared in found else found[0] if found else (declared[0], None)

"""What `plan` tells of a model that Ollama is to serve."""

from __future__ import annotations

from homellm.deploy.ollama_look import ps_on_ollama, server_container
from homellm.deploy.ollama_made import looks_changed
from homellm.deploy.ollama_record import read_server_record
from homellm.deploy.session import Ports
from homellm.deploy.settle import unit_of
from homellm.domain.names import server_container_name
from homellm.domain.stack import Model, Stack
from homellm.domain.steps import Step, VerifyModel
from homellm.domain.verdicts import State
from homellm.domain.world import World
from homellm.runners.ollama_models import served_name


def steps_on_ollama(model: Model, stack: Stack, world: World, ports: Ports, *, swapped: bool) -> tuple[Step, ...]:
    """What Ollama gives is only known once it has loaded the model: that is the step, unless it is known already."""
    server = stack.ollama_server(model.server)
    changed = _of_another_file(model, stack, world, ports)
    if unit_of(model, stack, world).current is not None and not changed:
        return ()  # it has moved; the server that serves it now is looked at, and nothing is started
    known = ps_on_ollama(model, stack, world.containers, ports)
    if known.state in (State.VERIFIED, State.DEGRADED) and not swapped and not changed:
        return ()
    cause = f"{changed} " if changed else ""
    cause += "Ollama loads it and its slots are counted"
    if model.fallback != "none":
        cause += f"; with fewer than {model.parallel} it moves to llama-server"
        cause += _pulled_then(model)
    target = (
        server_container_name(stack, server) if server is not None and server.ours else (server.url if server else "")
    )
    return (VerifyModel(target=target or "", model=model.name, cause=cause),)


def _of_another_file(model: Model, stack: Stack, world: World, ports: Ports) -> str:
    """Why Ollama's model is not that of the file which the stack file names, by the record of its server."""
    server = stack.ollama_server(model.server)
    container = server_container(model, stack, world.containers)
    if model.source.kind == "ollama" or server is None or (server.ours and container is None):
        return ""
    record = read_server_record(container, server.url or "", ports)
    return looks_changed(model, served_name(model), record, ports.files)


def _pulled_then(model: Model) -> str:
    """That its last source would have to be pulled; nobody is asked for it before the model needs it."""
    last = model.fallback_source
    if last is None or last.kind != "hf" or last.path is not None or model.pull == "never":
        return ""
    return f", and {last} is pulled if nothing reads Ollama's file"

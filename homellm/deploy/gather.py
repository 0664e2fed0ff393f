"""Ports to World: the only reader of what is, before anything is decided."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256

from homellm.deploy.loaded_files import loadable
from homellm.deploy.select import servers_of
from homellm.deploy.session import Ports
from homellm.domain.dialect import Dialect
from homellm.domain.names import (
    LABEL_ROLE,
    LABEL_STACK,
    LABEL_UNIT,
    ROLE_PROBE,
    container_name,
    network_name,
    server_container_name,
)
from homellm.domain.stack import Declared, Model, OllamaServer, Program, Stack
from homellm.domain.world import Container, EngineInfo, Image, ModelFile, Network, World
from homellm.errors import EngineRefused
from homellm.runners.dialect import parse_dialect


def gather(stack: Stack, models: tuple[Model, ...], ports: Ports) -> World:
    """The world as far as `models` of `stack` need it.

    An image that is here is asked for its flags, once for each image id; one that is not here is left out. Raises
    EngineUnreachable.
    """
    info = ports.engine.info()
    containers = ports.engine.list_containers({LABEL_STACK: stack.name})
    servers = servers_of(stack, models)
    own = tuple(model for model in models if model.runner == "llama-server")
    images = _images({m.image for m in own} | {s.image for s in servers if s.ours}, ports)
    published = ports.engine.published_ports()
    model_files = _model_files((*own, *_others_that_run(stack, models, containers)), info, ports)
    return World(
        engine=info,
        host=ports.host.snapshot(_wanted_ports((*own, *servers)), {(address, port) for address, port, _ in published}),
        containers=tuple(c for c in containers if c.label(LABEL_ROLE) != ROLE_PROBE),
        name_holders=_name_holders(_names(stack, own, servers), stack, containers, ports),
        images=images,
        dialects=_dialects(own, images, ports),
        model_files=model_files,
        loadable=loadable(own, model_files, info, ports.files, containers),
        published=published,
        networks=_networks(stack, (*own, *servers), ports),
        gathered_for=frozenset(model.name for model in models),
        ollama_weights=_ollama_weights(stack, judged=bool(model_files) or bool(servers), info=info, ports=ports),
    )


def _ollama_weights(stack: Stack, *, judged: bool, info: EngineInfo, ports: Ports) -> dict[str, ModelFile]:
    """What Ollama's models weigh; nothing where nobody's memory is judged beside them, as of one that is moving."""
    if not stack.ollama or not judged:
        return {}
    from homellm.deploy.ollama_files import ollama_weights  # noqa: PLC0415 - for stacks with an Ollama alone

    return ollama_weights(stack, info, ports)


def _wanted_ports(declared: tuple[Declared, ...]) -> set[int]:
    return {one.port for one in declared if one.port is not None}


def _images(refs: set[str], ports: Ports) -> dict[str, Image]:
    found = ((ref, ports.engine.find_image(ref)) for ref in sorted(refs))
    return {ref: image for ref, image in found if image is not None}


def _dialects(models: tuple[Model, ...], images: Mapping[str, Image], ports: Ports) -> dict[str, Dialect]:
    programs = {model.image: model.program for model in models}
    return {ref: _dialect(images[ref], ref, program, ports) for ref, program in programs.items() if ref in images}


def _dialect(image: Image, ref: str, program: Program | None, ports: Ports) -> Dialect:
    """The dialect of an image, or of another program in it, from the cache or by asking it; empty if it cannot tell."""
    key = image.id if program is None else f"sha256:{sha256(f'{image.id} {program.path}'.encode()).hexdigest()}"
    kept = ports.cache.get(key)
    if kept is None:
        kept = _ask(ref, program, ports)
        if kept is None:
            return Dialect(assumed=True)
        ports.cache.put(key, *kept)
    dialect = parse_dialect(*kept)
    return dialect if dialect.flags else Dialect(assumed=True)


def _ask(ref: str, program: Program | None, ports: Ports) -> tuple[str, str] | None:
    labels = {LABEL_ROLE: ROLE_PROBE}
    entrypoint = (program.path,) if program is not None else None
    try:
        version = ports.engine.probe(ref, ("--version",), labels, entrypoint=entrypoint)
        help_text = ports.engine.probe(ref, ("--help",), labels, entrypoint=entrypoint)
    except EngineRefused:
        return None
    return (version.output, help_text.output) if help_text.exit_code == 0 else None


def _model_files(models: tuple[Model, ...], info: EngineInfo, ports: Ports) -> dict[str, ModelFile]:
    if not info.local:
        return {}  # the files stand on the engine's machine, and it will say so when they do not
    named = (path for model in models for path in (model.source.path, model.mmproj, model.chat_template_file))
    return {str(path): ports.files.look(path) for path in set(named) if path is not None}


def _others_that_run(stack: Stack, models: tuple[Model, ...], containers: tuple[Container, ...]) -> tuple[Model, ...]:
    """Models whose turn it is not and that have a server which runs: they hold memory."""
    running = {c.label(LABEL_UNIT) for c in containers if c.running and c.label(LABEL_ROLE) != ROLE_PROBE}
    others = (one for one in stack.models if one.name in running and one.runner == "llama-server")
    return tuple(one for one in others if all(one.name != model.name for model in models))


def _names(stack: Stack, models: tuple[Model, ...], servers: tuple[OllamaServer, ...]) -> set[str]:
    names = {container_name(stack, model) for model in models}
    return names | {server_container_name(stack, server) for server in servers if server.ours}


def _name_holders(
    names: set[str], stack: Stack, containers: tuple[Container, ...], ports: Ports
) -> dict[str, Container]:
    """Containers of others that hold a name which is wanted; a name that one of ours bears needs no question."""
    ours = {container.name for container in containers}
    holders: dict[str, Container] = {}
    for name in names - ours:
        holder = ports.engine.find_container(name)
        if holder is not None and holder.label(LABEL_STACK) != stack.name:
            holders[name] = holder
    return holders


def _networks(stack: Stack, declared: tuple[Declared, ...], ports: Ports) -> dict[str, Network]:
    names = {network_name(stack.name), *(name for one in declared for name in one.networks)}
    found = ((name, ports.engine.find_network(name)) for name in names)
    return {name: network for name, network in found if network is not None}

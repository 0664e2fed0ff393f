"""Ports to World: the only reader of what is, before anything is decided."""

from __future__ import annotations

from homellm.deploy.session import Ports
from homellm.domain.dialect import Dialect
from homellm.domain.names import LABEL_ROLE, LABEL_STACK, ROLE_PROBE, container_name, network_name
from homellm.domain.stack import Model, Stack
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
    images = _images(models, ports)
    return World(
        engine=info,
        host=ports.host.snapshot(),
        containers=tuple(c for c in containers if c.label(LABEL_ROLE) != ROLE_PROBE),
        name_holders=_name_holders(stack, models, containers, ports),
        images=images,
        dialects={ref: _dialect(image, ref, ports) for ref, image in images.items()},
        model_files=_model_files(models, info, ports),
        published=ports.engine.published_ports(),
        networks=_networks(stack, models, ports),
    )


def _images(models: tuple[Model, ...], ports: Ports) -> dict[str, Image]:
    found: dict[str, Image] = {}
    for ref in {model.image for model in models}:
        image = ports.engine.find_image(ref)
        if image is not None:
            found[ref] = image
    return found


def _dialect(image: Image, ref: str, ports: Ports) -> Dialect:
    """The dialect of an image, from the cache or from the image itself; empty when it cannot answer."""
    kept = ports.cache.get(image.id)
    if kept is None:
        labels = {LABEL_ROLE: ROLE_PROBE}
        try:
            version = ports.engine.probe(ref, ("--version",), labels)
            help_text = ports.engine.probe(ref, ("--help",), labels)
        except EngineRefused:
            return Dialect(assumed=True)
        if help_text.exit_code != 0:
            return Dialect(assumed=True)
        kept = (version.output, help_text.output)
        ports.cache.put(image.id, *kept)
    dialect = parse_dialect(*kept)
    return dialect if dialect.flags else Dialect(assumed=True)


def _model_files(models: tuple[Model, ...], info: EngineInfo, ports: Ports) -> dict[str, ModelFile]:
    if not info.local:
        return {}  # the files stand on the engine's machine, and it will say so when they do not
    paths = {model.source.path for model in models if model.source.path is not None}
    return {str(path): ports.files.look(path) for path in paths}


def _name_holders(
    stack: Stack, models: tuple[Model, ...], containers: tuple[Container, ...], ports: Ports
) -> dict[str, Container]:
    """Containers of others that hold a name which is wanted; a name that one of ours bears needs no question."""
    ours = {container.name for container in containers}
    holders: dict[str, Container] = {}
    for name in {container_name(stack, model) for model in models} - ours:
        holder = ports.engine.find_container(name)
        if holder is not None and holder.label(LABEL_STACK) != stack.name:
            holders[name] = holder
    return holders


def _networks(stack: Stack, models: tuple[Model, ...], ports: Ports) -> dict[str, Network]:
    names = {network_name(stack.name), *(name for model in models for name in model.networks)}
    found = ((name, ports.engine.find_network(name)) for name in names)
    return {name: network for name, network in found if network is not None}

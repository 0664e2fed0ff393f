"""Containers of the stack whose model the file does not have any more.

They are removed before anything is made: the port, the name or the memory that they hold may be what a model that was
renamed is waiting for.
"""

from __future__ import annotations

from dataclasses import replace

from homellm.deploy.scope import Scope
from homellm.deploy.session import Emit, Ports
from homellm.deploy.swap import remove
from homellm.domain.events import StepFinished, StepStarted
from homellm.domain.names import LABEL_ROLE, LABEL_UNIT, ROLE_PROBE
from homellm.domain.stack import Stack
from homellm.domain.steps import RemoveContainer
from homellm.domain.world import Container, World

GRACE_S = 10


def orphan_containers(stack: Stack, containers: tuple[Container, ...]) -> tuple[Container, ...]:
    """Those of the containers with the stack's label whose unit it does not declare."""
    declared = {model.name for model in stack.models} | {server.name for server in stack.ollama}
    return tuple(c for c in containers if c.label(LABEL_UNIT) not in declared and c.label(LABEL_ROLE) != ROLE_PROBE)


def without(world: World, gone: tuple[Container, ...]) -> World:
    """The world once these containers and their ports are gone."""
    names = {container.name for container in gone}
    free = {(address, port) for address, port, name in world.published if name in names}
    listeners = world.host.listeners
    if listeners is not None:  # the engine's proxy listens for a container
        listeners = tuple(one for one in listeners if (one.address, one.port) not in free)
    return replace(
        world,
        containers=tuple(container for container in world.containers if container.name not in names),
        published=tuple(port for port in world.published if port[2] not in names),
        host=replace(world.host, listeners=listeners),
    )


def orphan_steps(found: tuple[Container, ...]) -> tuple[RemoveContainer, ...]:
    """The steps that remove them."""
    return tuple(_step(container) for container in found)


def _step(container: Container) -> RemoveContainer:
    return RemoveContainer(target=container.name, cause="its model is not in the stack file any more")


def remove_orphans(found: tuple[Container, ...], ports: Ports, scope: Scope, emit: Emit) -> tuple[str, ...]:
    """Stop and remove them; the names of those that are gone."""
    removed: list[str] = []
    for container in found:
        if scope.cancelled:
            break
        step = _step(container)
        emit(StepStarted(step))
        remove(container.id, ports, scope, GRACE_S)
        removed.append(container.name)
        emit(StepFinished(step))
    return tuple(removed)

"""Containers of the stack whose model the file does not have any more.

They are removed before anything is made: the port, the name or the memory that they hold may be what a model that was
renamed is waiting for.
"""

from __future__ import annotations

from dataclasses import replace

from homellm.deploy.scope import Scope
from homellm.deploy.session import Emit, Ports
from homellm.deploy.swap import clear
from homellm.domain.steps import RemoveContainer
from homellm.domain.world import Container, World
from homellm.planning.ports import freed

GRACE_S = 10


def without(world: World, gone: tuple[Container, ...]) -> World:
    """The world once these containers and their ports are gone."""
    names = {container.name for container in gone}
    world = freed(world, tuple(port for port in world.published if port[2] in names))
    return replace(world, containers=tuple(one for one in world.containers if one.name not in names))


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
        if clear(_step(container), container.id, ports, scope, emit, GRACE_S):
            removed.append(container.name)
    return tuple(removed)

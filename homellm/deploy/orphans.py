"""Containers of the stack whose model the file does not have any more."""

from __future__ import annotations

from homellm.deploy.scope import Scope
from homellm.deploy.session import Emit, Ports
from homellm.deploy.swap import remove
from homellm.domain.events import StepFinished, StepStarted
from homellm.domain.names import LABEL_UNIT
from homellm.domain.stack import Stack
from homellm.domain.steps import RemoveContainer
from homellm.domain.world import Container, World

GRACE_S = 10


def orphan_containers(stack: Stack, world: World) -> tuple[Container, ...]:
    """Those that carry the stack's label and a unit that it does not declare."""
    declared = {model.name for model in stack.models} | {server.name for server in stack.ollama}
    return tuple(c for c in world.containers if c.label(LABEL_UNIT) not in declared)


def orphan_steps(stack: Stack, world: World) -> tuple[RemoveContainer, ...]:
    """The steps that remove them."""
    return tuple(_step(container) for container in orphan_containers(stack, world))


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

"""Containers of the stack whose model, or Ollama server, the file does not have any more."""

from __future__ import annotations

from homellm.domain.names import LABEL_ROLE, LABEL_UNIT, ROLE_PROBE
from homellm.domain.stack import Stack
from homellm.domain.world import Container


def orphan_containers(stack: Stack, containers: tuple[Container, ...]) -> tuple[Container, ...]:
    """Those of the containers with the stack's label whose unit it does not declare."""
    declared = {model.name for model in stack.models} | {server.name for server in stack.ollama}
    return tuple(c for c in containers if c.label(LABEL_UNIT) not in declared and c.label(LABEL_ROLE) != ROLE_PROBE)

"""`endpoints`: which models another runner serves than the declared one, by what runs."""

from __future__ import annotations

from homellm.domain.names import LABEL_ROLE, LABEL_STACK, ROLE_SERVE, container_name
from homellm.domain.stack import Stack
from homellm.ports import Engine


def moved_models(stack: Stack, engine: Engine) -> frozenset[str]:
    """The models that are declared on Ollama and have a llama-server of their own running. Raises EngineUnreachable."""
    running = {
        container.name
        for container in engine.list_containers({LABEL_STACK: stack.name, LABEL_ROLE: ROLE_SERVE})
        if container.running
    }
    on_ollama = (model for model in stack.models if model.runner == "ollama")
    return frozenset(model.name for model in on_ollama if container_name(stack, model) in running)

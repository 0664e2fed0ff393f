"""A container's name that something else bears already: told before anything is created."""

from __future__ import annotations

from homellm.domain.names import LABEL_STACK
from homellm.domain.world import Container
from homellm.errors import Problem

#: What inspect calls a container that is at work, or about to be.
_AT_WORK = ("running", "paused", "restarting")


def name_taken(holder: Container, model: str, stack: str) -> Problem:
    """A name that `model` needs and that another container bears."""
    return Problem(id="name-taken", message=held(holder, stack), hint=other_name(holder, model), model=model)


def held(holder: Container, stack: str) -> str:
    """Which container bears the name, and whose it is."""
    owner = holder.label(LABEL_STACK)
    if owner == stack:
        return f"the name {holder.name} is taken by another container of this stack"
    whose = f"of the stack {owner}" if owner else "that homellm did not make"
    does = "runs" if holder.status in _AT_WORK else "does not run"
    return f"the name {holder.name} is taken by a container {whose} (image {holder.image}; it {does})"


def other_name(holder: Container, model: str) -> str:
    """How the name gets free, or how to do without it."""
    name = holder.name
    free = f"docker stop {name} && docker rm {name}" if holder.status in _AT_WORK else f"docker rm -f {name}"
    return f"If nobody needs that container, remove it: {free}. Or set container_name for {model}."

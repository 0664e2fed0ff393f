"""The declared GPU of a model: found on the host, and what its container and its server need for it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from homellm.domain.dialect import Dialect
from homellm.domain.spec import Arg
from homellm.domain.stack import Model, Stack
from homellm.domain.world import World
from homellm.errors import Problem
from homellm.gpu import Passthrough, device_flag, engine_limit, passthrough, resolve


@dataclass(frozen=True, slots=True)
class Accelerator:
    """What the GPU adds to a container; empty for a model without one. `device` is the server's own argument."""

    passed: Passthrough = field(default_factory=Passthrough)
    device: Arg | None = None
    problem: Problem | None = None


def accelerator(model: Model, stack: Stack, world: World, dialect: Dialect) -> Accelerator:
    """The GPU that `model` declares, as this host and engine have it, or what stands in its way.

    Numbers of groups and nodes are this host's own, found now: none of them stands in the file.
    """
    declared = stack.gpu(model.gpu)
    if declared is None:
        return Accelerator()
    card = resolve(declared, world.host)
    if isinstance(card, Problem):
        return Accelerator(problem=replace(card, model=model.name))
    limit = engine_limit(declared, card, world.host, world.engine)
    if limit is not None:
        return Accelerator(problem=replace(limit, model=model.name))
    return Accelerator(passthrough(declared, card, world.engine), device_flag(declared, card, dialect))

"""What the units of one verb share."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from homellm.deploy.limits import Limits
from homellm.deploy.scope import Scope
from homellm.deploy.session import Options, Ports
from homellm.deploy.threads import Turns
from homellm.domain.stack import Stack
from homellm.domain.world import World


@dataclass(frozen=True, slots=True)
class Job:
    """The stack, the world as it was gathered, and how long all of it may take."""

    stack: Stack
    world: World
    ports: Ports
    options: Options
    scope: Scope
    limits: Limits
    turns: Turns = field(default_factory=Turns)

    def with_time(self, seconds: float) -> Job:
        """The same with so many seconds more: what is pulled in the middle takes as long as it takes."""
        return replace(self, limits=replace(self.limits, deadline=self.limits.deadline + seconds))

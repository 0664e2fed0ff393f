"""The containers of one unit, sorted by the part they play (design rule 7)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from homellm.domain.names import (
    FAILED,
    LABEL_RESTART,
    LABEL_ROLE,
    LABEL_UNIT,
    NEXT,
    PREVIOUS,
    PREVIOUS_KEPT,
    ROLE_SERVE,
)
from homellm.domain.stack import RestartPolicy
from homellm.domain.world import Container

_PART = re.compile(r"(?P<base>.+?)(?P<part>\.next|\.failed|\.prev-\d+)?")
_POLICIES: tuple[RestartPolicy, ...] = ("no", "always", "on-failure", "unless-stopped")


@dataclass(frozen=True, slots=True)
class Unit:
    """What the engine holds of one unit.

    `name` is the canonical name that is wanted. `current` is what serves under the canonical name, or under the one
    it had before the stack file named it anew. `previous` is by number, 1 the newest. `leftover` is what a removal has
    begun to take away, whatever its name: it serves nothing, and no part is left for it to play. `stray` is everything
    else that carries the unit's labels. `outdated` tells by a container's id why it must be made anew although it is
    the one that is wanted: a file that it loaded is another one now.
    """

    name: str
    current: Container | None = None
    next: Container | None = None
    failed: Container | None = None
    previous: Mapping[int, Container] = field(default_factory=lambda: MappingProxyType({}))
    leftover: tuple[Container, ...] = ()
    stray: tuple[Container, ...] = ()
    outdated: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def containers(self) -> tuple[Container, ...]:
        """All of them, what serves first."""
        named = (self.current, self.next, self.failed, *(self.previous[n] for n in sorted(self.previous)))
        return tuple(c for c in named if c is not None) + self.leftover + self.stray


def split_name(name: str) -> tuple[str, str]:
    """A container's name as (canonical name, part); the part is empty for what serves."""
    found = _PART.fullmatch(name)
    return (found["base"], found["part"] or "") if found else (name, "")


def sort_unit(name: str, unit: str, containers: tuple[Container, ...]) -> Unit:
    """The containers of the stack that belong to `unit`, whose canonical name is `name`."""
    ours = [c for c in containers if c.label(LABEL_UNIT) == unit and c.label(LABEL_ROLE) in ("", ROLE_SERVE)]
    whole = [c for c in ours if not c.being_removed]
    by_part: dict[str, Container] = {}
    stray: list[Container] = []
    # What bears the wanted name comes first; an older name's container stands in only where nothing else does.
    for container in sorted(whole, key=lambda c: split_name(c.name)[0] != name):
        part = split_name(container.name)[1]
        known = part in ("", NEXT, FAILED) or part in _previous_parts()
        if known and part not in by_part:
            by_part[part] = container
        else:
            stray.append(container)
    previous = {n: by_part[f"{PREVIOUS}{n}"] for n in range(1, PREVIOUS_KEPT + 1) if f"{PREVIOUS}{n}" in by_part}
    return Unit(
        name=name,
        current=by_part.get(""),
        next=by_part.get(NEXT),
        failed=by_part.get(FAILED),
        previous=MappingProxyType(previous),
        leftover=tuple(c for c in ours if c.being_removed),
        stray=tuple(stray),
    )


def _previous_parts() -> tuple[str, ...]:
    return tuple(f"{PREVIOUS}{n}" for n in range(1, PREVIOUS_KEPT + 1))


def declared_policy(container: Container) -> RestartPolicy:
    """The restart policy that a container was declared with; what it has now may be a swap's `no`."""
    label = container.label(LABEL_RESTART)
    return next((policy for policy in _POLICIES if policy == label), "unless-stopped")


def policy_to_restore(container: Container, wanted: RestartPolicy) -> RestartPolicy:
    """The restart policy that a container gets back when its successor is undone: the one that it has.

    A policy changes without a new container, and its label then tells an older one. `no` may be that of a swap which
    was cut off: then the label tells, unless `no` is also what the file declares (`wanted`).
    """
    found: RestartPolicy = next((policy for policy in _POLICIES if policy == container.restart_policy), "no")
    if found != "no" or wanted == "no":
        return found
    return declared_policy(container)


def should_run(container: Container) -> bool:
    """Whether a container runs, or would if a swap that was cut off had not stopped it.

    A container that a person stopped keeps its policy; only a swap sets the policy to `no` before it stops one.
    """
    if container.running or container.status == "restarting":
        return True
    return container.restart_policy == "no" and declared_policy(container) != "no"

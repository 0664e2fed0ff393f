"""Ports that pass from one unit of a stack to another in the same `up`: who goes first, and who cannot.

A unit that the file moves to another port has given its old one up for good once its successor is proved. Whoever is to
have that port comes after it. Where several wait for each other's in a circle nobody can come first: units are undone
one by one, and after the first had moved the others could not go back (design rule 7). That is told, with the way out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from homellm.domain.names import LABEL_UNIT
from homellm.domain.stack import Declared, Model, OllamaServer, Stack
from homellm.domain.world import World
from homellm.planning.orphans import orphan_containers
from homellm.planning.ports import Published, freed, overlapping, stop_it


@dataclass(frozen=True, slots=True)
class PortMoves:
    """The moves of an `up` of some models.

    `waves` are all its models, those of one side by side, and one wave after the other; who waits in a circle is in the
    first. `left` are the ports that will be given up on the way.
    """

    waves: tuple[tuple[Model, ...], ...]
    left: tuple[Published, ...] = ()

    def vacated(self, world: World) -> World:
        """The world as those find it that come after."""
        return freed(world, self.left)


def port_moves(models: tuple[Model, ...], stack: Stack, world: World) -> PortMoves:
    """In which order these models come, by the ports that they and their Ollama servers hold now and are to have."""
    movers = _movers(models, stack)
    left = _left(movers, world)
    waits = {model.name: _waits_for(model, left) for model in models}
    waves = [tuple(model for model in models if not waits[model.name])]
    gone = {name for name, one in movers.items() if isinstance(one, OllamaServer)}  # servers come before all models
    while any(waves):
        gone |= {model.name for model in waves[-1]}
        placed = {model.name for wave in waves for model in wave}
        following = tuple(m for m in models if m.name not in placed and waits[m.name] <= gone)
        if not following:
            stuck = {model.name for model in models} - placed
            waves[0] = tuple(model for model in models if model in waves[0] or model.name in stuck)
            return PortMoves(
                tuple(waves), tuple(port for name, ports in left.items() if name not in stuck for port in ports)
            )
        waves.append(following)
    return PortMoves((models,))


def _movers(models: tuple[Model, ...], stack: Stack) -> dict[str, Declared]:
    """What gets a container by itself in an `up` of these models; what Ollama is to serve may get none."""
    own: dict[str, Declared] = {model.name: model for model in models if model.runner == "llama-server"}
    needed = {model.server for model in models if model.runner == "ollama"}
    return own | {server.name: server for server in stack.ollama if server.ours and server.name in needed}


def _left(movers: Mapping[str, Declared], world: World) -> dict[str, tuple[Published, ...]]:
    """The ports that each of them holds and is not to have any more."""
    units = {container.name: container.label(LABEL_UNIT) for container in world.containers}
    left: dict[str, tuple[Published, ...]] = {}
    for port in world.published:
        mover = movers.get(units.get(port[2], ""))
        if mover is not None and not _wants(mover, port):
            left[mover.name] = (*left.get(mover.name, ()), port)
    return left


def _wants(declared: Declared, port: Published) -> bool:
    return declared.port == port[1] and overlapping(declared.bind, port[0])


def _waits_for(declared: Declared, left: Mapping[str, tuple[Published, ...]]) -> frozenset[str]:
    """Who has to leave a port before `declared` can have it."""
    return frozenset(
        name for name, ports in left.items() if name != declared.name and any(_wants(declared, port) for port in ports)
    )


def way_to_port(declared: Declared, stack: Stack, world: World, holder: str) -> str:
    """How `declared` comes by its port, which the container named `holder` publishes."""
    if any(container.name == holder for container in orphan_containers(stack, world.containers)):
        return (
            "Its model is not in the stack file any more: homellm up --remove-orphans removes it first. "
            f"Or give {declared.name} another port."
        )
    left = _left(_movers(stack.models, stack), world)
    other = next((name for name, ports in left.items() if any(port[2] == holder for port in ports)), None)
    if other is None:
        return stop_it(declared, holder)
    if declared.name in _reached(other, stack, left):
        return (
            f"{declared.name} and {other} wait for each other's port, so neither can move first. Stop one of them, "
            f"then both move: docker stop {holder} && homellm up"
        )
    named = next((f" {model.name}" for model in stack.models if model.name == other), "")
    return f"{other} is declared on another port now and moves first: homellm up{named}"


def _reached(start: str, stack: Stack, left: Mapping[str, tuple[Published, ...]]) -> frozenset[str]:
    """Everybody that `start` waits for, directly or through others."""
    declared: dict[str, Declared] = {server.name: server for server in stack.ollama}
    declared |= {model.name: model for model in stack.models}
    found: set[str] = set()
    open_ = [start]
    while open_:
        fresh = _waits_for(declared[open_.pop()], left) - found
        found |= fresh
        open_ += fresh
    return frozenset(found)

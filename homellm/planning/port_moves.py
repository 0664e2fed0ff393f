"""Ports that pass from one unit of a stack to another in the same `up`: who goes first, and who cannot.

A unit, that of a model or of an Ollama server, that the file moves to another port has given its old one up for good
once its successor is proved. Whoever is to have that port comes after it. Where several wait for each other's in a
circle nobody can come first: after one had moved the others could not go back (design rule 7). Models that
llama-server serves then move together, and go back together; where an Ollama server is in the circle, that is told,
with the way out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from homellm.domain.addresses import overlapping
from homellm.domain.names import LABEL_UNIT
from homellm.domain.stack import Declared, Model, OllamaServer, Stack
from homellm.domain.world import Container, World
from homellm.planning.orphans import orphan_containers
from homellm.planning.ports import Published, freed, stop_it
from homellm.planning.units import should_run, split_name

_PAIR = 2


@dataclass(frozen=True, slots=True)
class Wave:
    """What moves side by side: the Ollama servers first, as the models on them need them, then the models.

    Models that move `together` are to have each other's ports: all of them or none.
    """

    servers: tuple[OllamaServer, ...]
    models: tuple[Model, ...]
    together: bool = False

    @property
    def all(self) -> tuple[Declared, ...]:
        """All of them in their order."""
        servers: tuple[Declared, ...] = self.servers
        return servers + self.models


@dataclass(frozen=True, slots=True)
class PortMoves:
    """The moves of an `up` of some models and of the Ollama servers that they need.

    `waves` are all of them, one wave after the other; who waits in a circle that cannot move is in the first. `left`
    are the ports that will be given up on the way to others of them.
    """

    waves: tuple[Wave, ...]
    left: tuple[Published, ...] = ()

    def vacated(self, world: World) -> World:
        """The world as those find it that come after."""
        return freed(world, self.left)


def port_moves(models: tuple[Model, ...], stack: Stack, world: World) -> PortMoves:
    """In which order these models and their Ollama servers come, by the ports that they hold now and are to have."""
    left = _left(_movers(models, stack), world)
    needed = {model.server for model in models if model.runner == "ollama"}
    whole = Wave(tuple(server for server in stack.ollama if server.name in needed), models)
    waves: list[Wave] = []
    gone: frozenset[str] = frozenset()
    while len(gone) < len(_names(whole)):
        wave = _next(whole, gone, left) or _circle(whole, gone, left)
        if wave is None:
            break
        waves.append(wave)
        gone |= _names(wave)
    stuck = _names(whole) - gone
    if stuck:
        beside = waves.pop(0) if waves and not waves[0].together else Wave((), ())
        waves.insert(0, _of(whole, _names(beside) | stuck))
    given_up = tuple(port for name, ports in left.items() if name not in stuck for port in ports)
    # What nobody waits for stays with its holder: it tells who else, not of this `up`, is in a circle with it.
    return PortMoves(tuple(waves), tuple(port for port in given_up if any(_wants(one, port) for one in whole.all)))


def _next(whole: Wave, gone: frozenset[str], left: Mapping[str, tuple[Published, ...]]) -> Wave | None:
    """Whoever need not wait for others than those that have gone; a model on Ollama comes with its server or after."""
    free = frozenset(one.name for one in whole.all if one.name not in gone and _waits_for(one, left) <= gone)
    late = _names(Wave(whole.servers, ())) - gone - free
    wave = _of(
        whole, free - {model.name for model in whole.models if model.runner == "ollama" and model.server in late}
    )
    return wave if _names(wave) else None


def _circle(whole: Wave, gone: frozenset[str], left: Mapping[str, tuple[Published, ...]]) -> Wave | None:
    """Models of llama-server that wait for each other, and for nobody else than those that have gone."""
    declared = {one.name: one for one in whole.all}
    for model in whole.models:
        members = _waiting_for_each_other(model.name, declared, left)
        wave = replace(_of(whole, members), together=True)
        waits = [_waits_for(declared[name], left) for name in members]
        if members and _movable(wave) and all(names <= gone | members for names in waits):
            return wave
    return None


def _movable(circle: Wave) -> bool:
    """Whether all in a circle are of the kind that can go back together."""
    return not circle.servers and all(model.runner == "llama-server" for model in circle.models)


def _names(wave: Wave) -> frozenset[str]:
    return frozenset(one.name for one in wave.all)


def _of(whole: Wave, names: frozenset[str]) -> Wave:
    servers = tuple(server for server in whole.servers if server.name in names)
    return Wave(servers, tuple(model for model in whole.models if model.name in names))


def _movers(models: tuple[Model, ...], stack: Stack) -> dict[str, Declared]:
    """What gets a container by itself in an `up` of these models; what Ollama is to serve may get none."""
    own: dict[str, Declared] = {model.name: model for model in models if model.runner == "llama-server"}
    needed = {model.server for model in models if model.runner == "ollama"}
    return own | {server.name: server for server in stack.ollama if server.ours and server.name in needed}


def _left(movers: Mapping[str, Declared], world: World) -> dict[str, tuple[Published, ...]]:
    """The ports that each of them holds and is not to have any more.

    What a run that was killed has stopped holds its ports still: it is to be started again if its successor fails.
    """
    units = {container.name: container.label(LABEL_UNIT) for container in world.containers}
    stopped = (one for one in world.containers if _stopped_by_a_swap(one))
    held = (*world.published, *((ip, port, one.name) for one in stopped for ip, port, _ in one.ports if port))
    left: dict[str, tuple[Published, ...]] = {}
    for port in held:
        mover = movers.get(units.get(port[2], ""))
        if mover is not None and not _wants(mover, port):
            left[mover.name] = (*left.get(mover.name, ()), port)
    return left


def _stopped_by_a_swap(container: Container) -> bool:
    of_its_own_name = not split_name(container.name)[1] and not container.being_removed
    return of_its_own_name and container.status == "exited" and should_run(container)


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
    circle = _of(Wave(stack.ollama, stack.models), _waiting_for_each_other(declared.name, _all(stack), left))
    if other in _names(circle):
        return _way_out(circle, declared.name, holder)
    named = next((f" {model.name}" for model in stack.models if model.name == other), "")
    return f"{other} is declared on another port now and moves first: homellm up{named}"


def _way_out(circle: Wave, name: str, holder: str) -> str:
    names = [name, *(one.name for one in circle.all if one.name != name)]
    listed = f"{', '.join(names[:-1])} and {names[-1]}"
    if _movable(circle):
        return f"{listed} are to have each other's ports, so they move together: homellm up {' '.join(names)}"
    ports, none, all_ = ("port", "neither", "both") if len(names) == _PAIR else ("ports in a circle", "none", "all")
    return (
        f"{listed} wait for each other's {ports}, so {none} can move first. Stop one of them, then {all_} move: "
        f"docker stop {holder} && homellm up"
    )


def _all(stack: Stack) -> dict[str, Declared]:
    servers: dict[str, Declared] = {server.name: server for server in stack.ollama}
    return servers | {model.name: model for model in stack.models}


def _waiting_for_each_other(
    name: str, declared: Mapping[str, Declared], left: Mapping[str, tuple[Published, ...]]
) -> frozenset[str]:
    """All in the circle in which `name` waits; empty where it waits in none."""
    return frozenset(one for one in _reached(name, declared, left) if name in _reached(one, declared, left))


def _reached(start: str, declared: Mapping[str, Declared], left: Mapping[str, tuple[Published, ...]]) -> frozenset[str]:
    """Everybody that `start` waits for, directly or through others."""
    found: set[str] = set()
    open_ = [start]
    while open_:
        fresh = _waits_for(declared[open_.pop()], left) - found
        found |= fresh
        open_ += fresh
    return frozenset(found)

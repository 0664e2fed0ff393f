"""Ports that somebody holds already: told by name before anything is created."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from homellm.domain.addresses import is_every, overlapping
from homellm.domain.places import problem_at
from homellm.domain.stack import Declared, OllamaServer
from homellm.domain.world import Host, Listener, World
from homellm.errors import Problem

#: Programs that hold ports on behalf of containers: which container it is, the engine itself tells better.
#: The kernel keeps fifteen characters of a name.
_ENGINES_OWN = ("docker-proxy", "dockerd", "rootlesskit", "rootlessport", "slirp4netns", "com.docker.back")
_EVERY_IPV6 = "::"

#: An address and port on the host, and the name of the container that publishes it.
Published = tuple[str, int, str]


def takes(listener: Listener, bind: str) -> bool:
    """Whether a listening socket of the host keeps Docker from publishing its port on `bind`.

    A program's socket on `::` takes IPv4 as well, unless it was made with IPV6_V6ONLY (ipv6(7)).
    """
    dual = listener.address == _EVERY_IPV6 and not listener.v6only
    return dual or overlapping(bind, listener.address)


def freed(world: World, ports: tuple[Published, ...]) -> World:
    """The world once containers have given up these ports."""
    listeners = world.host.listeners
    if listeners is not None:
        listeners = tuple(one for one in listeners if not _of_engine(one, ports))
    published = tuple(port for port in world.published if port not in ports)
    return replace(world, published=published, host=replace(world.host, listeners=listeners))


def _of_engine(listener: Listener, published: tuple[Published, ...]) -> bool:
    """Whether it listens for a container that publishes its port.

    The proxy of a rootless engine may listen on another address than that of the publication.
    """
    of_engine = listener.process in _ENGINES_OWN
    return any(port == listener.port and (of_engine or address == listener.address) for address, port, _ in published)


def stop_it(model: Declared, holder: str) -> str:
    """How the port of a container of others becomes free."""
    return f"Stop it (docker stop {holder}), or give {model.name} another port."


def port_problem(
    model: Declared,
    own: tuple[str, ...],
    published: tuple[Published, ...] | None,
    host: Host,
    way: Callable[[str], str] | None = None,
) -> Problem | None:
    """Who holds the port that `model`, or an Ollama server, is to be published on, unless one of its `own` containers.

    `published` are the ports that containers hold, and the host's listeners tell of everything else. With None nobody
    asked the engine: then a holder that may be a container is not spoken of. `way` says how the port of a container
    becomes free; without it, by stopping it.
    """
    if model.port is None:
        return None
    for address, port, name in published or ():
        if port == model.port and name not in own and overlapping(model.bind, address):
            return _held_by_container(model, name, way(name) if way else stop_it(model, name))
    for listener in host.listeners or ():
        if listener.port == model.port and takes(listener, model.bind) and not _may_be_container(listener, published):
            return _held_by_process(model, listener)
    return None


def _may_be_container(listener: Listener, published: tuple[Published, ...] | None) -> bool:
    """Whether it listens for a container: of those the engine tells better, if it was asked."""
    if published is None:
        return listener.process is None or listener.process in _ENGINES_OWN
    return _of_engine(listener, published)


def _held_by_process(model: Declared, listener: Listener) -> Problem:
    if listener.process is None:
        who, stop = "a process that cannot be read from here", f"see sudo ss -ltnp 'sport = :{listener.port}'"
    else:
        who = f"{listener.process} (pid {listener.pid}{f', {listener.unit}' if listener.unit else ''})"
        stop = f"sudo systemctl disable --now {listener.unit}" if listener.unit else f"sudo kill {listener.pid}"
    ways = f"Stop it ({stop}), or give {model.name} another port."
    if isinstance(model, OllamaServer) and listener.process == "ollama":
        ways = f"{ways} Or use that Ollama as it is: url: http://127.0.0.1:{listener.port}, with log_from: journal."
    return problem_at(
        model,
        "port",
        id="port-taken",
        message=f"port {model.port} on {listener.address} is held by {who}",
        hint=ways,
    )


def _held_by_container(model: Declared, name: str, hint: str) -> Problem:
    where = model.bind
    if is_every(model.bind):
        where = "every IPv6 address" if ":" in model.bind else "every address"
    return problem_at(
        model,
        "port",
        id="port-taken",
        message=f"port {model.port} on {where} is published by the container {name}",
        hint=hint,
    )

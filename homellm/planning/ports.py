"""Ports that somebody holds already: told by name before anything is created."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable
from dataclasses import replace

from homellm.domain.names import is_wildcard
from homellm.domain.places import problem_at
from homellm.domain.stack import Declared, OllamaServer
from homellm.domain.world import Host, Listener, World
from homellm.errors import Problem

#: Programs that hold ports on behalf of containers: which container it is, the engine itself tells better.
#: The kernel keeps fifteen characters of a name.
_ENGINES_OWN = ("docker-proxy", "dockerd", "rootlesskit", "rootlessport", "slirp4netns", "com.docker.back")
_IPV6 = 6

#: An address and port on the host, and the name of the container that publishes it.
Published = tuple[str, int, str]


def overlapping(bind: str, address: str) -> bool:
    """Whether a port published on `bind` collides with one that is held on `address`.

    A wildcard takes the port on every address of its family; the IPv6 wildcard takes IPv4 as well, as the kernel
    binds it by default.
    """
    one, other = _address(bind), _address(address)
    if one.version == other.version:
        return one == other or one.is_unspecified or other.is_unspecified
    six = one if one.version == _IPV6 else other
    return six.is_unspecified


def _address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    return ipaddress.ip_address(text.strip("[]") or "0.0.0.0")


def freed(world: World, ports: tuple[Published, ...]) -> World:
    """The world once containers have given up these ports."""
    free = {(address, port) for address, port, _ in ports}
    listeners = world.host.listeners
    if listeners is not None:  # the engine's proxy listens for a container
        listeners = tuple(one for one in listeners if (one.address, one.port) not in free)
    published = tuple(port for port in world.published if port not in ports)
    return replace(world, published=published, host=replace(world.host, listeners=listeners))


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
        if port == model.port and overlapping(model.bind, address):
            return None if name in own else _held_by_container(model, name, way(name) if way else stop_it(model, name))
    for listener in host.listeners or ():
        if listener.port == model.port and overlapping(model.bind, listener.address):
            if published is None and (listener.process is None or listener.process in _ENGINES_OWN):
                return None
            return _held_by_process(model, listener)
    return None


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
    where = "every address" if is_wildcard(model.bind) else model.bind
    return problem_at(
        model,
        "port",
        id="port-taken",
        message=f"port {model.port} on {where} is published by the container {name}",
        hint=hint,
    )

"""A stack to the addresses of its models."""

from __future__ import annotations

import ipaddress
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from homellm.domain.addresses import is_every
from homellm.domain.endpoints import ModelEndpoints, Way
from homellm.domain.names import network_alias, network_name, server_alias, url_host, url_of_port
from homellm.domain.stack import OLLAMA_PORT, SERVER_PORT, Model, OllamaServer, Stack

_LOCAL_NAMES = ("localhost", "localhost.localdomain")


@dataclass(frozen=True, slots=True)
class Machine:
    """Addresses of the engine's machine: in its own network, and on Docker's bridges, where only containers are.

    None where it has none, or where it is another machine than this one.
    """

    lan: tuple[str, ...] = ()
    bridges: frozenset[str] = frozenset()


_UNKNOWN = Machine()


def endpoints(
    stack: Stack, models: tuple[Model, ...], *, machine: Machine = _UNKNOWN, moved: Collection[str] = ()
) -> tuple[ModelEndpoints, ...]:
    """The addresses of each model. `moved` are those that llama-server serves now though Ollama is declared."""
    return tuple(_endpoints(stack, model, machine, model.name in moved) for model in models)


def _endpoints(stack: Stack, model: Model, machine: Machine, moved: bool) -> ModelEndpoints:
    server = stack.ollama_server(model.server) if model.runner == "ollama" and not moved else None
    network: str | None = network_name(stack.name)
    if server is not None and server.url is not None:
        host, lan, container = _foreign(server.url.rstrip("/"), server)
        network = None
    else:
        host, lan = _published(server or model, machine)
        inside = f"{server_alias(server)}:{OLLAMA_PORT}" if server else f"{network_alias(model)}:{SERVER_PORT}"
        container = Way(f"http://{inside}")
    return ModelEndpoints(
        name=model.name,
        runner="llama-server" if moved else model.runner,
        slots=model.parallel,
        ctx=model.ctx,
        host=host,
        lan=lan,
        container=container,
        network=network,
        embedding=model.embedding,
        api_key=model.api_key,
        moved=moved,
    )


def _published(declared: Model | OllamaServer, machine: Machine) -> tuple[Way, Way]:
    """From the host and from the LAN, by port and address of publication."""
    if declared.port is None:
        nothing = Way(None, f"no port is published: give {declared.name} a `port`")
        return nothing, nothing
    if is_every(declared.bind):
        return Way(url_of_port(declared.bind, declared.port)), _on_lan(declared, declared.port, machine.lan)
    if _is_loopback(declared.bind):
        if isinstance(declared, Model):
            way = f"set `bind: 0.0.0.0` and an `api_key` for {declared.name}"
        else:
            way = f"`bind: 0.0.0.0` for {declared.name} opens it to everybody, as Ollama asks no one for a key"
        why = f"published on {declared.bind} alone: {way}"
        return Way(_url(declared.bind, declared.port)), Way(None, why)
    if declared.bind in machine.bridges:
        why = f"published on {declared.bind} alone, an address of Docker's: this machine and its containers are there"
        return Way(_url(declared.bind, declared.port)), Way(None, why)
    return Way(_url(declared.bind, declared.port)), Way(_url(declared.bind, declared.port))


def _on_lan(declared: Model | OllamaServer, port: int, lan_addresses: Sequence[str]) -> Way:
    """By this machine's address of the family on all of whose addresses it is published."""
    if not lan_addresses:
        return Way(None, f"published on every address, port {port}; this machine's own in the LAN is not known here")
    of_ipv6 = ":" in declared.bind
    own = next((address for address in lan_addresses if (":" in address) is of_ipv6), None)
    if own is None:
        family, others = "IPv6" if of_ipv6 else "IPv4", ", ".join(lan_addresses)
        return Way(None, f"published on {family} alone, and this machine's address in the LAN is {others}")
    return Way(_url(own, port))


def _foreign(url: str, server: OllamaServer) -> tuple[Way, Way, Way]:
    """An Ollama that is not ours: its address as declared; one on a loopback address is nobody's but this host's."""
    if not _is_loopback(urlsplit(url).hostname or ""):
        return Way(url), Way(url), Way(url)
    why = f"the Ollama {server.name} is declared at {url}: where else it listens is its own setting (OLLAMA_HOST)"
    return Way(url), Way(None, why), Way(None, why)


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host.lower() in _LOCAL_NAMES


def _url(address: str, port: int) -> str:
    return f"http://{url_host(address)}:{port}"

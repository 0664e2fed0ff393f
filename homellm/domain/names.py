"""The names and labels that homellm gives to what it makes (design rule: container names, labels, alias, endpoint)."""

from __future__ import annotations

import re

from homellm.domain.addresses import is_every
from homellm.domain.stack import OLLAMA_PORT, SERVER_PORT, Model, OllamaServer, Stack

LABEL_STACK = "homellm.stack"
LABEL_UNIT = "homellm.unit"
LABEL_ROLE = "homellm.role"
LABEL_HASH = "homellm.hash"
LABEL_SECTION = "homellm.section"
LABEL_DECLARED = "homellm.declared"
LABEL_VERSION = "homellm.version"
LABEL_RESTART = "homellm.restart"
LABEL_MAKER = "homellm.maker"
LABEL_OUTCOMES = "homellm.outcomes"
LABEL_FILES = "homellm.files"

ROLE_SERVE = "serve"
ROLE_PROBE = "probe"

NEXT = ".next"
FAILED = ".failed"
PREVIOUS = ".prev-"
#: How many predecessors of a unit are kept; 1 is the newest.
PREVIOUS_KEPT = 3

_ILLEGAL = re.compile(r"[^A-Za-z0-9_.-]")


def legal(text: str) -> str:
    """`text` with every character that Docker refuses in a container name made `-`."""
    return _ILLEGAL.sub("-", text)


def container_name(stack: Stack, model: Model) -> str:
    """The canonical name of a model's container: the declared one, else `<stack>-<model>` made legal."""
    return model.container_name or legal(f"{stack.name}-{model.name}")


def network_name(stack: str) -> str:
    """The name of the network that all containers of a stack share."""
    return f"homellm-{legal(stack)}"


def network_alias(model: Model) -> str:
    """The host name under which other containers of the stack's network reach the model."""
    return legal(model.name).lower()


def url_host(address: str) -> str:
    """An address as it stands in a URL: IPv6 in brackets."""
    return f"[{address}]" if ":" in address and not address.startswith("[") else address


def url_of_port(bind: str, port: int) -> str:
    """Where this machine reaches a port that is published on an address: a wildcard by the loopback of its family.

    What Docker publishes on `::` takes no IPv4 (seen by running: Engine 20.10).
    """
    host = bind.strip("[]")
    if is_every(bind):
        host = "::1" if ":" in host else "127.0.0.1"
    return f"http://{url_host(host)}:{port}"


def inside_url(model: Model) -> str:
    """The base URL of a model inside the stack's network."""
    return f"http://{network_alias(model)}:{SERVER_PORT}"


def server_container_name(stack: Stack, server: OllamaServer) -> str:
    """The canonical name of an Ollama server's container: the declared one, else `<stack>-<server>` made legal."""
    return server.container_name or legal(f"{stack.name}-{server.name}")


def server_alias(server: OllamaServer) -> str:
    """The host name under which other containers of the stack's network reach an Ollama server."""
    return legal(server.name).lower()


def default_store(stack: str, server: str) -> str:
    """The named volume that holds the models of a server whose `store` was not declared."""
    return legal(f"{stack}-{server}")


def ollama_url(server: OllamaServer) -> str:
    """The base URL of an Ollama server: its own, that of its published port, else inside the stack's network."""
    if server.url is not None:
        return server.url.rstrip("/")
    if server.port is None:
        return f"http://{server_alias(server)}:{OLLAMA_PORT}"
    return url_of_port(server.bind, server.port)

"""Where a server is really reached: by what its container publishes, whatever the stack file says meanwhile."""

from __future__ import annotations

from typing import TYPE_CHECKING

from homellm.domain.names import inside_url, ollama_url, server_alias, url_of_port
from homellm.domain.stack import OLLAMA_PORT, SERVER_PORT, Model, OllamaServer

if TYPE_CHECKING:
    from homellm.domain.world import Container


def endpoint_seen(model: Model, container: Container) -> str:
    """The OpenAI-style base URL at which `container` serves a model: where it is published, whatever the file says."""
    return f"{published_url(container, SERVER_PORT, (model.bind, model.port)) or inside_url(model)}/v1"


def published_url(container: Container, inside: int, declared: tuple[str, int | None]) -> str | None:
    """The base URL on the host of a port of a container's inside, None where it is not published.

    Of several publications it is the declared one, (address, port), where that is among them.
    """
    found = container.published(inside)
    if not found:
        return None
    ip, port = next((one for one in found if one == declared), found[0])
    return url_of_port(ip, port)


def endpoint_on(server: OllamaServer, container: Container | None) -> str:
    """The OpenAI-style base URL of an Ollama server: of ours that of its container, where there is one."""
    if container is None or not server.ours:
        return f"{ollama_url(server)}/v1"
    url = published_url(container, OLLAMA_PORT, (server.bind, server.port))
    return f"{url or f'http://{server_alias(server)}:{OLLAMA_PORT}'}/v1"

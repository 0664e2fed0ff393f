"""Whether a server answers where it is published, which is where clients are sent, and not inside Docker alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from homellm.deploy.session import Ports
from homellm.deploy.witness import OK, find_url, published_urls
from homellm.domain.stack import SERVER_PORT
from homellm.domain.world import Container
from homellm.ports import HttpReply

#: Between `listening` in the log and an answer through the engine's port proxy pass milliseconds.
SETTLE_S = 5.0
PAUSE_S = 0.05


@dataclass(frozen=True, slots=True)
class Found:
    """Where a server answers /health, and what; `url` is empty when it does nowhere.

    `dead` is the published place (`127.0.0.1:8080`) where it does not answer although it does at the container's own
    address; empty otherwise, and where this cannot be told from here.
    """

    url: str
    reply: HttpReply
    dead: str = ""


def find(container: Container, ports: Ports) -> Found:
    """Where the server of a container answers now."""
    url, reply = find_url(container, ports.http)
    return Found(url, reply, dead_port(container, url, ports))


def settled(container: Container, ports: Ports) -> Found:
    """As `find`, once /health says ok: the log may say `listening` a moment before a published port answers."""
    at_once = find(container, ports)
    if not _amiss(at_once):
        return at_once
    from tenacity import Retrying, retry_if_result, stop_after_delay, wait_fixed  # noqa: PLC0415 - heavy, rarely needed

    look: Callable[[], Found] = lambda: find(container, ports)  # noqa: E731 - what is tried again
    attempts: Retrying = Retrying(
        retry=retry_if_result(_amiss),
        stop=stop_after_delay(SETTLE_S),
        wait=wait_fixed(PAUSE_S),
        retry_error_callback=lambda state: state.outcome.result() if state.outcome else at_once,
    )
    found: Found = attempts(look)
    return found


def _amiss(found: Found) -> bool:
    return found.reply.status != OK or bool(found.dead)


def dead_port(container: Container, url: str, ports: Ports, server_port: int = SERVER_PORT) -> str:
    """The published place that does not answer where only the container's own address, `url`, does; see Found."""
    published = published_urls(container, server_port)
    if not url or not published or url in published or not ports.host.reaches_published(container):
        return ""
    return ", ".join(one.removeprefix("http://") for one in published)

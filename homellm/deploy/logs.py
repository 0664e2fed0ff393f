"""`logs`: the logs of models, line by line, followed if asked."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator

from homellm.deploy.ollama_ps import server_container
from homellm.deploy.scope import Scope
from homellm.deploy.select import select
from homellm.deploy.session import Ports
from homellm.deploy.threads import next_of
from homellm.domain.names import LABEL_STACK, container_name, server_container_name
from homellm.domain.stack import Stack
from homellm.domain.world import Container
from homellm.errors import HomellmError, Refused
from homellm.health.lines import LineDecoder
from homellm.planning.units import sort_unit
from homellm.ports import Stream

#: (model, line without its end); from the calling thread alone.
Write = Callable[[str, str], None]


def logs(
    stack: Stack,
    only: tuple[str, ...],
    ports: Ports,
    scope: Scope,
    *,
    follow: bool,
    tail: int | None,
    write: Write,
) -> None:
    """Write the logs of the models and Ollama servers named, of all models for none, merged as they come.

    A model that has no container but a failed one gives that one's log: it is kept for this. Raises Refused when
    no model has any.
    """
    streams = _streams(stack, only, ports, follow=follow, tail=tail)
    if not streams:
        whose = " or ".join(only) or f"the stack {stack.name}"
        raise Refused(f"no container of {whose} has a log", hint=f"{_up(stack, only)} starts it.", id="no-log")
    happenings: queue.Queue[tuple[str, str] | HomellmError | None] = queue.Queue()
    for name, stream in streams.items():
        threading.Thread(target=_read, args=(name, stream, happenings), daemon=True).start()

    def close() -> None:
        for stream in streams.values():
            stream.close()

    with scope.closing(close):
        ended = 0
        while ended < len(streams):
            happening = next_of(happenings)
            if isinstance(happening, tuple):
                write(*happening)
                continue
            ended += 1
            if happening is not None and not scope.cancelled:
                raise happening


def _up(stack: Stack, only: tuple[str, ...]) -> str:
    """The command that starts what has no log yet: a server comes with its models and is not named to `up`."""
    models = {model.name for model in stack.models}
    return " ".join(("homellm up", *only)) if models.issuperset(only) else "homellm up"


def _streams(stack: Stack, only: tuple[str, ...], ports: Ports, *, follow: bool, tail: int | None) -> dict[str, Stream]:
    containers = ports.engine.list_containers({LABEL_STACK: stack.name})
    streams: dict[str, Stream] = {}
    shown: set[str] = set()
    for name, container in _logged(stack, only, containers):
        if container.id not in shown:
            shown.add(container.id)
            streams[name] = ports.engine.logs(container.id, since=None, follow=follow, tail=tail)
    return streams


def _logged(stack: Stack, only: tuple[str, ...], containers: tuple[Container, ...]) -> Iterator[tuple[str, Container]]:
    """The containers whose logs are meant, each with the name before its lines."""
    models = {model.name for model in stack.models}
    servers = [server for server in stack.ollama if server.name in only and server.name not in models]
    named = tuple(name for name in only if name not in {server.name for server in servers})
    for model in select(stack, named) if named or not servers else ():
        unit = sort_unit(container_name(stack, model), model.name, containers)
        container = unit.next or unit.current or server_container(model, stack, containers) or unit.failed
        if container is not None:
            yield model.name if container in unit.containers else model.server or model.name, container
    for server in servers:
        unit = sort_unit(server_container_name(stack, server), server.name, containers)
        container = unit.next or unit.current or unit.failed
        if container is not None:
            yield server.name, container


def _read(name: str, stream: Stream, happenings: queue.Queue[tuple[str, str] | HomellmError | None]) -> None:
    decoder = LineDecoder()
    try:
        for frame in stream:
            for line in decoder.feed(frame):
                happenings.put((name, line))
        for line in decoder.finish():
            happenings.put((name, line))
    except HomellmError as error:
        happenings.put(error)
        return
    happenings.put(None)

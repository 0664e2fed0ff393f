"""Advice about a running Open WebUI: slots that its background jobs take, and servers that it cannot reach."""

from __future__ import annotations

from urllib.parse import urlsplit

from homellm.domain.addresses import is_every
from homellm.domain.open_webui import PERSISTENT_CONFIG, WebUi
from homellm.domain.stack import Declared, Stack
from homellm.errors import ExitCode, Problem

_SNIPPET = "homellm endpoints --client open-webui prints the whole environment."
_ITSELF = ("localhost", "127.0.0.1", "::1")
_HOST = ("host.docker.internal", "172.17.0.1")


def web_ui_advice(web_ui: WebUi, stack: Stack | None) -> tuple[Problem, ...]:
    """What there is to say of it; empty when nothing is."""
    found = (_jobs(web_ui), _ignored(web_ui), *_addresses(web_ui, stack))
    return tuple(problem for problem in found if problem is not None)


def _jobs(web_ui: WebUi) -> Problem | None:
    costly = [job for job in web_ui.jobs if not job.worth_it]
    if not costly:
        return None
    where = f" on {', '.join(web_ui.task_models)}" if web_ui.task_models else ""
    return _advice(
        "web-ui-jobs",
        f"Open WebUI ({web_ui.container}) runs background jobs{where}, each of which sends the conversation again and"
        f" takes a slot: {', '.join(job.words for job in web_ui.jobs)}",
        f"Switch off what nobody needs: {', '.join(f'{job.variable}=False' for job in costly)}; and"
        f" {PERSISTENT_CONFIG}=False, or its database has the last word. {_SNIPPET}",
    )


def _ignored(web_ui: WebUi) -> Problem | None:
    """A variable that changes nothing after the first start (its database was filled with the value of that day)."""
    if not web_ui.persistent or not web_ui.switched_off:
        return None
    named = ", ".join(job.variable for job in web_ui.switched_off)
    return _advice(
        "webui-env-ignored",
        f"Open WebUI ({web_ui.container}): {named} may change nothing, since its database has the last word after the"
        " first start",
        f"Set {PERSISTENT_CONFIG}=False and start it again, or switch the jobs off in its admin settings (Interface).",
    )


def _addresses(web_ui: WebUi, stack: Stack | None) -> tuple[Problem | None, ...]:
    return tuple(_address(web_ui, url, stack) for url in web_ui.urls)


def _address(web_ui: WebUi, url: str, stack: Stack | None) -> Problem | None:
    parts = urlsplit(url)
    try:
        host, port = parts.hostname or "", parts.port
    except ValueError:
        return None
    if host in _ITSELF:
        return _advice(
            "web-ui-localhost",
            f"Open WebUI ({web_ui.container}) asks {url}, which inside a container is the container itself",
            "homellm endpoints tells the address for a container.",
        )
    names = _bound_to_loopback(stack, port) if host in _HOST else ()
    if not names:
        return None
    return _advice(
        "web-ui-loopback",
        f"Open WebUI ({web_ui.container}) asks {url}, but {', '.join(names)} is published on this machine's own address"
        " alone, which no container reaches that way",
        "Join it to the stack's network and use the address for a container: homellm endpoints.",
    )


def _bound_to_loopback(stack: Stack | None, port: int | None) -> tuple[str, ...]:
    if stack is None:
        return ()
    declared: tuple[Declared, ...] = (*stack.models, *(server for server in stack.ollama if server.ours))
    return tuple(
        one.name for one in declared if port and one.port == port and not is_every(one.bind) and one.bind in _ITSELF
    )


def _advice(id: str, message: str, hint: str) -> Problem:
    return Problem(id=id, message=message, hint=hint, exit_code=ExitCode.OK)

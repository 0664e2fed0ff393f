"""The live witnesses of a server: its API, asked from here, and one real request."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from homellm.domain.evidence import Chat, Props
from homellm.domain.names import url_host, url_of_port
from homellm.domain.stack import SERVER_PORT, Model
from homellm.domain.world import Container
from homellm.ports import Http, HttpReply, Json

#: An answer of /health and /props takes milliseconds, also under load: it does not wait for a slot.
QUICK_S = 5.0
UNAVAILABLE = 503
#: Enough for the name of a tool and an empty object; a model that says more is cut.
TOOL_TOKENS = 32
OK = 200
#: Characters of a server's own words that are kept: they go into the record of its container.
LONGEST_ERROR = 4000


_BUSY = re.compile(rb"^llamacpp:requests_processing (\d+)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Slots:
    """How many slots there are (None where it is not told) and are at work, by `/slots` or `/metrics`.

    `told` is the whole answer: it differs from an earlier one when the server went on in any of them.
    """

    total: int | None
    busy: int
    source: str
    told: bytes


def base_urls(container: Container, server_port: int = SERVER_PORT) -> tuple[str, ...]:
    """The URLs under which the server may be reached from here: where it is published, then its own address."""
    own = [f"http://{url_host(address)}:{server_port}" for address in container.addresses.values() if address]
    return tuple(dict.fromkeys((*published_urls(container, server_port), *own)))


def published_urls(container: Container, server_port: int = SERVER_PORT) -> tuple[str, ...]:
    """The URLs under which the server is published on the engine's machine."""
    return tuple(dict.fromkeys(url_of_port(ip, port) for ip, port in container.published(server_port)))


def find_url(container: Container, http: Http) -> tuple[str, HttpReply]:
    """The first URL that answers /health, and what it answered; an empty URL when none does."""
    reply = HttpReply(status=0, error="the container has no address that can be reached from here")
    for url in base_urls(container):
        reply = http.get(f"{url}/health", timeout_s=QUICK_S)
        if reply.status:
            return url, reply
    return "", reply


def is_loading(container: Container, http: Http) -> bool:
    """Whether the server says that it is still loading its model; one that cannot be asked is taken as ready."""
    return find_url(container, http)[1].status == UNAVAILABLE


def ask_props(url: str, http: Http, api_key: str | None) -> Props | None:
    """GET /props; None when it is not there or not for us."""
    reply = http.get(f"{url}/props", timeout_s=QUICK_S, api_key=api_key)
    found = _json(reply)
    if reply.status != OK or found is None:
        return None
    settings = _mapping(found.get("default_generation_settings"))
    caps = _mapping(found.get("chat_template_caps"))
    return Props(
        total_slots=_int(found.get("total_slots")),
        n_ctx=_int(settings.get("n_ctx")),
        model_alias=_text(found.get("model_alias")),
        model_path=_text(found.get("model_path")),
        build_info=_text(found.get("build_info")),
        sleeping=_bool(found.get("is_sleeping")),
        template_caps={str(k): v for k, v in caps.items() if isinstance(v, bool)},
        modalities=_modalities(found.get("modalities")),
    )


def _modalities(value: object) -> tuple[str, ...] | None:
    return tuple(sorted(name for name, able in _mapping(value).items() if able is True)) if value is not None else None


def ask_slots(url: str, http: Http, api_key: str | None, timeout_s: float) -> Slots | None:
    """GET /slots, else /metrics; None where neither tells. The server answers between two steps of its work."""
    reply = http.get(f"{url}/slots", timeout_s=timeout_s, api_key=api_key)
    if reply.status == OK:
        try:
            slots = json.loads(reply.body)
        except (ValueError, RecursionError):
            slots = None
        if isinstance(slots, list):
            busy = sum(1 for slot in slots if isinstance(slot, dict) and slot.get("is_processing") is True)
            return Slots(len(slots), busy, "/slots", reply.body)
    reply = http.get(f"{url}/metrics", timeout_s=timeout_s, api_key=api_key)
    found = _BUSY.search(reply.body) if reply.status == OK else None
    return Slots(None, int(found[1]), "/metrics", reply.body) if found else None


def ask_token(url: str, model: Model, http: Http, api_key: str | None, timeout_s: float) -> Chat:
    """One real request under the model's name: a chat of one token, or one embedding."""
    if model.embedding:
        body: Json = {"model": model.name, "input": "hello"}
        reply = http.post(f"{url}/v1/embeddings", body, timeout_s=timeout_s, api_key=api_key)
    else:
        body = {"model": model.name, "messages": [{"role": "user", "content": "hello"}], "max_tokens": 1}
        reply = http.post(f"{url}/v1/chat/completions", body, timeout_s=timeout_s, api_key=api_key)
    found = _json(reply) or {}
    if reply.status != OK:
        return Chat(status=reply.status, error=_error(found) or reply.error or f"HTTP {reply.status}")
    return Chat(status=reply.status, model=_text(found.get("model")), tokens=_tokens(found, embedding=model.embedding))


def ask_tool_call(url: str, model: Model, http: Http, api_key: str | None, timeout_s: float) -> Chat:
    """One chat in which a tool must be called: whether the template takes tools at all, and the server answers.

    Whether the model calls it is told and not judged: llama-server lets it talk first (seen with b11669), so a small or
    a thinking one may not come to it in so few tokens, and the template be right. Source of the form: the OpenAI API's
    `tools` and `tool_choice`.
    """
    tool = {"name": "now", "description": "tells the time", "parameters": {"type": "object", "properties": {}}}
    body: Json = {
        "model": model.name,
        "messages": [{"role": "user", "content": "What time is it?"}],
        "tools": [{"type": "function", "function": tool}],
        "tool_choice": "required",
        "max_tokens": TOOL_TOKENS,
    }
    reply = http.post(f"{url}/v1/chat/completions", body, timeout_s=timeout_s, api_key=api_key)
    found = _json(reply) or {}
    if reply.status != OK:
        return Chat(status=reply.status, error=_error(found) or reply.error or f"HTTP {reply.status}")
    tokens = _tokens(found, embedding=False)
    return Chat(status=reply.status, model=_text(found.get("model")), tokens=tokens, called=_calls(found))


def claims_tools(props: Props | None) -> bool:
    """Whether the model's template says that it can be given tools."""
    return props is not None and bool(props.template_caps.get("supports_tools"))


def _tokens(found: Mapping[str, object], *, embedding: bool) -> int | None:
    """How many tokens came back; for an embedding, 1 when a vector with numbers in it came back."""
    if embedding:
        data = found.get("data")
        vector = _mapping(data[0]).get("embedding") if isinstance(data, list) and data else None
        return 1 if isinstance(vector, list) and vector else 0
    return _int(_mapping(found.get("usage")).get("completion_tokens"))


def _calls(found: Mapping[str, object]) -> bool:
    """Whether a tool was called in an answer."""
    choices = found.get("choices")
    message = _mapping(_mapping(choices[0]).get("message")) if isinstance(choices, list) and choices else {}
    return bool(message.get("tool_calls"))


def _error(found: Mapping[str, object]) -> str:
    error = found.get("error")
    said = error if isinstance(error, str) else _text(_mapping(error).get("message")) or ""
    return said if len(said) <= LONGEST_ERROR else said[: LONGEST_ERROR - 1] + "…"


def _json(reply: HttpReply) -> Mapping[str, object] | None:
    try:
        found = json.loads(reply.body)
    except (ValueError, RecursionError):  # the latter: nested deeper than any answer of a server
        return None
    return _mapping(found) if isinstance(found, dict) else None


def _mapping(value: object) -> Mapping[str, object]:
    return cast("Mapping[str, object]", value) if isinstance(value, dict) else {}


def _int(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _bool(value: object) -> bool | None:
    return value if isinstance(value, bool) else None

"""Endpoints to what a client wants: the environment of Open WebUI, the configuration of Hermes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from homellm.domain.endpoints import ModelEndpoints, Place
from homellm.domain.open_webui import JOBS
from homellm.domain.secret import reveal
from homellm.render.layout import fill
from homellm.render.quoting import comment, yaml_string

#: Hermes refuses to work with less (agent/model_metadata.py of 0.19.0: MINIMUM_CONTEXT_LENGTH).
HERMES_LEAST_CTX = 64_000
HERMES_KEY = "HOMELLM_API_KEY"
#: What stands for a key where a server asks for none; an empty item would shift the list.
_NO_KEY = "none"


@dataclass(frozen=True, slots=True)
class Snippet:
    """What a client is given; `notes` are warnings, which stand in the text as well."""

    text: str
    notes: tuple[str, ...] = ()


def open_webui(found: Sequence[ModelEndpoints], template: str, *, title: str, show_secrets: bool = False) -> Snippet:
    """The environment of an Open WebUI in a container, through `templates/open-webui.env.j2`.

    Every server once. A key is written down with `show_secrets` alone; without, a word stands for it.
    """
    notes = [note for one in found for note in _unreachable(one, "container")]
    chats = [one for one in found if not one.embedding and one.container.url is not None]
    openai = [one for one in chats if one.runner == "llama-server"]
    ollama = dict.fromkeys(filter(None, (one.ollama("container") for one in chats)))
    vectors = next((one for one in found if one.embedding and one.container.url is not None), None)
    secret = [one.name for one in found if one.api_key is not None and not show_secrets]
    if secret:
        notes.append(f"put in the keys of {', '.join(secret)}, or use --show-secrets")
    networks = sorted({one.network for one in found if one.network is not None and one.container.url is not None})
    text = fill(
        template,
        title=comment(title),
        where=f"The container must be in the network {' and '.join(networks)}." if networks else "",
        notes=[comment(note) for note in notes],
        openai=[one.openai("container") for one in openai],
        keys=[_key(one, show_secrets) for one in openai],
        ollama=list(ollama),
        embedding=_embedding(vectors, show_secrets) if vectors is not None else None,
        jobs=JOBS,
    )
    return Snippet(text, tuple(notes))


def _embedding(one: ModelEndpoints, show_secrets: bool) -> dict[str, str]:
    style = "ollama" if one.runner == "ollama" else "openai"
    url = one.ollama("container") if style == "ollama" else one.openai("container")
    return {"engine": style, "model": one.name, "url": url or "", "key": _key(one, show_secrets)}


def _key(one: ModelEndpoints, show_secrets: bool) -> str:
    if one.api_key is None:
        return _NO_KEY
    return reveal(one.api_key) if show_secrets else "KEY"


def hermes(found: Sequence[ModelEndpoints], template: str, *, title: str, show_secrets: bool = False) -> Snippet:
    """The configuration of Hermes for the first model that chats, through `templates/hermes.yaml.j2`.

    It runs on this host where a port is published, else it has to be in the stack's network. A key is a variable of
    its .env unless `show_secrets`. Raises ValueError when no model chats.
    """
    chats = [one for one in found if not one.embedding]
    if not chats:
        raise ValueError("no model here chats")
    one = chats[0]
    place: Place = "host" if one.host.url is not None else "container"
    notes = []
    if one.ctx < HERMES_LEAST_CTX:
        notes.append(
            f"Hermes refuses a context below {HERMES_LEAST_CTX:,} tokens, and a slot of {one.name} has {one.ctx}: set"
            f" ctx: 65536 for it, with fewer slots where memory is short (homellm fit)"
        )
    if len(chats) > 1:
        notes.append(f"this is {one.name}; name another one: {', '.join(other.name for other in chats[1:])}")
    if one.api_key is not None and not show_secrets:
        notes.append(f"{one.name} asks for a key: write it into ~/.hermes/.env, {HERMES_KEY}=…, or use --show-secrets")
    if place == "container":
        notes.append(f"not reachable on this host ({one.host.why}), so Hermes must run in the network {one.network}")
    text = fill(
        template,
        title=comment(title),
        where="It runs on this host." if place == "host" else "It runs in a container.",
        notes=[comment(note) for note in notes],
        url=yaml_string(one.openai(place) or ""),
        model=yaml_string(one.name),
        key=_hermes_key(one, show_secrets),
        ctx=one.ctx,
    )
    return Snippet(text, tuple(notes))


def _hermes_key(one: ModelEndpoints, show_secrets: bool) -> str | None:
    """For another server than OpenAI's it takes a key from its configuration alone, where variables are replaced."""
    if one.api_key is None:
        return None
    return yaml_string(reveal(one.api_key)) if show_secrets else f"${{{HERMES_KEY}}}"


def _unreachable(one: ModelEndpoints, place: Literal["container"]) -> list[str]:
    way = one.way(place)
    return [] if way.url is not None else [f"{one.name} is left out: {way.why}"]

"""The addresses of models for people and for programs. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from homellm.domain.endpoints import PLACES, ModelEndpoints, Place
from homellm.report import words
from homellm.report.json_report import Document, error_document
from homellm.report.layout import clean, columns, flat
from homellm.report.tables import join_blocks

_FROM: dict[Place, str] = {"host": "on this host", "lan": "in the LAN", "container": "in a container"}


def endpoints_document(stack: str, found: Sequence[ModelEndpoints]) -> Document:
    """The document: for each model its base URLs from three places in two styles, null where there is no way."""
    return {**error_document(stack, ()), "models": [_model(one) for one in found]}


def _model(one: ModelEndpoints) -> Document:
    return {
        "name": one.name,
        "runner": one.runner,
        "moved": one.moved,
        "slots": one.slots,
        "ctx_per_slot": one.ctx,
        "embedding": one.embedding,
        "api_key": one.api_key is not None,
        "running": one.running,
        "network": one.network,
        "openai": {place: one.openai(place) for place in PLACES},
        "ollama": {place: one.ollama(place) for place in PLACES},
        "unreachable": {place: one.way(place).why for place in PLACES if one.way(place).url is None},
    }


def endpoints_text(found: Sequence[ModelEndpoints], *, width: int | None = None) -> str:
    """For each model a line about it, and one for each place and style; where there is no way, why."""
    return join_blocks([_block(one, width) for one in found])


def _block(one: ModelEndpoints, width: int | None) -> list[str]:
    facts = [words.runner(one.runner) + (", moved from Ollama" if one.moved else "")]
    facts += [f"{words.plural(one.slots, 'slot')} of {one.ctx} tokens"]
    facts += ["embeddings"] if one.embedding else []
    facts += ["asks for a key"] if one.api_key is not None else []
    if one.running is not True:
        facts.append("as declared: " + ("no engine answers" if one.running is None else "it does not run"))
    return [f"{clean(one.name)}   {' · '.join(facts)}", *flat(columns(_rows(one), width=width))]


def _rows(one: ModelEndpoints) -> list[list[str]]:
    rows = []
    for place in PLACES:
        way = one.way(place)
        if way.url is None:
            rows.append([f"  {_FROM[place]}", words.NONE, "", clean(way.why)])
            continue
        joined = f"after: docker network connect {clean(one.network)} CONTAINER" if one.network else ""
        note = joined if place == "container" else ""
        rows.append(
            [f"  {_FROM[place]}", clean(one.openai(place) or ""), "OpenAI" if one.runner == "ollama" else "", note]
        )
        if one.ollama(place):
            rows.append(["", clean(one.ollama(place) or ""), "Ollama", ""])
    return rows

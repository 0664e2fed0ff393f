"""Under which name Ollama serves a model, and how that name comes to be. Pure.

Clients ask for the model's name of the stack file, on every runner. In Ollama it is a copy of the source's manifest,
or, where the context differs from what the server would give, a model derived from it with `num_ctx` of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal

from homellm.domain.ollama import StoredModel
from homellm.domain.ollama_names import OllamaName, parse_name
from homellm.domain.stack import Model, OllamaServer
from homellm.runners.ollama_server import server_ctx


@dataclass(frozen=True, slots=True)
class Making:
    """What has to be done in Ollama before a model can be asked for by its name.

    `kind`: `none` (it is there), `copy` (a second name for `source`), `derive` (made from `source` with `parameters`
    and the `family` of its config), `create` (made from the file that the stack file names).
    """

    kind: Literal["none", "copy", "derive", "create"]
    name: str
    source: str = ""
    parameters: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    family: str = ""
    because: str = ""


def served_name(model: Model) -> str:
    """The name by which Ollama serves a model, as its own lists show it."""
    return parse_name(model.name).short


def source_name(model: Model) -> OllamaName | None:
    """What has to be pulled for a model; None for one that is made from a file. Raises ValueError for no name."""
    return parse_name(model.source.ref) if model.source.kind == "ollama" else None


def making(
    model: Model,
    server: OllamaServer,
    models: tuple[Model, ...],
    *,
    source: StoredModel | None,
    own: StoredModel | None,
    made: bool = False,
) -> Making:
    """How `model` comes to its name on `server`, whose models are `models`.

    `source` is what the store has of the model's source, `own` what it has under the model's name. A file is rewritten
    by Ollama, so that nobody can see whether `own` was made from it as it is now: `made` says so, from a record.
    """
    default = server_ctx(models) if server.ours else None
    name = served_name(model)
    if model.source.kind != "ollama":
        return _from_file(model, name, own, default, made=made)
    wanted = source_name(model)
    assert wanted is not None and source is not None  # noqa: S101, PT018 - a source of Ollama's has a name and was pulled
    same = wanted.same(parse_name(name))
    if (source.num_ctx or default) == model.ctx:
        if same or (own is not None and own.usable and own.digest == source.digest):
            return Making("none", name)
        return Making(
            "copy", name, wanted.short, because=f"clients ask for {model.name}, and Ollama knows {wanted.short}"
        )
    if not same and own is not None and _derived(own, source, model.ctx):
        return Making("none", name)
    because = f"{model.ctx} tokens a slot, and {wanted.short} alone would get {source.num_ctx or default or 'its own'}"
    return Making("derive", name, wanted.short, _num_ctx(model.ctx), source.family, because)


def _from_file(model: Model, name: str, own: StoredModel | None, default: int | None, *, made: bool) -> Making:
    own_ctx = (own.num_ctx or default) if own is not None else None
    if made and own is not None and own.usable and own_ctx == model.ctx:
        return Making("none", name)
    parameters = _num_ctx(model.ctx) if model.ctx != default else MappingProxyType({})
    because = f"{model.source} is no model of Ollama's yet"
    if own is not None:
        because = f"what Ollama has as {name} is not {model.source} as it is now, with {model.ctx} tokens a slot"
    return Making("create", name, str(model.source), parameters, because=because)


def _derived(own: StoredModel, source: StoredModel, ctx: int) -> bool:
    """Whether `own` is `source` with this context and nothing else changed."""
    others = {name: value for name, value in source.params.items() if name != "num_ctx"}
    return (
        own.usable
        and own.blob == source.blob
        and dict(own.params) == {**others, "num_ctx": ctx}
        and (own.system, own.template, own.projectors, own.adapters)
        == (source.system, source.template, source.projectors, source.adapters)
    )


def _num_ctx(ctx: int) -> Mapping[str, int]:
    return MappingProxyType({"num_ctx": ctx})

"""The files that decide which engine is asked and what a model is, for the look of a witness at them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from homellm.adapters.gguf_files import MAX_PARTS, PART_NAME
from homellm.adapters.hub_cache import HubCache
from homellm.domain.hub import parse_ref
from homellm.domain.stack import Model


class Unseen(Exception):
    """A model has files that are not looked at here: those of an Ollama, or of a hub that has to be asked."""


def deciding(models: Iterable[Model], hub: HubCache, environ: Mapping[str, str]) -> tuple[Path, ...]:
    """All of them; `models` are located. Some need not exist, and must not come into being. Raises Unseen."""
    found = [*_of_engine(environ), *(path for model in models for path in _of_model(model, hub))]
    return tuple(dict.fromkeys(found))


def _of_engine(environ: Mapping[str, str]) -> Iterator[Path]:
    """The docker command's choice of an engine (adapters.docker_address)."""
    named = environ.get("DOCKER_CONFIG")
    folder = Path(named) if named else Path(environ.get("HOME") or "/nonexistent") / ".docker"
    yield (folder / "config.json").absolute()
    yield from sorted((folder / "contexts" / "meta").absolute().glob("*/meta.json"))


def _of_model(model: Model, hub: HubCache) -> Iterator[Path]:
    path = model.source.path
    if model.source.kind not in ("gguf", "hf") or path is None:
        raise Unseen(model.name)
    yield from _parts(path)
    yield from filter(None, (model.mmproj, model.chat_template_file))
    if model.source.kind == "hf":
        yield from hub.deciding(parse_ref(model.source.ref))


def _parts(path: Path) -> Iterator[Path]:
    """The file, or all parts of a split model, by their names alone."""
    name = PART_NAME.fullmatch(path.name)
    count = int(name["count"]) if name else 1
    if name is None or count > MAX_PARTS:
        yield path
        return
    yield from (path.with_name(f"{name['prefix']}-{n:05}-of-{count:05}.gguf") for n in range(1, count + 1))

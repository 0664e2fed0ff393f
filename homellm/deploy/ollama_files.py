"""The weights of models on Ollama servers of ours, found on this machine, for what they take of its memory."""

from __future__ import annotations

from pathlib import Path

from homellm.deploy.ollama_reached import STORE_FOLDER
from homellm.deploy.session import Ports
from homellm.domain.stack import Model, OllamaServer, Stack
from homellm.domain.world import EngineInfo, ModelFile
from homellm.ports import OllamaStore
from homellm.runners.ollama_models import served_name

_CLOSED = "its store cannot be read from here"


def ollama_weights(stack: Stack, info: EngineInfo, ports: Ports) -> dict[str, ModelFile]:
    """By the name of each model that an Ollama server of ours is to serve; nothing for an engine elsewhere.

    A server is asked nothing, and need not run: what it has is read in its store, where that can be read from here.
    """
    if not info.local:
        return {}
    found: dict[str, ModelFile] = {}
    for server in stack.ollama:
        root = _root(server, info)
        if root is None:
            continue
        there = server.store is None or not server.store.named or _sees(Path(info.root_dir), ports)
        store = ports.ollamas.folder_store(root) if there else None
        found |= {one.name: _of(one, root, store, ports) for one in stack.models_on(server)}
    return found


def _sees(folder: Path, ports: Ports) -> bool:
    """Whether the engine's folder is there at all: a homellm in a container has the engine's socket alone."""
    return ports.files.look(folder).state not in ("missing", "dangling")


def _root(server: OllamaServer, info: EngineInfo) -> Path | None:
    """Where a store's root is on this machine; None for a server that is not ours."""
    store = server.store
    if not server.ours or store is None:
        return None
    home = Path(info.root_dir) / "volumes" / store.source / "_data" if store.named else Path(store.source)
    return home / STORE_FOLDER


def _of(model: Model, root: Path, store: OllamaStore | None, ports: Ports) -> ModelFile:
    if model.source.path is not None:
        return ports.files.look(model.source.path)
    if model.source.kind != "ollama":
        return ModelFile("", "missing", reason="it is not here yet")
    if store is None:
        return ModelFile("", "unreadable", reason=_CLOSED)
    found = [store.find(name) for name in (model.source.ref, served_name(model))]
    usable = next((one for one in found if one.usable and one.blob), None)
    if usable is not None:
        return ports.files.look(root / str(usable.blob))
    if any(one.state == "unreadable" for one in found):
        return ModelFile("", "unreadable", reason=_CLOSED)
    absent = all(one.state == "absent" for one in found)
    return ModelFile("", "missing", reason="it is not here yet" if absent else "it is not whole here")

"""An Ollama server that answers, and what is read of it: its store and its log."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from homellm.deploy.observe import read_foreign_log, read_log
from homellm.deploy.session import Ports
from homellm.domain.evidence import LogSummary
from homellm.domain.stack import OllamaServer
from homellm.domain.world import Container
from homellm.ports import OllamaApi, OllamaStore
from homellm.runners.ollama_server import STORE_ROOT

#: Where a store's root lies below Ollama's home.
STORE_FOLDER = "models"


@dataclass(frozen=True, slots=True)
class Reached:
    """An Ollama server that answers. `container` is None for one that is not ours."""

    server: OllamaServer
    url: str
    version: str
    api: OllamaApi
    container: Container | None
    ports: Ports

    def store(self) -> OllamaStore | None:
        """Its store, None for a server that is not ours and whose store was not declared."""
        if self.container is not None:
            return self.ports.ollamas.container_store(self.container.id, STORE_ROOT, self._disk())
        store = self.server.store
        if store is None or store.named:
            return None
        return self.ports.ollamas.folder_store(Path(store.source) / STORE_FOLDER)

    def _disk(self) -> Path | None:
        """Where its store lies on this machine; None for an engine elsewhere."""
        info, store = self.ports.engine.info(), self.server.store
        if store is None or not info.local:
            return None
        return Path(info.root_dir) / "volumes" / store.source if store.named else Path(store.source)

    def log(self) -> LogSummary:
        """The summary of its log of the present run; an empty one where it cannot be read."""
        if self.container is not None:
            return read_log(self.container, self.ports)
        return read_foreign_log(self.server, self.ports)

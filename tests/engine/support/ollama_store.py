"""An Ollama store written to disk, without any server: what `ollama pull` leaves behind."""

import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.engine.support.ollama_layers import config_of, layers_of
from tests.engine.support.registry import MANIFEST_KIND


@dataclass(frozen=True, slots=True)
class OllamaStore:
    """A folder to be mounted at /root/.ollama: `root/models` is the store itself."""

    root: Path

    @property
    def models(self) -> Path:
        return self.root / "models"

    def manifest_path(self, name: str) -> Path:
        """Where the manifest of `[host/namespace/]model[:tag]` stands."""
        model, _, tag = name.partition(":") if "/" not in name else name.rpartition(":")
        parts = model.split("/") if "/" in model else ["registry.ollama.ai", "library", model]
        return self.models.joinpath("manifests", *parts, tag or "latest")

    def manifest(self, name: str) -> dict[str, Any]:
        return dict(json.loads(self.manifest_path(name).read_text()))

    def blob(self, name: str, kind: str = "model") -> Path:
        """The file of a layer of that kind: `model`, `projector`, `template`, …"""
        for row in self.manifest(name)["layers"]:
            if row["mediaType"].endswith(f".{kind}"):
                return self.models / "blobs" / row["digest"].replace(":", "-")
        raise AssertionError(f"{name} has no layer {kind}")

    def add(self, name: str, gguf: Path, *, family: str | None = None, **layers: Any) -> Path:
        """Put a model into the store; its weights' file. `family` and `layers` as in OllamaRegistry.add."""
        parts = layers_of(gguf, **layers)
        config = config_of(gguf, parts, family)
        blobs = self.models / "blobs"
        blobs.mkdir(parents=True, exist_ok=True)
        for layer in (*parts, config):
            target = blobs / layer.blob_name
            if target.exists():
                continue
            if isinstance(layer.source, bytes):
                target.write_bytes(layer.source)
            else:
                # A copy: tests truncate blobs, and the suite's own models are made once.
                shutil.copyfile(layer.source, target)
        manifest = {"schemaVersion": 2, "mediaType": MANIFEST_KIND, "config": config.entry()}
        path = self.manifest_path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({**manifest, "layers": [layer.entry() for layer in parts]}))
        return blobs / parts[0].blob_name


def store_with(root: Path, models: Mapping[str, Path | Mapping[str, Any]]) -> OllamaStore:
    """A store of these models: a GGUF, or `{"gguf": …, "family": …, "params": {…}, "template": …, "system": …}`."""
    store = OllamaStore(root)
    (store.models / "manifests").mkdir(parents=True, exist_ok=True)
    (store.models / "blobs").mkdir(exist_ok=True)
    for name, model in models.items():
        keys = {"gguf": model} if isinstance(model, Path) else dict(model)
        store.add(name, keys.pop("gguf"), **keys)
    return store

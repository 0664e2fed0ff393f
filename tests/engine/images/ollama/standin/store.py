"""Ollama's store: manifests by name, blobs by digest, and a model read out of both."""

import hashlib
import json
import os
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from standin.gguf import BadGguf, Gguf, read_gguf
from standin.names import Name

KIND = "application/vnd.ollama.image."
MANIFEST_KIND = "application/vnd.docker.distribution.manifest.v2+json"
CONFIG_KIND = "application/vnd.docker.container.image.v1+json"
#: Unused blobs younger than this are left alone at the start.
PRUNE_AGE_S = 3600.0
BLOB = re.compile(r"sha256-[0-9a-f]{64}")


@dataclass(slots=True)
class Model:
    """A stored model. `blob` is None without weights of its own, `gguf` is None when they cannot be read."""

    name: Name
    digest: str
    modified: float
    size: int
    manifest: dict[str, Any]
    config: dict[str, Any]
    blob: Path | None = None
    parent: str = ""
    template: str | None = None
    system: str = ""
    licenses: list[str] = field(default_factory=list)
    params: dict[str, Any] = field(default_factory=dict)
    messages: list[dict[str, str]] = field(default_factory=list)
    projectors: list[Path] = field(default_factory=list)
    adapters: list[Path] = field(default_factory=list)

    @property
    def family(self) -> str:
        return str(self.config.get("model_family", ""))

    @property
    def gguf(self) -> Gguf | None:
        try:
            return read_gguf(self.blob) if self.blob else None
        except (FileNotFoundError, BadGguf):
            return None

    @property
    def chat_template(self) -> str:
        gguf = self.gguf
        return str(gguf.keys.get("tokenizer.chat_template", "")) if gguf else ""

    @property
    def native(self) -> bool:
        """Whether llama-server renders its chats itself, by the template in the GGUF."""
        return self.template is None and bool(self.chat_template)

    @property
    def here(self) -> bool:
        return self.blob is not None and self.blob.exists()

    @property
    def capabilities(self) -> list[str]:
        """Empty when the weights are gone."""
        if not self.here:
            return []
        gguf = self.gguf
        if gguf is not None and gguf.embedding:
            return ["embedding"]
        text = self.chat_template if self.template is None else self.template
        tools = ["tools"] if ".Tools" in text or "tools" in (self.chat_template if self.native else "") else []
        return ["completion", *(["vision"] if self.projectors else []), *tools]


class Store:
    """The folder `models`. Raises OSError where the disk does."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.blobs = root / "blobs"
        self.manifests = root / "manifests"

    def prepare(self) -> None:
        for folder in (self.root, self.blobs, self.manifests):
            folder.mkdir(parents=True, exist_ok=True)

    def prune(self) -> tuple[int, int]:
        """Remove old blobs that no manifest names: how many were looked at, and how many went.

        What is no blob by its name (an upload that was cut off) goes as well, and is not counted.
        """
        used = {path.name for name in self.names() for path in self._blobs_of(name)}
        old = [path for path in self.blobs.iterdir() if time.time() - path.stat().st_mtime > PRUNE_AGE_S]
        unused = [path for path in old if path.name not in used]
        for path in unused:
            path.unlink()
        looked_at, gone = (sum(BLOB.fullmatch(path.name) is not None for path in paths) for paths in (old, unused))
        return looked_at, gone

    def _blobs_of(self, name: Name) -> list[Path]:
        manifest = json.loads(self.manifest_path(name).read_bytes())
        rows = [manifest.get("config"), *manifest["layers"]]
        return [self.blob(row["digest"]) for row in rows if row]

    def blob(self, digest: str) -> Path:
        return self.blobs / digest.replace(":", "-")

    def manifest_path(self, name: Name) -> Path:
        return self.manifests.joinpath(*name.parts)

    def names(self) -> list[Name]:
        """All models, by their manifests' paths."""
        found = []
        for path in sorted(self.manifests.glob("*/*/*/*")):
            if path.is_file():
                found.append(Name(*path.relative_to(self.manifests).parts))
        return found

    def existing(self, name: Name) -> Name:
        """The name as the store spells it: upper and lower case do not count."""
        for have in self.names():
            if str(have).lower() == str(name).lower():
                return Name(*have.parts, name.scheme)
        return name

    def model(self, name: Name) -> Model:
        """Raises FileNotFoundError when there is no such manifest."""
        path = self.manifest_path(self.existing(name))
        data = path.read_bytes()
        manifest = json.loads(data)
        config_row = manifest.get("config") or {}
        config = json.loads(self.blob(config_row["digest"]).read_bytes()) if config_row.get("digest") else {}
        rows = [*manifest["layers"], *([config_row] if config_row else [])]
        model = Model(
            name=self.existing(name),
            digest=hashlib.sha256(data).hexdigest(),
            modified=path.stat().st_mtime,
            size=sum(row["size"] for row in rows),
            manifest=manifest,
            config=config,
        )
        for row in manifest["layers"]:
            self._take(model, row)
        return model

    def _take(self, model: Model, row: dict[str, Any]) -> None:
        path = self.blob(row["digest"])
        kind = row["mediaType"].removeprefix(KIND)
        match kind:
            case "model":
                model.blob, model.parent = path, row.get("from", "")
            case "projector":
                model.projectors.append(path)
            case "adapter":
                model.adapters.append(path)
            case "template" | "prompt":
                model.template = path.read_text()
            case "system":
                model.system = path.read_text()
            case "license":
                model.licenses.append(path.read_text())
            case "params":
                model.params = json.loads(path.read_bytes())
            case "messages":
                model.messages = json.loads(path.read_bytes())

    def add_blob(self, data: bytes) -> tuple[dict[str, Any], bool]:
        """Write a blob; its digest and size, and whether it was there before."""
        digest = "sha256:" + hashlib.sha256(data).hexdigest()
        path = self.blob(digest)
        there = path.exists()
        if not there:
            self._write(path, data)
        return {"digest": digest, "size": len(data)}, there

    def write_manifest(self, name: Name, data: bytes) -> None:
        path = self.manifest_path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        self._write(path, data)

    def _write(self, path: Path, data: bytes) -> None:
        work = path.with_name(f".{path.name}.{os.getpid()}.{time.monotonic_ns()}")
        work.write_bytes(data)
        work.replace(path)

    def remove(self, name: Name) -> None:
        """Remove a manifest, and the blobs that nobody else uses."""
        gone = self._blobs_of(name)
        path = self.manifest_path(name)
        path.unlink()
        for folder in list(path.parents)[:3]:
            if not any(folder.iterdir()):
                folder.rmdir()
        used = {blob for other in self.names() for blob in self._blobs_of(other)}
        for blob in gone:
            if blob not in used:
                blob.unlink(missing_ok=True)

    def all(self) -> Iterator[Model]:
        """Models that can be listed: those with their weights, newest first."""
        models = []
        for name in self.names():
            try:
                model = self.model(name)
            except (FileNotFoundError, ValueError):
                continue
            if model.here:
                models.append(model)
        return iter(sorted(models, key=lambda model: int(model.modified), reverse=True))

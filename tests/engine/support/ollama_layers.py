"""What a model is made of for Ollama: layers by the digest of their bytes, and a config that names a family."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

KIND = "application/vnd.ollama.image."
CONFIG_KIND = "application/vnd.docker.container.image.v1+json"


@dataclass(frozen=True, slots=True)
class Layer:
    """One blob, in memory or in a file. `digest` is `sha256:<hex>`."""

    kind: str
    digest: str
    size: int
    source: Path | bytes

    @property
    def blob_name(self) -> str:
        return self.digest.replace(":", "-")

    def entry(self) -> dict[str, Any]:
        """As it stands in a manifest."""
        return {"mediaType": self.kind, "digest": self.digest, "size": self.size}

    def chunks(self, start: int, count: int, at_once: int) -> Iterator[bytes]:
        """Its bytes from `start` on, `count` of them."""
        if isinstance(self.source, bytes):
            yield self.source[start : start + count]
            return
        with self.source.open("rb") as file:
            file.seek(start)
            while count > 0 and (chunk := file.read(min(count, at_once))):
                yield chunk
                count -= len(chunk)


def layers_of(
    gguf: Path,
    *,
    template: str | None = None,
    system: str | None = None,
    params: Mapping[str, Any] | None = None,
    license: str | None = None,
    projector: Path | None = None,
    adapter: Path | None = None,
) -> tuple[Layer, ...]:
    """The layers of a model, in the order that Ollama writes them."""
    texts = {"template": template, "license": license, "system": system, "params": params and json.dumps(dict(params))}
    files = [("model", gguf), ("projector", projector), ("adapter", adapter)]
    return tuple(
        [_of_file(KIND + kind, path) for kind, path in files if path]
        + [_of_bytes(KIND + kind, text.encode()) for kind, text in texts.items() if text]
    )


def config_of(gguf: Path, layers: tuple[Layer, ...], family: str | None) -> Layer:
    """The config blob. Ollama's refusals go by its `model_family` alone; `""` leaves it out."""
    named = architecture(gguf) if family is None else family
    config = {
        "model_format": "gguf",
        **({"model_family": named} if named else {}),
        "architecture": "amd64",
        "os": "linux",
        "rootfs": {"type": "layers", "diff_ids": [layer.digest for layer in layers]},
    }
    return _of_bytes(CONFIG_KIND, json.dumps(config).encode())


def architecture(gguf: Path) -> str:
    """`general.architecture`, the first key of every GGUF that llama.cpp or its Python writer makes."""
    with gguf.open("rb") as file:
        file.seek(24)
        key = file.read(int.from_bytes(file.read(8), "little"))
        assert key == b"general.architecture", (gguf, key)
        file.seek(4, 1)
        return file.read(int.from_bytes(file.read(8), "little")).decode()


def _of_bytes(kind: str, data: bytes) -> Layer:
    return Layer(kind, "sha256:" + hashlib.sha256(data).hexdigest(), len(data), data)


def _of_file(kind: str, path: Path) -> Layer:
    stat = path.stat()
    return Layer(kind, _file_digest(path, stat.st_size, stat.st_mtime_ns), stat.st_size, path)


@cache
def _file_digest(path: Path, size: int, mtime_ns: int) -> str:
    with path.open("rb") as file:
        return "sha256:" + hashlib.file_digest(file, "sha256").hexdigest()

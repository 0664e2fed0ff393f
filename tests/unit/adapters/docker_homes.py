"""Made folders of the docker command's configuration."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path


def write_context(folder: Path, name: str, host: str | None, *, skip_verify: bool = False) -> Path:
    """A context as `docker context create` writes it below `folder` (~/.docker); the path of its TLS files."""
    key = hashlib.sha256(name.encode()).hexdigest()
    meta = folder / "contexts" / "meta" / key
    meta.mkdir(parents=True)
    endpoints = {} if host is None else {"docker": {"Host": host, "SkipTLSVerify": skip_verify}}
    (meta / "meta.json").write_text(json.dumps({"Name": name, "Metadata": {}, "Endpoints": endpoints}))
    return folder / "contexts" / "tls" / key / "docker"


def write_config(folder: Path, **keys: object) -> None:
    """config.json."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(keys))

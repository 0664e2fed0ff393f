"""Writes stack files of tests."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML


def write_stack(path: Path, name: str, models: Mapping[str, Mapping[str, Any]], **top: Any) -> Path:
    """A stack file of these models; `top` are further keys of the file, such as `defaults`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file:
        YAML().dump({"stack": name, **top, "models": {key: dict(value) for key, value in models.items()}}, file)
    return path

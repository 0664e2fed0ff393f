"""What images said about themselves, kept by image id. A cache: it may vanish, rot or be unwritable at any time."""

from __future__ import annotations

import contextlib
import json
import os
import re
import tempfile
from pathlib import Path

_FORMAT = 1
#: A help is about 60 kB. What is much larger was not written here.
_LIMIT_BYTES = 4 * 1024 * 1024
_IMAGE_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9:._-]{0,200}")


class DialectCache:
    """One small JSON file for each image below `directory`: the raw text of its --version and its --help.

    An image id is the digest of the image's content, so an entry never becomes wrong; it is never renewed.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def get(self, image_id: str) -> tuple[str, str] | None:
        """(version text, help text) of an image, or None when they are not known, whatever the reason."""
        path = self._path(image_id)
        if path is None:
            return None
        try:
            with path.open("rb") as file:
                data = json.loads(file.read(_LIMIT_BYTES))
            entry = (data["version"], data["help"]) if data["format"] == _FORMAT else (None, None)
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            return None
        version, help_ = entry
        return (version, help_) if isinstance(version, str) and isinstance(help_, str) else None

    def put(self, image_id: str, version_text: str, help_text: str) -> None:
        """Keep what an image said. A directory that cannot be written is no error: the image is asked again."""
        path = self._path(image_id)
        if path is None:
            return
        entry = {"format": _FORMAT, "version": version_text, "help": help_text}
        with contextlib.suppress(OSError):
            self._directory.mkdir(mode=0o755, parents=True, exist_ok=True)
            _write_whole(path, json.dumps(entry).encode())

    def _path(self, image_id: str) -> Path | None:
        return self._directory / f"{image_id}.json" if _IMAGE_ID.fullmatch(image_id) else None


def _write_whole(path: Path, data: bytes) -> None:
    """Write a file so that a reader sees all of it or none. Raises OSError and leaves nothing behind."""
    handle, name = tempfile.mkstemp(prefix=".tmp-", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        Path(name).replace(path)
    except OSError:
        with contextlib.suppress(OSError):
            Path(name).unlink()
        raise

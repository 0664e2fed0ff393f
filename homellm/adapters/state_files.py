"""Small things to remember between runs that no container can hold: files below XDG_STATE_HOME."""

from __future__ import annotations

import contextlib
import os
import tempfile
from hashlib import sha256
from pathlib import Path

#: Larger files are not of ours.
LIMIT_BYTES = 1024 * 1024


class StateFiles:
    """One file for each name in `folder`. What cannot be read or written is not remembered; nothing is raised."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def get(self, name: str) -> bytes | None:
        """What was kept under a name, or None."""
        try:
            with self._path(name).open("rb") as file:
                return file.read(LIMIT_BYTES)
        except OSError:
            return None

    def put(self, name: str, data: bytes) -> None:
        """Keep something under a name: wholly or not at all."""
        with contextlib.suppress(OSError):
            self._folder.mkdir(parents=True, exist_ok=True)
            with tempfile.NamedTemporaryFile(dir=self._folder, delete=False) as file:
                file.write(data)
            os.replace(file.name, self._path(name))  # noqa: PTH105 - atomic, and one call

    def _path(self, name: str) -> Path:
        return self._folder / f"{sha256(name.encode()).hexdigest()[:32]}.json"

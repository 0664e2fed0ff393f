"""The ways to Ollama servers: API by URL, stores by folder or container, logs of servers that are not ours."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

from homellm.domain.stack import LogSource
from homellm.errors import Refused
from homellm.ports import Engine, OllamaApi, OllamaStore, Stream

#: More than the log of a server that was not restarted for months; what is older is not of its present run.
LOG_LIMIT_BYTES = 256 * 1024 * 1024
_CHUNK_BYTES = 64 * 1024


class OllamaWays:
    """Implements ports.Ollamas. httpx is imported when the first API is asked for: most verbs need none."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def api(self, url: str) -> OllamaApi:
        """The API of the server at a URL."""
        from homellm.adapters.ollama_api import OllamaClient  # noqa: PLC0415 - see the class

        return OllamaClient(url)

    def folder_store(self, root: Path) -> OllamaStore:
        """The store of a folder."""
        from homellm.adapters.ollama_store import folder_store  # noqa: PLC0415

        return folder_store(root)

    def container_store(self, ref: str, root: str, disk: Path | None) -> OllamaStore:
        """The store that a container has."""
        from homellm.adapters.ollama_store import container_store  # noqa: PLC0415

        return container_store(self._engine, ref, root, disk=disk)

    def make_folder(self, folder: Path) -> bool:
        """Make the folder of a store, unless it is there."""
        if folder.is_dir():
            return False
        try:
            folder.mkdir(parents=True)
        except OSError as error:
            raise Refused(
                f"the folder {folder} for Ollama's models cannot be made: {error.strerror}",
                hint="Make it, or set `store` to one that is there.",
                id="store-missing",
            ) from error
        return True

    def foreign_log(self, source: LogSource) -> Stream:
        """A file, the journal of a systemd unit since it was started, or a container of somebody's."""
        match source.kind:
            case "container":
                return self._engine.logs(source.where, since=None, follow=False)
            case "file":
                return _File(Path(source.where))
            case _:
                return _Journal(source.where)


class _File:
    """The end of a log file."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __iter__(self) -> Iterator[bytes]:
        try:
            with self._path.open("rb") as file:
                size = file.seek(0, 2)
                file.seek(max(0, size - LOG_LIMIT_BYTES))
                while chunk := file.read(_CHUNK_BYTES):
                    yield chunk
        except OSError as error:
            raise Refused(
                f"the log {self._path} cannot be read: {error.strerror}", hint="Check `log_from` of the Ollama server."
            ) from error

    def close(self) -> None:
        """Nothing is kept open between chunks."""


class _Journal:
    """The journal of a unit, of its present invocation: `journalctl` speaks its format of every age."""

    def __init__(self, unit: str) -> None:
        self._unit = unit
        self._process: subprocess.Popen[bytes] | None = None

    def __iter__(self) -> Iterator[bytes]:
        command = ["journalctl", "--unit", self._unit, "--boot", "--output", "cat", "--no-pager", "--quiet"]
        try:
            self._process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        except OSError as error:
            hint = "Without systemd name the log's file: log_from: /path/to/ollama.log."
            raise Refused(f"the journal of {self._unit} cannot be read: {error.strerror}", hint=hint) from error
        with self._process as process:
            while process.stdout is not None and (chunk := process.stdout.read(_CHUNK_BYTES)):
                yield chunk

    def close(self) -> None:
        """End journalctl."""
        if self._process is not None and self._process.poll() is None:
            self._process.kill()

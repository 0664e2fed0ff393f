"""An Ollama store read from its files: a folder of this machine, or inside a container that has it mounted."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from homellm.adapters.ollama_manifest import TEXT_LIMIT_BYTES, StoreFiles, StoreUnreadable, read_model
from homellm.domain.ollama import StoredModel
from homellm.domain.ollama_names import MANIFESTS, OllamaName, name_of_path, parse_name
from homellm.errors import HomellmError
from homellm.ports import ContainerFiles

#: More manifests than any store has: a folder that has them is no store.
MAX_MANIFESTS = 10_000
_DEPTH = 4


class StoreReader:
    """Implements ports.OllamaStore over whatever gives the files. Nothing is kept: every call reads anew."""

    def __init__(self, files: StoreFiles, *, where: str, disk: Path | None = None) -> None:
        self._files = files
        self._where = where
        self._disk = disk

    def find(self, name: str) -> StoredModel:
        """The model of that name, resolved as Ollama does: upper and lower case do not count."""
        try:
            wanted = parse_name(name)
        except ValueError as error:
            return StoredModel(name=name, state="absent", reason=f"`{name}` {error}")
        try:
            manifests = self._files.manifests()
        except StoreUnreadable as error:
            return StoredModel(name=str(wanted), state="unreadable", reason=str(error))
        found = {path: name_of_path(path) for path in manifests}
        same = [(path, known) for path, known in found.items() if known is not None and known.same(wanted)]
        if not same:
            reason = f"{wanted.short} is not in the store {self._where}{self._broken_off()}"
            return StoredModel(name=str(wanted), state="absent", reason=reason)
        path, known = min(same, key=lambda pair: str(pair[1]) != str(wanted))
        return self._read(known, manifests[path])

    def models(self) -> tuple[StoredModel, ...]:
        """All models, by name; empty for a store that cannot be read."""
        return self._all(b"")

    def with_blob(self, blob: str) -> tuple[StoredModel, ...]:
        """The models whose weights are the blob `sha256-<hex>`."""
        named = blob.replace(":", "-")
        digits = named.rpartition("-")[2].encode()
        return tuple(model for model in self._all(digits) if model.blob_name == named)

    def free_bytes(self) -> int | None:
        """What the disk has left; None where that cannot be seen."""
        return disk_free(self._disk) if self._disk is not None else None

    def _broken_off(self) -> str:
        """What pulls that were broken off have left; it cannot be told whose blobs they are."""
        broken = self._files.broken_off() if isinstance(self._files, FolderFiles) else ()
        if not broken:
            return ""
        done, total = (sum(pair[index] for pair in broken) / 1e6 for index in (0, 1))
        return f"; a pull was broken off there at {done:.0f} of {total:.0f} MB, and goes on where it stood"

    def _all(self, having: bytes) -> tuple[StoredModel, ...]:
        """The models whose manifests have this text in them."""
        try:
            manifests = self._files.manifests()
        except StoreUnreadable:
            return ()
        named = ((name_of_path(path), manifests[path]) for path in sorted(manifests) if having in manifests[path])
        return tuple(self._read(name, manifest) for name, manifest in named if name is not None)

    def _read(self, name: OllamaName, manifest: bytes) -> StoredModel:
        return read_model(name, manifest, self._files)


def folder_store(root: Path) -> StoreReader:
    """The store whose root (the folder with `manifests` and `blobs`) is a folder of this machine."""
    return StoreReader(FolderFiles(root), where=str(root), disk=root)


def container_store(files: ContainerFiles, ref: str, root: str, *, disk: Path | None = None) -> StoreReader:
    """The store that a container, running or not, has at `root`; for volumes, and for folders of another user.

    `disk` is where the store lies on this machine, for the space that is left; None where nobody can tell.
    """
    return StoreReader(FilesInContainer(files, ref, root), where=f"of {ref}", disk=disk)


class FolderFiles:
    """Files below a folder; symbolic links are followed, as Ollama does."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def manifests(self) -> Mapping[str, bytes]:
        """All manifests. Raises StoreUnreadable."""
        try:
            paths = list(_files_at_depth(self._root / MANIFESTS, _DEPTH))
        except OSError as error:
            raise _unreadable(error, self._root) from error
        if len(paths) > MAX_MANIFESTS:
            raise StoreUnreadable(f"{self._root} has more than {MAX_MANIFESTS} manifests")
        relative = {path.relative_to(self._root).as_posix(): path for path in paths}
        return {name: _content(path) for name, path in relative.items()}

    def size(self, path: str) -> int | None:
        """Bytes of a file, None when there is none. Raises StoreUnreadable."""
        try:
            return (self._root / path).stat().st_size
        except FileNotFoundError:
            return None
        except OSError as error:
            raise _unreadable(error, self._root / path) from error

    def read(self, path: str) -> bytes | None:
        """The content of a small file, None when there is none. Raises StoreUnreadable."""
        file = self._root / path
        try:
            return _content(file) if file.is_file() else None
        except OSError as error:
            raise _unreadable(error, file) from error

    def broken_off(self) -> tuple[tuple[int, int], ...]:
        """(bytes that are here, bytes of the whole) of every part of a download that was broken off.

        Ollama keeps them in `<blob>-partial-<n>` as JSON beside the blob itself (server/download.go).
        """
        try:
            parts = sorted((self._root / "blobs").glob("sha256-*-partial-*"))[:MAX_MANIFESTS]
            told = [json.loads(_content(part)) for part in parts]
            return tuple((int(part["Completed"]), int(part["Size"])) for part in told)
        except (OSError, StoreUnreadable, ValueError, TypeError, KeyError):
            return ()


def disk_free(path: Path) -> int | None:
    """What an unprivileged user may still write on the disk of a folder, or of the nearest one above it."""
    for folder in (path, *path.parents):
        try:
            status = os.statvfs(folder)
        except FileNotFoundError:
            continue
        except OSError:
            return None
        return status.f_bavail * status.f_frsize
    return None


def _files_at_depth(folder: Path, depth: int) -> Iterator[Path]:
    if not folder.is_dir():
        return
    for entry in sorted(folder.iterdir()):
        if depth > 1:
            yield from _files_at_depth(entry, depth - 1)
        elif entry.is_file():
            yield entry


def _content(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            data = file.read(TEXT_LIMIT_BYTES + 1)
    except OSError as error:
        raise _unreadable(error, path) from error
    if len(data) > TEXT_LIMIT_BYTES:
        raise StoreUnreadable(f"{path} is larger than any such file of Ollama")
    return data


def _unreadable(error: OSError, path: Path) -> StoreUnreadable:
    if isinstance(error, PermissionError):
        return StoreUnreadable(f"{path} belongs to another user and cannot be read")
    return StoreUnreadable(f"{path} cannot be read: {error.strerror or error}")


class FilesInContainer:
    """Files below a path of a container, by the engine."""

    def __init__(self, files: ContainerFiles, ref: str, root: str) -> None:
        self._files = files
        self._ref = ref
        self._root = root.rstrip("/")

    def manifests(self) -> Mapping[str, bytes]:
        """All manifests. Raises StoreUnreadable."""
        try:
            tree = self._files.get_tree(self._ref, f"{self._root}/{MANIFESTS}")
        except HomellmError as error:
            raise StoreUnreadable(f"the store in {self._ref} cannot be read: {error}") from error
        return {f"{MANIFESTS}/{path}": content for path, content in (tree or {}).items()}

    def size(self, path: str) -> int | None:
        """Bytes of a file, None when there is none. Raises StoreUnreadable."""
        try:
            return self._files.file_size(self._ref, f"{self._root}/{path}")
        except HomellmError as error:
            raise StoreUnreadable(f"{path} in {self._ref} cannot be read: {error}") from error

    def read(self, path: str) -> bytes | None:
        """The content of a small file, None when there is none. Raises StoreUnreadable."""
        try:
            return self._files.get_file(self._ref, f"{self._root}/{path}")
        except HomellmError as error:
            raise StoreUnreadable(f"{path} in {self._ref} cannot be read: {error}") from error

"""Small files as the tar archives in which the engine takes and gives them."""

from __future__ import annotations

import base64
import io
import json
import tarfile
from collections.abc import Mapping

#: More than any file of homellm in a container; what is larger is not ours.
LIMIT_BYTES = 4 * 2**20

#: Where the engine puts what it knows of a path, as base64 of JSON; `mode` is Go's os.FileMode.
STAT_HEADER = "X-Docker-Container-Path-Stat"
_NOT_PLAIN = 0x8F280000  # folder, link, device, pipe, socket, character device, irregular (os.ModeType)


def split(path: str) -> tuple[str, str]:
    """Folder and name of an absolute path inside a container."""
    folder, _, name = path.rpartition("/")
    return folder or "/", name


def pack(name: str, data: bytes, time_s: float = 0.0) -> bytes:
    """A tar archive of one file, readable by all, of root, written at that time (seconds of the Unix epoch)."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as archive:
        entry = tarfile.TarInfo(name)
        entry.size = len(data)
        entry.mode = 0o644
        entry.mtime = time_s
        archive.addfile(entry, io.BytesIO(data))
    return buffer.getvalue()


def unpack(archive: bytes) -> bytes | None:
    """The file that a tar archive begins with; None when that is a folder, a link or nothing whole."""
    try:
        with tarfile.open(fileobj=io.BytesIO(archive), mode="r:") as opened:
            entry = opened.next()
            if entry is None or not entry.isreg():
                return None
            content = opened.extractfile(entry)
            return content.read() if content else None
    except tarfile.TarError:
        return None


def unpack_tree(archive: bytes) -> Mapping[str, bytes] | None:
    """All plain files of a tar archive of a folder, by path relative to it; None when it is of something else."""
    files: dict[str, bytes] = {}
    try:
        with tarfile.open(fileobj=io.BytesIO(archive), mode="r:") as opened:
            root = opened.next()
            if root is None or not root.isdir():
                return None
            for entry in opened:
                content = opened.extractfile(entry) if entry.isreg() else None
                if content:
                    files[entry.name.removeprefix(root.name).lstrip("/")] = content.read()
    except tarfile.TarError:
        return None
    return files


def size(stat: str) -> int | None:
    """Bytes of a plain file from the engine's header; None when it is none, or the header cannot be read."""
    try:
        doc = json.loads(base64.b64decode(stat))
    except ValueError:
        return None
    found, mode = doc.get("size"), doc.get("mode")
    return found if isinstance(found, int) and isinstance(mode, int) and not mode & _NOT_PLAIN else None

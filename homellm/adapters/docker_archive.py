"""Small files as the tar archives in which the engine takes and gives them."""

from __future__ import annotations

import io
import tarfile

#: More than any file of homellm in a container; what is larger is not ours.
LIMIT_BYTES = 4 * 2**20


def split(path: str) -> tuple[str, str]:
    """Folder and name of an absolute path inside a container."""
    folder, _, name = path.rpartition("/")
    return folder or "/", name


def pack(name: str, data: bytes) -> bytes:
    """A tar archive of one file, readable by all, of root, without a time of its own."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as archive:
        entry = tarfile.TarInfo(name)
        entry.size = len(data)
        entry.mode = 0o644
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

"""Files as the kernel tells of them without opening them; nothing raises, what is not there is told as that."""

from __future__ import annotations

import hashlib
import os
import stat
import sys

from homellm.unchanged.digest import digest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

FileFacts = dict[str, list[str | int]]

#: As many links as the kernel follows in one path (path_resolution(7)).
_MOST_LINKS = 40
#: No stack file is larger (cli.stack_file).
_LIMIT_BYTES = 1024 * 1024
_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def file_facts(path: str) -> list[str | int]:
    """What must not change of a file that is read by its path: its place behind all links, and its inode.

    Every link of a chain counts, not only the end of it: folders on the way are mounted too (Hugging Face's cache).
    Nobody can set an inode's ctime, so a file that was written again never looks like it was.
    """
    folder, links = os.path.realpath(os.path.dirname(path)), []
    step = path
    for _ in range(_MOST_LINKS):
        try:
            target = os.readlink(step)
        except (OSError, ValueError):
            break
        links.append(target)
        step = os.path.join(os.path.dirname(step), target)
    return [folder, *links, *inode(path)]


def of_files(paths: Iterable[str]) -> FileFacts:
    """The same of several files, by path."""
    return {path: file_facts(path) for path in paths}


def inode(path: str) -> list[str | int]:
    """Device, inode, kind and mode, owners, size and times of what stands at a path, all links followed."""
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return ["absent"]
    kept = (found.st_dev, found.st_ino, found.st_mode, found.st_uid, found.st_gid, found.st_size)
    return [*kept, found.st_mtime_ns, found.st_ctime_ns]


def content(path: str) -> str:
    """The sha256, in hex, of what a small file says; empty where it cannot be read whole.

    A pipe is not read: what is taken out of it is missing to those who come after.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as file:
            plain = stat.S_ISREG(os.fstat(descriptor).st_mode)
            data = file.read(_LIMIT_BYTES + 1) if plain else b""
    except (OSError, ValueError):
        return ""
    if not plain:
        return ""
    return hashlib.sha256(data).hexdigest() if len(data) <= _LIMIT_BYTES else ""


def code_facts(package: str = _PACKAGE) -> list[str]:
    """The program itself: every file of the package, the interpreter, and what is installed beside it.

    The version alone would not tell two states of a checkout apart, and costs more to find out than all of this.
    """
    files = digest([[path, size, time] for path, size, time in sorted(_files(package, ""))])
    installed = [digest(inode(path)) for path in sys.path if path.endswith("-packages")]
    return [package, files, sys.version, sys.executable or "", *installed]


def _files(folder: str, inside: str) -> list[tuple[str, int, int]]:
    found: list[tuple[str, int, int]] = []
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name == "__pycache__":
                continue
            if entry.is_dir(follow_symlinks=False):
                found += _files(entry.path, f"{inside}{entry.name}/")
            else:
                status = entry.stat()
                found.append((inside + entry.name, status.st_size, status.st_mtime_ns))
    return found

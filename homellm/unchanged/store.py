"""Where witnesses are kept: a small file for each command line, in a cache that may vanish or rot at any time.

A cache may be anywhere, and a link may stand in its place: files are written and removed only in a folder of this
user's own, through one descriptor of it, and only such as have the name of a witness.
"""

from __future__ import annotations

import contextlib
import json
import os
import stat

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

#: Anything of another format is not read: what is looked at, and how, is a part of what a witness means.
FORMAT = 1
#: One of a hundred models has 300 kB.
_LIMIT_BYTES = 1024 * 1024
#: The most that are kept, the newest first: stacks that are gone, terminals of other widths.
_MOST = 50
_OTHERS_MAY_WRITE = 0o022
_TEMPORARY, _ENDING = ".tmp-", ".json"
_HEX = frozenset("0123456789abcdef")
#: Of a sha256 in hex (unchanged.call.key), and of what makes a temporary name one of its own.
_KEY_LENGTH, _UNIQUE_BYTES = 64, 16


def read(path: str) -> dict[str, Any] | None:
    """A witness; None where there is none that is whole, of this format, and this user's own."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as file:
            data = file.read(_LIMIT_BYTES + 1) if _is_own_file(os.fstat(descriptor)) else b""
        found = json.loads(data)
    except (OSError, ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) and found.get("format") == FORMAT else None


def write(path: str, witness: dict[str, Any]) -> None:
    """Keep a witness whole or not at all; where that is impossible nothing is kept, and nothing is told."""
    data = json.dumps({"format": FORMAT, **witness}).encode()
    if len(data) > _LIMIT_BYTES:
        return
    with contextlib.suppress(OSError):
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        with _opened(os.path.dirname(path)) as folder:
            _replace(os.path.basename(path), data, folder)
            _prune(folder)


def forget(path: str) -> None:
    """Remove a witness, if there is one and that is possible."""
    with contextlib.suppress(OSError), _opened(os.path.dirname(path)) as folder:
        os.unlink(os.path.basename(path), dir_fd=folder)


@contextlib.contextmanager
def _opened(path: str) -> Iterator[int]:
    """A descriptor of a folder. Raises OSError for one that is a link, or not this user's own."""
    folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        if not _is_own(os.fstat(folder)):
            raise PermissionError(path)
        yield folder
    finally:
        os.close(folder)


def _is_own_file(found: os.stat_result) -> bool:
    return _is_own(found) and stat.S_ISREG(found.st_mode) and found.st_size <= _LIMIT_BYTES


def _is_own(found: os.stat_result) -> bool:
    return found.st_uid == os.geteuid() and not found.st_mode & _OTHERS_MAY_WRITE


def _replace(name: str, data: bytes, folder: int) -> None:
    temporary = f"{_TEMPORARY}{os.urandom(_UNIQUE_BYTES).hex()}"
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600, dir_fd=folder)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.replace(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
    except OSError:
        os.unlink(temporary, dir_fd=folder)
        raise


def _prune(folder: int) -> None:
    with os.scandir(folder) as entries:
        names = [entry.name for entry in entries if _is_ours(entry.name)]
    ages = sorted(((_age(name, folder), name) for name in names), reverse=True)
    for _, name in ages[_MOST:]:
        os.unlink(name, dir_fd=folder)


def _age(name: str, folder: int) -> int:
    return os.stat(name, dir_fd=folder, follow_symlinks=False).st_mtime_ns


def _is_ours(name: str) -> bool:
    """Whether a name is one that is given here."""
    if name.startswith(_TEMPORARY):
        unique, length = name.removeprefix(_TEMPORARY), 2 * _UNIQUE_BYTES
    else:
        unique, length = name.removesuffix(_ENDING), _KEY_LENGTH
        if unique == name:
            return False
    return len(unique) == length and _HEX.issuperset(unique)

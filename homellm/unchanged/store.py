"""Where witnesses are kept: a small file for each command line, in a cache that may vanish or rot at any time."""

from __future__ import annotations

import contextlib
import json
import os
import stat

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

#: Anything of another format is not read: what is looked at, and how, is a part of what a witness means.
FORMAT = 1
#: One of a hundred models has 300 kB.
_LIMIT_BYTES = 1024 * 1024
#: The most that are kept, the newest first: stacks that are gone, terminals of other widths.
_MOST = 50
_OTHERS_MAY_WRITE = 0o022


def read(path: str) -> dict[str, Any] | None:
    """A witness; None where there is none that is whole, of this format, and this user's own."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as file:
            data = file.read(_LIMIT_BYTES + 1) if _is_own(os.fstat(descriptor)) else b""
        found = json.loads(data)
    except (OSError, ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) and found.get("format") == FORMAT else None


def _is_own(found: os.stat_result) -> bool:
    plain = stat.S_ISREG(found.st_mode) and not found.st_mode & _OTHERS_MAY_WRITE
    return plain and found.st_uid == os.geteuid() and found.st_size <= _LIMIT_BYTES


def write(path: str, witness: dict[str, Any]) -> None:
    """Keep a witness whole or not at all; where that is impossible nothing is kept, and nothing is told."""
    import tempfile  # takes longer to load than a witness to read

    data = json.dumps({"format": FORMAT, **witness}).encode()
    if len(data) > _LIMIT_BYTES:
        return
    folder = os.path.dirname(path)
    with contextlib.suppress(OSError):
        os.makedirs(folder, mode=0o700, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=".tmp-", dir=folder)  # for this user alone
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
            os.replace(name, path)
        except OSError:
            forget(name)
            raise
        _prune(folder)


def forget(path: str) -> None:
    """Remove a witness, if there is one and that is possible."""
    with contextlib.suppress(OSError):
        os.unlink(path)


def _prune(folder: str) -> None:
    with os.scandir(folder) as entries:
        ages = sorted(((entry.stat(follow_symlinks=False).st_mtime_ns, entry.path) for entry in entries), reverse=True)
    for _, path in ages[_MOST:]:
        forget(path)

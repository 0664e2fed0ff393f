"""A small file inside a running container, as the container's own process sees it: /proc/<pid>/root (proc(5))."""

from __future__ import annotations

import os
import stat

from homellm.adapters.host.process import is_of
from homellm.adapters.host.root import HostRoot
from homellm.domain.world import Container

#: A link would lead out of the container, and a pipe would hold up who opens it.
_SAFELY = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
#: Only small files are of use, and a container can put there what it likes.
MOST_BYTES = 4 * 2**20


def read_top(root: HostRoot, container: Container, name: str) -> bytes | None:
    """The plain file `name` at the top of a container's own root; empty when there is none.

    None where it cannot be told: the process is gone, its cgroup does not name the container, what stands there is no
    plain file or larger than anything of ours, or this user may not look (that takes root, or its owner).
    """
    if container.pid <= 0 or not container.id or "/" in name:
        return None
    data = _read(f"{root.path}/proc/{container.pid}/root/{name}")
    # asked last: a number that changed hands while being read is then told, too
    return data if is_of(root, container.pid, container.id) else None


def _read(path: str) -> bytes | None:
    try:
        handle = os.open(path, _SAFELY)
    except FileNotFoundError:
        return b""
    except OSError:
        return None
    try:
        plain = stat.S_ISREG(os.fstat(handle).st_mode)
        data = os.read(handle, MOST_BYTES + 1) if plain else None
    except OSError:
        return None
    finally:
        os.close(handle)
    return None if data is None or len(data) > MOST_BYTES else data

"""Memory: how much there is, how much is free, and how much the daemon's processes may lock."""

from __future__ import annotations

import re

from homellm.adapters.host.processes import pids_named
from homellm.adapters.host.root import HostRoot
from homellm.domain.world import UNLIMITED

_LOCKED = re.compile(r"^Max locked memory\s+(\S+)", re.MULTILINE)


def read_memory(root: HostRoot) -> tuple[int | None, int | None]:
    """MemTotal and MemAvailable in bytes; None where /proc/meminfo does not tell."""
    text = root.text("/proc/meminfo") or ""
    return _kib(text, "MemTotal"), _kib(text, "MemAvailable")


def _kib(text: str, name: str) -> int | None:
    found = re.search(rf"^{name}:\s+(\d+) kB$", text, re.MULTILINE)
    return int(found[1]) * 1024 if found else None


def read_memlock(root: HostRoot) -> int | None:
    """The limit of locked memory that containers inherit, in bytes; None when it cannot be read.

    A container's first process is started by containerd, or by a containerd that dockerd keeps, and has its limits
    unless the daemon sets others. The soft one counts: llama-server does not raise it.
    """
    for name in ("containerd", "dockerd"):
        for pid in pids_named(root, name):
            found = _LOCKED.search(root.text(f"/proc/{pid}/limits") or "")
            if found:
                return UNLIMITED if found[1] == "unlimited" else int(found[1])
    return None

"""Processes of the host, by name."""

from __future__ import annotations

from homellm.adapters.host.root import HostRoot


def pids(root: HostRoot) -> tuple[int, ...]:
    """The numbers of all processes that can be seen."""
    return tuple(sorted(int(name) for name in root.names("/proc") if name.isdigit()))


def process_name(root: HostRoot, pid: int) -> str | None:
    """The kernel's name of a process (at most 15 characters); None when it is gone."""
    return root.text(f"/proc/{pid}/comm") or None


def pids_named(root: HostRoot, name: str) -> tuple[int, ...]:
    """The processes of that name."""
    return tuple(pid for pid in pids(root) if process_name(root, pid) == name)

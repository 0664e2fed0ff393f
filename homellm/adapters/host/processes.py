"""Processes of the host, by name."""

from __future__ import annotations

from homellm.adapters.host.root import HostRoot


def pids(root: HostRoot) -> tuple[int, ...]:
    """The numbers of all processes that can be seen."""
    return tuple(sorted(int(name) for name in root.names("/proc") if name.isdigit()))


def process_name(root: HostRoot, pid: int) -> str | None:
    """The kernel's name of a process (at most 15 characters); None when it is gone."""
    return process_names(root).get(pid) or None


def pids_named(root: HostRoot, name: str) -> tuple[int, ...]:
    """The processes of that name."""
    return tuple(pid for pid, its_name in process_names(root).items() if its_name == name)


def process_names(root: HostRoot) -> dict[int, str]:
    """Number -> name of every process, read once for a root: a snapshot asks for them again and again."""
    if root.process_names is None:
        proc = root.real("/proc")
        found = {} if proc is None else {pid: _name(f"{proc}/{pid}/comm") for pid in pids(root)}
        root.process_names = {pid: name for pid, name in found.items() if name}
    return root.process_names


def _name(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:  # noqa: PTH123 - hundreds of them, each a moment
            return file.read().strip()
    except OSError:
        return ""

"""The process of a container: what it really got, read from /proc."""

from __future__ import annotations

import re

from homellm.adapters.host.root import HostRoot
from homellm.domain.world import Container, Process

_UNITS = {"": 1, "KiB": 1024, "MiB": 1024**2, "GiB": 1024**3}
#: What a client holds of a region; `resident` says it best, `memory` is amdgpu's older word, `total` the last resort
#: (Linux, Documentation/gpu/drm-usage-stats.rst).
_HELD = ("resident", "memory", "total")


def read_process(root: HostRoot, container: Container) -> Process | None:
    """The first process of a container; None unless its cgroup names the container, or when it is gone."""
    if container.pid <= 0 or not container.id:
        return None
    pid = container.pid
    status = _status(root, pid)
    process = _process(root, pid, status) if status else None
    # asked last: a number that changed hands while being read is then told, too
    return process if is_of(root, pid, container.id) else None


def is_of(root: HostRoot, pid: int, container_id: str) -> bool:
    """Whether the process is in a cgroup that bears the container's id, in any hierarchy of v1 or in v2.

    Seen from another cgroup namespace a path may begin with `/..` and names the container all the same; seen from
    the container's own it is `/` and tells nothing.
    """
    return re.search(rf"[/-]{re.escape(container_id)}(\.scope)?(/|$)", _cgroups(root, pid), re.MULTILINE) is not None


def _cgroups(root: HostRoot, pid: int) -> str:
    lines = (root.text(f"/proc/{pid}/cgroup") or "").splitlines()
    return "\n".join(line.split(":", 2)[2] for line in lines if line.count(":") > 1)


def _status(root: HostRoot, pid: int) -> dict[str, str]:
    text = root.text(f"/proc/{pid}/status") or ""
    return dict(re.findall(r"^(\w+):[ \t]*(.*)$", text, re.MULTILINE))


def _process(root: HostRoot, pid: int, status: dict[str, str]) -> Process | None:
    locked, resident = _kib(status, "VmLck"), _kib(status, "VmRSS")
    if locked is None or resident is None:
        return None  # a process that has ended but is not reaped has no memory
    return Process(
        pid=pid,
        cpus=status.get("Cpus_allowed_list", ""),
        locked_bytes=locked,
        resident_bytes=resident,
        groups=tuple(int(group) for group in status.get("Groups", "").split()),
        read_bytes=_read_bytes(root, pid),
        gpu_bytes=_gpu_bytes(root, pid),
    )


def _kib(status: dict[str, str], name: str) -> int | None:
    found = re.fullmatch(r"(\d+) kB", status.get(name, ""))
    return int(found[1]) * 1024 if found else None


def _read_bytes(root: HostRoot, pid: int) -> int | None:
    """Bytes read from disks; only its owner and root may read that."""
    found = re.search(r"^read_bytes: (\d+)$", root.text(f"/proc/{pid}/io") or "", re.MULTILINE)
    return int(found[1]) if found else None


def _gpu_bytes(root: HostRoot, pid: int) -> tuple[tuple[str, int], ...] | None:
    """GPU memory by PCI address. Several open files can belong to one client of the driver, which counts once."""
    folder = f"/proc/{pid}/fdinfo"
    names = root.names(folder)
    if not names:
        return None
    clients: dict[tuple[str, str], int] = {}
    for name in names:
        fields = dict(re.findall(r"^(drm-[\w-]+):\s*(.*)$", root.text(f"{folder}/{name}") or "", re.MULTILINE))
        if "drm-pdev" in fields:
            clients[fields["drm-pdev"], fields.get("drm-client-id", name)] = _held(fields)
    totals: dict[str, int] = {}
    for (address, _), size in clients.items():
        totals[address] = totals.get(address, 0) + size
    return tuple(sorted(totals.items()))


def _held(fields: dict[str, str]) -> int:
    matches = [re.fullmatch(rf"drm-(?:{'|'.join(_HELD)})-(?!cycles-)(.+)", key) for key in fields]  # cycles are time
    return sum(_held_of(fields, region) for region in {match[1] for match in matches if match})


def _held_of(fields: dict[str, str], region: str) -> int:
    value = next((fields[f"drm-{kind}-{region}"] for kind in _HELD if f"drm-{kind}-{region}" in fields), "0")
    found = re.fullmatch(r"(\d+)(?:\s+(KiB|MiB|GiB))?", value)
    return int(found[1]) * _UNITS[found[2] or ""] if found else 0

"""The machine, as far as it decides what a container is given or what is known to stop one (adapters.host reads it).

Only what can change while it runs, and which boot it is: all else is the same for as long as that is.
"""

from __future__ import annotations

import os
import re

from homellm.unchanged.digest import digest
from homellm.unchanged.files import inode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_TEXTS = (
    "/proc/sys/kernel/random/boot_id",
    "/proc/1/uid_map",
    "/proc/self/uid_map",
    "/sys/devices/system/cpu/online",
    "/sys/devices/system/node/online",
    "/sys/devices/cpu_core/cpus",
    "/sys/devices/cpu_atom/cpus",
    "/sys/fs/cgroup/cpuset.cpus.effective",
    "/sys/fs/cgroup/cpuset/cpuset.effective_cpus",
    "/sys/fs/cgroup/cpuset/cpuset.cpus",
    "/sys/fs/selinux/enforce",
    "/run/systemd/container",
)
#: Nodes of GPUs, by name below /dev.
_NODES = re.compile(r"kfd|dxg|nvidia.*")
_SEEN = ("/.dockerenv", "/run/.containerenv", "/dev/lxd/sock", "/usr/lib/wsl/lib/libcuda.so.1")
#: Where programs of NVIDIA's toolkit and CDI files are put: something that is installed changes the folder's time.
_FOLDERS = (
    "/usr/bin",
    "/usr/local/bin",
    "/run/current-system/sw/bin",
    "/snap/docker/current/usr/bin",
    "/usr/local/nvidia/toolkit",
)
_CDI = ("/etc/cdi", "/var/run/cdi")
_PCI = "/sys/bus/pci/devices"


def machine_facts(*, gpus: bool = True, root: str = "") -> dict[str, str]:
    """Facts of the machine whose files stand below `root`, by what they are of. Nothing raises.

    Those of GPUs matter only to models that are to use one: without `gpus` they are left out.
    """
    found = {
        "texts": digest([_text(root + path) for path in _TEXTS]),
        "memory": _memory(root),
        "system": digest([os.path.exists(root + path) for path in _SEEN]),
    }
    return found | _gpu_facts(root) if gpus else found


def _gpu_facts(root: str) -> dict[str, str]:
    return {
        "nodes": digest([_node(f"{root}/dev/{name}") for name in _names(f"{root}/dev") if _NODES.fullmatch(name)]),
        "dri": digest(list(_dri(f"{root}/dev/dri"))),
        "pci": digest([[name, _link(f"{root}{_PCI}/{name}/driver")] for name in _names(root + _PCI)]),
        "programs": digest([inode(root + path) for path in _FOLDERS]),
        "cdi": digest([[path, name, inode(f"{root}{path}/{name}")] for path in _CDI for name in _names(root + path)]),
    }


def _dri(folder: str) -> Iterator[list[str] | list[str | int]]:
    for name in _names(folder):
        if name == "by-path":
            yield from ([link, _link(f"{folder}/{name}/{link}")] for link in _names(f"{folder}/{name}"))
        else:
            yield _node(f"{folder}/{name}")


def _node(path: str) -> list[str | int]:
    """A device: which one, and who may use it. Its times change with every use."""
    try:
        found = os.stat(path)
    except OSError:
        return [path]
    return [path, found.st_mode, found.st_uid, found.st_gid, found.st_rdev]


def _memory(root: str) -> str:
    line = _text(f"{root}/proc/meminfo").partition("\n")[0]
    return line if line.startswith("MemTotal:") else ""


def _text(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read(65536)
    except (OSError, ValueError):
        return ""


def _names(folder: str) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []


def _link(path: str) -> str:
    try:
        return os.readlink(path)
    except OSError:
        return ""

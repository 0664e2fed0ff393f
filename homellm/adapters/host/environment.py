"""What kind of system it is: WSL2, LXC, a virtual machine, a container around homellm itself; SELinux."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from homellm.adapters.host.processes import pids_named
from homellm.adapters.host.root import HostRoot

#: The first line of uid_map outside every user namespace: all numbers stand for themselves.
_INITIAL_MAP = ["0", "0", "4294967295"]


@dataclass(frozen=True, slots=True)
class Environment:
    """See Host for the meaning of each field."""

    wsl2: bool
    dxg: bool
    lxc: bool
    unprivileged: bool
    contained: bool
    hypervisor: str
    selinux: bool


def read_environment(root: HostRoot) -> Environment:
    """The environment of the machine at `root`."""
    return Environment(
        wsl2="microsoft" in (root.text("/proc/version") or "").lower(),
        dxg=root.exists("/dev/dxg"),
        lxc=_is_lxc(root),
        unprivileged=_is_unprivileged(root),
        contained=_is_contained(root),
        hypervisor=_hypervisor(root),
        selinux=root.text("/sys/fs/selinux/enforce") == "1",
    )


def _is_lxc(root: HostRoot) -> bool:
    """LXC says so to its first process, and systemd writes that down where all may read it; LXD has a socket."""
    environ = (root.data("/proc/1/environ") or b"").split(b"\0")
    return b"container=lxc" in environ or root.text("/run/systemd/container") == "lxc" or root.exists("/dev/lxd/sock")


def _is_unprivileged(root: HostRoot) -> bool:
    """Whether the numbers of users are mapped: root here is not root of the machine below."""
    lines = (root.text("/proc/1/uid_map") or root.text("/proc/self/uid_map") or "").splitlines()
    return bool(lines) and lines[0].split() != _INITIAL_MAP


def _is_contained(root: HostRoot) -> bool:
    """Whether homellm sits in a container, so that `/` is not the engine's machine.

    Docker and Podman leave a file in each container's root. A daemon that can be seen from here makes up for it:
    then this container is the engine's machine (Docker in Docker).
    """
    if root.path != Path("/"):
        return False  # a root that somebody named is the machine's
    marked = root.exists("/.dockerenv") or root.exists("/run/.containerenv")
    return marked and not pids_named(root, "dockerd")


def _hypervisor(root: HostRoot) -> str:
    """The product or maker that a virtual machine's firmware names; empty on bare metal."""
    product = root.text("/sys/class/dmi/id/product_name") or ""
    maker = root.text("/sys/class/dmi/id/sys_vendor") or ""
    both = f"{maker} {product}".lower()
    for sign, name in _HYPERVISORS:
        if sign in both:
            return name
    return ""


_HYPERVISORS = (
    ("qemu", "QEMU/KVM"),
    ("kvm", "QEMU/KVM"),
    ("vmware", "VMware"),
    ("virtualbox", "VirtualBox"),
    ("innotek", "VirtualBox"),
    ("virtual machine", "Hyper-V"),
    ("xen", "Xen"),
    ("parallels", "Parallels"),
    ("bhyve", "bhyve"),
)

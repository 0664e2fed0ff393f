"""LinuxHost: the port to the machine that runs the engine."""

from __future__ import annotations

import os
from collections.abc import Collection
from pathlib import Path

from homellm.adapters.host import nvidia
from homellm.adapters.host.bridge import beside_bridge
from homellm.adapters.host.cpus import read_cpus
from homellm.adapters.host.environment import read_environment
from homellm.adapters.host.gpus import read_gpus
from homellm.adapters.host.inside import read_top
from homellm.adapters.host.listeners import read_listeners
from homellm.adapters.host.memory import read_memlock, read_memory
from homellm.adapters.host.process import read_process
from homellm.adapters.host.root import HostRoot, Stat
from homellm.adapters.lan import bridge_addresses
from homellm.domain.world import Container, Host, Process


class LinuxHost:
    """Implements HostPort for a Linux machine whose files stand below `root`.

    `root` is `/`, or where the machine's root is mounted (HOMELLM_HOST_ROOT). `local` tells whether the engine is
    reached by a socket of this machine: with a remote engine `/` is another machine than the engine's and nothing
    is read of it, while a root that was named is believed. `here` says that the engine's processes are in this
    process's own /proc as well, whatever the root: the engine is reached by a socket. Reading changes nothing and
    raises nothing.
    """

    def __init__(self, root: Path, *, local: bool, here: bool = False, stat: Stat = os.stat) -> None:
        self._root = HostRoot(root, stat)
        self._readable = local or root != Path("/")
        self._here = here
        self._own = HostRoot(Path("/"), stat) if here and root != Path("/") else None

    def snapshot(self, ports: Collection[int] | None = None, known: Collection[tuple[str, int]] = ()) -> Host:
        """GPUs, CPUs, memory and listeners as they are now; all unknown (`readable` False) for a remote engine."""
        if not self._readable:
            return Host()
        root = self._root.anew()
        environment = read_environment(root)
        cpus = read_cpus(root)
        memory_bytes, available_bytes = read_memory(root)
        return Host(
            readable=True,
            gpus=read_gpus(root),
            online_cpus=cpus.usable,
            performance_cpus=cpus.performance,
            efficiency_cpus=cpus.efficiency,
            numa_nodes=cpus.numa_nodes,
            memory_bytes=memory_bytes,
            available_bytes=available_bytes,
            wsl2=environment.wsl2,
            dxg=environment.dxg,
            lxc=environment.lxc,
            selinux=environment.selinux,
            nvidia_devices=nvidia.has_devices(root),
            nvidia_toolkit=nvidia.has_toolkit(root),
            # a container's own table would hide the machine's ports behind an empty list
            listeners=None if environment.contained else read_listeners(root, ports, known),
            contained=environment.contained,
            hypervisor=environment.hypervisor,
            unprivileged=environment.unprivileged,
            nvidia_hook=nvidia.has_hook(root),
            cdi_devices=nvidia.read_cdi(root),
            wsl_cuda=nvidia.has_wsl_cuda(root),
            kfd_gid=root.gid("/dev/kfd"),
            memlock_bytes=read_memlock(root),
            programs_readable=not environment.contained and nvidia.programs_readable(root),
            bridges=bridge_addresses() if self._here and not environment.contained else frozenset(),
        )

    def process(self, container: Container) -> Process | None:
        """The first process of a container; None when it is gone, or unless its cgroup names the container."""
        found = read_process(self._root, container) if self._readable else None
        if found is None and self._own is not None:
            found = read_process(self._own, container)
        return found

    def reaches_published(self, container: Container) -> bool:
        """Whether this process stands beside the bridge of a container of a local engine."""
        return self._here and beside_bridge(container)

    def file_of(self, container: Container, name: str) -> bytes | None:
        """A small file at the top of a container's root; empty when there is none, None where this cannot be told."""
        found = read_top(self._root, container, name) if self._readable else None
        if found is None and self._own is not None:
            found = read_top(self._own, container, name)
        return found

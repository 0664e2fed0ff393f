"""Machines that people run models on, as descriptions for tests/fakes/host_tree.py.

Numbers, names and drivers are those of real machines; the group of the render node differs from one to the next, as
it does at home.
"""

from __future__ import annotations

from pathlib import Path

from homellm.adapters.host import LinuxHost
from tests.fakes.host_tree import HostTree, build

_LINUX = "kernel 'Linux version 6.8.0-45-generic (buildd@lcy02) (gcc 13.2.0) #45-Ubuntu SMP PREEMPT_DYNAMIC'\n"
_NAMES = r"""
file /usr/share/misc/pci.ids
    | # a few lines of the real one
    | 1002  Advanced Micro Devices, Inc. [AMD/ATI]
    | \t1638  Cezanne [Radeon Vega Series / Radeon Vega Mobile Series]
    | \t744c  Navi 31 [Radeon RX 7900 XT/7900 XTX/7900 GRE/7900M]
    | 10de  NVIDIA Corporation
    | \t249d  GA104M [GeForce RTX 3070 Mobile / Max-Q]
    | 8086  Intel Corporation
    | \t46a6  Alder Lake-P GT2 [Iris Xe Graphics]
    | \t56a0  DG2 [Arc A770]
    | \t9a49  TigerLake-LP GT2 [Iris Xe Graphics]
    | \t\t1028 0a5c  A subsystem
    | \ta780  Raptor Lake-S GT1 [UHD Graphics 770]
    | ffff  Illegal Vendor ID
"""

IRIS_NUC = (
    _LINUX
    + _NAMES
    + """
cpus 0-7
numa 0-7
memory 32612996 30112345
gpu 0000:00:02.0 8086:9a49 driver=i915 render=renderD128 gid=993
file /proc/1/uid_map "         0          0 4294967295"
listen 0.0.0.0:22 inode=1201
process 700 sshd unit=ssh.service sockets=1201
"""
)

INTEL_NVIDIA_LAPTOP = (
    _LINUX
    + _NAMES
    + """
cpus 0-19 performance=0-11 efficiency=12-19
numa 0-19
memory 32500000 28000000
gpu 0000:00:02.0 8086:46a6 driver=i915 render=renderD128 gid=104
gpu 0000:01:00.0 10de:249d driver=nvidia render=renderD129 gid=104 under=0000:00:01.0
nvidia 0000:01:00.0 "NVIDIA GeForce RTX 3070 Laptop GPU" GPU-5a3f1c2e-0b7d-4c1e-9f7a-2d6b8e4f1a90 0
program nvidia-container-runtime nvidia-container-runtime-hook nvidia-ctk
"""
)

AMD_APU = (
    _LINUX
    + _NAMES
    + """
cpus 0-11
numa 0-11
memory 31800000 29000000
gpu 0000:04:00.0 1002:1638 driver=amdgpu render=renderD128 gid=105 under=0000:00:08.1
    mem_info_vram_total = 536870912
    mem_info_vram_used = 104857600
    mem_info_gtt_total = 16281468928
    mem_info_gtt_used = 20971520
    gpu_metrics = hex:8000020200000000
pci 0000:04:00.1 1002:1637 class=040300 under=0000:00:08.1
pci 0000:04:00.2 1022:15df class=108000 under=0000:00:08.1
node /dev/kfd gid=105
"""
)

TWO_EQUAL_AMD = (
    _LINUX
    + _NAMES
    + """
cpus 0-31
numa 0-31
memory 131072000 120000000
gpu 0000:03:00.0 1002:744c driver=amdgpu render=renderD128 gid=992 under=0000:00:01.1
    mem_info_vram_total = 25753026560
    mem_info_gtt_total = 67108864000
    gpu_metrics = hex:7800010300000000
pci 0000:03:00.1 1002:ab30 class=040300 under=0000:00:01.1
gpu 0000:06:00.0 1002:744c driver=amdgpu render=renderD129 gid=992 under=0000:00:01.3
    mem_info_vram_total = 25753026560
    mem_info_gtt_total = 67108864000
pci 0000:06:00.1 1002:ab30 class=040300 under=0000:00:01.3
node /dev/kfd gid=109
"""
)

#: The card came first when the kernel counted: the integrated GPU has the higher number.
SWAPPED_INTEL_AND_ARC = (
    _LINUX
    + _NAMES
    + """
cpus 0-23 performance=0-15 efficiency=16-23
numa 0-23
memory 65000000 60000000
gpu 0000:00:02.0 8086:a780 driver=i915 render=renderD129 gid=44
gpu 0000:03:00.0 8086:56a0 driver=xe render=renderD128 gid=44 under=0000:00:01.0
    tile0/physical_vram_size_bytes = 17079205888
"""
)

WSL2 = """
kernel 'Linux version 5.15.153.1-microsoft-standard-WSL2 (root@941d701f84f1) (gcc 11.2.0) #1 SMP'
cpus 0-15
numa 0-15
memory 16310000 15000000
pci 5c87:00:00.0 1414:008e class=030200 driver=dxgkrnl
node /dev/dxg
file /usr/lib/wsl/lib/libcuda.so.1 ""
program nvidia-ctk nvidia-container-runtime nvidia-container-runtime-hook
"""

#: Proxmox's default: /sys shows the machine's GPU, /dev has no node of it.
UNPRIVILEGED_LXC = """
kernel 'Linux version 6.8.12-4-pve (build@proxmox) (gcc 12.2.0) #1 SMP PREEMPT_DYNAMIC PMX 6.8.12-4'
cpus 0-7 effective=2-5
memory 8388608 8000000
gpu 0000:00:02.0 8086:46a6 driver=i915 render=renderD128 nodev
file /run/systemd/container lxc
file /proc/1/uid_map "         0     100000      65536"
process 300 containerd unit=containerd.service
file /proc/300/limits
    | Limit                     Soft Limit           Hard Limit           Units
    | Max locked memory         67108864             67108864             bytes
"""

#: A server whose only display is that of its management controller.
NO_GPU = (
    _LINUX
    + """
cpus 0-15
numa 0-7 8-15
memory 65536000 60000000
pci 0000:02:00.0 1a03:2000 class=030000 driver=ast under=0000:00:1c.0
"""
)

VIRTUAL_MACHINE = (
    _LINUX
    + """
cpus 0-3
memory 8000000 7000000
pci 0000:00:01.0 1234:1111 class=030000 driver=bochs-drm
file /sys/class/dmi/id/sys_vendor QEMU
file /sys/class/dmi/id/product_name "Standard PC (Q35 + ICH9, 2009)"
"""
)

#: A card that is newer than the kernel.
ARC_WITHOUT_DRIVER = (
    _LINUX
    + """
cpus 0-7
gpu 0000:03:00.0 8086:e20b under=0000:00:01.0
"""
)

#: A card with NVIDIA's driver and no container toolkit.
NVIDIA_WITHOUT_TOOLKIT = (
    _LINUX
    + """
cpus 0-15
gpu 0000:01:00.0 10de:2484 driver=nvidia render=renderD128 gid=110 under=0000:00:01.0
nvidia 0000:01:00.0 "NVIDIA GeForce RTX 3070" GPU-0d4c2f10-7a55-4c39-8d6a-e1b0f2a3c4d5 0
"""
)

HOSTS = {
    "iris-nuc": IRIS_NUC,
    "intel-nvidia-laptop": INTEL_NVIDIA_LAPTOP,
    "amd-apu": AMD_APU,
    "two-equal-amd": TWO_EQUAL_AMD,
    "swapped-intel-and-arc": SWAPPED_INTEL_AND_ARC,
    "wsl2": WSL2,
    "unprivileged-lxc": UNPRIVILEGED_LXC,
    "no-gpu": NO_GPU,
    "virtual-machine": VIRTUAL_MACHINE,
    "arc-without-driver": ARC_WITHOUT_DRIVER,
    "nvidia-without-toolkit": NVIDIA_WITHOUT_TOOLKIT,
}


def make(name: str, folder: Path, extra: str = "") -> HostTree:
    """The tree of a named machine below `folder`; `extra` adds directives."""
    return build(HOSTS[name] + extra, folder / name)


def linux_host(name: str, folder: Path, extra: str = "") -> LinuxHost:
    """The host port of a named machine, its groups as described whether or not the test runs as root."""
    tree = make(name, folder, extra)
    return LinuxHost(tree.root, local=True, stat=tree.stat)

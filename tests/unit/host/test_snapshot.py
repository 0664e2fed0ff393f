"""CPUs, memory, kind of system, NVIDIA's programs and CDI files of described machines."""

from __future__ import annotations

from pathlib import Path

import pytest

from homellm.adapters.host import LinuxHost
from homellm.adapters.host.cpus import parse_list
from homellm.domain.world import UNLIMITED, Host
from tests.fakes.host_tree import build
from tests.fakes.hosts import HOSTS, linux_host


def _host(text: str, tmp_path: Path) -> Host:
    tree = build(text, tmp_path / "root")
    return LinuxHost(tree.root, local=True, stat=tree.stat).snapshot()


@pytest.mark.parametrize("name", HOSTS)
def test_every_described_machine_can_be_read(name: str, tmp_path: Path) -> None:
    host = linux_host(name, tmp_path).snapshot()
    assert host.readable
    assert host.online_cpus
    assert hash(host)  # frozen through and through


def test_an_empty_root_tells_nothing_and_raises_nothing(tmp_path: Path) -> None:
    host = LinuxHost(tmp_path, local=True).snapshot()
    assert host.gpus == ()
    assert host.online_cpus == ()
    assert host.memory_bytes is None
    assert host.listeners is None
    assert host.memlock_bytes is None
    assert host.programs_readable is False


def test_cpus_of_the_nuc(tmp_path: Path) -> None:
    host = linux_host("iris-nuc", tmp_path).snapshot()
    assert host.online_cpus == tuple(range(8))
    assert host.performance_cpus == host.efficiency_cpus == ()
    assert host.memory_bytes == 32612996 * 1024
    assert host.available_bytes == 30112345 * 1024


def test_performance_and_efficiency_cores(tmp_path: Path) -> None:
    host = linux_host("intel-nvidia-laptop", tmp_path).snapshot()
    assert host.performance_cpus == tuple(range(12))
    assert host.efficiency_cpus == tuple(range(12, 20))


def test_cores_of_arm_differ_by_capacity(tmp_path: Path) -> None:
    capacities = [485, 485, 1024, 1024]
    text = "cpus 0-3\n" + "".join(
        f"file /sys/devices/system/cpu/cpu{n}/cpu_capacity {capacity}\n" for n, capacity in enumerate(capacities)
    )
    host = _host(text, tmp_path)
    assert host.performance_cpus == (2, 3)
    assert host.efficiency_cpus == (0, 1)


def test_equal_capacities_tell_no_kinds(tmp_path: Path) -> None:
    text = "cpus 0-1\n" + "".join(f"file /sys/devices/system/cpu/cpu{n}/cpu_capacity 1024\n" for n in range(2))
    host = _host(text, tmp_path)
    assert host.performance_cpus == host.efficiency_cpus == ()


def test_the_effective_set_of_cgroup_v2_limits_the_cpus(tmp_path: Path) -> None:
    host = linux_host("unprivileged-lxc", tmp_path).snapshot()
    assert host.online_cpus == (2, 3, 4, 5)


def test_the_effective_set_of_cgroup_v1_limits_the_cpus(tmp_path: Path) -> None:
    host = _host("cpus 0-7\nfile /sys/fs/cgroup/cpuset/cpuset.effective_cpus 0,2-3\n", tmp_path)
    assert host.online_cpus == (0, 2, 3)


def test_a_cpu_that_is_offline_is_not_usable(tmp_path: Path) -> None:
    host = _host("cpus 0-2,4 effective=0-7 performance=0-3 efficiency=4-7\n", tmp_path)
    assert host.online_cpus == (0, 1, 2, 4)
    assert host.performance_cpus == (0, 1, 2)
    assert host.efficiency_cpus == (4,)


def test_numa_nodes(tmp_path: Path) -> None:
    assert linux_host("no-gpu", tmp_path).snapshot().numa_nodes == (tuple(range(8)), tuple(range(8, 16)))


@pytest.mark.parametrize(
    ("text", "numbers"),
    [("0-3,8", (0, 1, 2, 3, 8)), ("5\n", (5,)), ("", ()), ("3,1", (1, 3)), ("x-3", ()), ("0-", (0,))],
)
def test_lists_as_the_kernel_writes_them(text: str, numbers: tuple[int, ...]) -> None:
    assert parse_list(text) == numbers


def test_wsl2(tmp_path: Path) -> None:
    host = linux_host("wsl2", tmp_path).snapshot()
    assert (host.wsl2, host.dxg, host.wsl_cuda, host.nvidia_hook) == (True, True, True, True)
    assert linux_host("iris-nuc", tmp_path).snapshot().wsl2 is False


def test_lxc_by_what_systemd_writes(tmp_path: Path) -> None:
    host = linux_host("unprivileged-lxc", tmp_path).snapshot()
    assert (host.lxc, host.unprivileged) == (True, True)
    other = linux_host("iris-nuc", tmp_path).snapshot()
    assert (other.lxc, other.unprivileged) == (False, False)


def test_lxc_by_the_environment_of_the_first_process(tmp_path: Path) -> None:
    tree = build("cpus 0\n", tmp_path / "root")
    tree.file("/proc/1/environ", b"TERM=linux\0container=lxc\0")
    assert LinuxHost(tree.root, local=True).snapshot().lxc is True


def test_a_virtual_machine_names_its_maker(tmp_path: Path) -> None:
    assert linux_host("virtual-machine", tmp_path).snapshot().hypervisor == "QEMU/KVM"
    assert linux_host("iris-nuc", tmp_path).snapshot().hypervisor == ""


def test_selinux_only_when_it_enforces(tmp_path: Path) -> None:
    assert _host("file /sys/fs/selinux/enforce 1\n", tmp_path / "a").selinux is True
    assert _host("file /sys/fs/selinux/enforce 0\n", tmp_path / "b").selinux is False


@pytest.mark.parametrize(("soft", "expected"), [("8388608", 8388608), ("unlimited", UNLIMITED)])
def test_how_much_a_container_may_lock(tmp_path: Path, soft: str, expected: int) -> None:
    text = f"""
process 900 dockerd
process 800 containerd
file /proc/800/limits
    | Limit                     Soft Limit           Hard Limit           Units
    | Max cpu time              unlimited            unlimited            seconds
    | Max locked memory         {soft:<20} 4194304              bytes
file /proc/900/limits
    | Max locked memory         1                    1                    bytes
"""
    assert _host(text, tmp_path).memlock_bytes == expected


def test_the_parts_of_nvidias_toolkit(tmp_path: Path) -> None:
    laptop = linux_host("intel-nvidia-laptop", tmp_path).snapshot()
    assert (laptop.nvidia_devices, laptop.nvidia_toolkit, laptop.nvidia_hook) == (True, True, True)
    without = linux_host("nvidia-without-toolkit", tmp_path, "program ls\n").snapshot()
    assert (without.nvidia_devices, without.nvidia_toolkit, without.nvidia_hook) == (True, False, False)
    assert without.programs_readable
    part = linux_host("nvidia-without-toolkit", tmp_path / "part", "program nvidia-ctk\n").snapshot()
    assert (part.nvidia_toolkit, part.nvidia_hook) == (True, False)


def test_names_of_cdi_files(tmp_path: Path) -> None:
    text = """
link /var/run /run
file /run/cdi/nvidia.yaml
    | cdiVersion: 0.5.0
    | kind: nvidia.com/gpu
    | devices:
    | - name: "0"
    |   containerEdits: {deviceNodes: [{path: /dev/nvidia0}]}
    | - name: GPU-0d4c2f10-7a55-4c39-8d6a-e1b0f2a3c4d5
    |   containerEdits: {deviceNodes: [{path: /dev/nvidia0}]}
file /etc/cdi/other.json
    | {"cdiVersion": "0.5.0", "kind": "vendor.com/net", "devices": [{"name": "eth"}]}
file /etc/cdi/broken.yaml
    | devices: [
file /etc/cdi/notes.txt
    | kind: nvidia.com/gpu
"""
    assert _host(text, tmp_path).cdi_devices == (
        "nvidia.com/gpu=0",
        "nvidia.com/gpu=GPU-0d4c2f10-7a55-4c39-8d6a-e1b0f2a3c4d5",
        "vendor.com/net=eth",
    )


def test_kfd_and_its_group(tmp_path: Path) -> None:
    assert linux_host("two-equal-amd", tmp_path).snapshot().kfd_gid == 109
    assert linux_host("iris-nuc", tmp_path).snapshot().kfd_gid is None


def test_nothing_is_read_of_this_machine_for_a_remote_engine() -> None:
    assert LinuxHost(Path("/"), local=False).snapshot() == Host()


def test_a_root_that_was_named_is_believed_with_a_remote_engine(tmp_path: Path) -> None:
    tree = build(HOSTS["iris-nuc"], tmp_path / "root")
    assert LinuxHost(tree.root, local=False).snapshot().gpus[0].id == "8086:9a49"


def test_this_machine_itself_can_be_read() -> None:
    host = LinuxHost(Path("/"), local=True).snapshot()
    assert host.readable
    assert host.online_cpus
    assert host.memory_bytes

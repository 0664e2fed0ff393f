"""The process of a container is believed only when its cgroup names the container."""

from __future__ import annotations

from pathlib import Path

import pytest

from homellm.adapters.host import LinuxHost
from homellm.domain.world import Container, Process
from tests.fakes.host_tree import HostTree

ID = "3f2a9c" + "0" * 58
CONTAINER = Container(id=ID, name="nuc-x", image_id="sha256:1", image="x", status="running", pid=4711)
STATUS = """Name:	llama-server
State:	S (sleeping)
Groups:	44 993
VmLck:	  1572864 kB
VmRSS:	  2097152 kB
Cpus_allowed_list:	0-3,8
"""


def _tree(tmp_path: Path, cgroup: str, status: str = STATUS) -> HostTree:
    tree = HostTree(tmp_path)
    tree.file("/proc/4711/status", status)
    tree.file("/proc/4711/cgroup", cgroup)
    tree.file("/proc/4711/io", "rchar: 1\nread_bytes: 1073741824\nwrite_bytes: 0\n")
    return tree


def _process(tree: HostTree) -> Process | None:
    return LinuxHost(tree.root, local=True).process(CONTAINER)


@pytest.mark.parametrize(
    "cgroup",
    [
        f"0::/system.slice/docker-{ID}.scope\n",
        f"12:cpuset:/docker/{ID}\n1:name=systemd:/docker/{ID}\n0::/\n",
        f"0::/user.slice/user-1000.slice/user@1000.service/user.slice/docker-{ID}.scope\n",
        f"0::/../{ID}\n",  # seen from the cgroup namespace of a neighbour
        f"0::/../docker-{ID}.scope\n",
        f"0::/docker/{ID}/init\n",  # the server moved itself into a cgroup of its own below
    ],
)
def test_a_cgroup_that_names_the_container(tmp_path: Path, cgroup: str) -> None:
    assert _process(_tree(tmp_path, cgroup)) == Process(
        pid=4711,
        cpus="0-3,8",
        locked_bytes=1572864 * 1024,
        resident_bytes=2097152 * 1024,
        groups=(44, 993),
        read_bytes=1024**3,
    )


@pytest.mark.parametrize(
    "cgroup",
    [
        "0::/\n",
        "0::/../..\n",
        "",
        f"0::/system.slice/docker-{'4' * 64}.scope\n",
        f"0::/docker/{ID[:-1]}\n",
        f"0::/docker/{ID}0\n",
        f"1:name={ID}:/\n",  # a name of a hierarchy is no path
    ],
)
def test_any_other_cgroup_is_unknown(tmp_path: Path, cgroup: str) -> None:
    assert _process(_tree(tmp_path, cgroup)) is None


def test_an_engine_elsewhere_is_unknown_without_a_root_of_its_machine(tmp_path: Path) -> None:
    assert LinuxHost(Path("/"), local=False).process(CONTAINER) is None
    tree = _tree(tmp_path, f"0::/docker/{ID}\n")
    assert LinuxHost(tree.root, local=False).process(CONTAINER) is not None


def test_a_container_that_does_not_run(tmp_path: Path) -> None:
    stopped = Container(id=ID, name="x", image_id="", image="", status="exited", pid=0)
    assert LinuxHost(tmp_path, local=True).process(stopped) is None


def test_a_process_that_is_gone_or_not_reaped(tmp_path: Path) -> None:
    assert LinuxHost(tmp_path, local=True).process(CONTAINER) is None
    zombie = _tree(tmp_path / "z", f"0::/docker/{ID}\n", "Name:\tllama-server\nState:\tZ (zombie)\nGroups:\t\n")
    assert _process(zombie) is None


def test_io_that_may_not_be_read_is_unknown(tmp_path: Path) -> None:
    tree = _tree(tmp_path, f"0::/docker/{ID}\n")
    tree.path("/proc/4711/io").unlink()
    process = _process(tree)
    assert process is not None
    assert process.read_bytes is None


def test_memory_on_gpus_counts_each_client_once(tmp_path: Path) -> None:
    tree = _tree(tmp_path, f"0::/docker/{ID}\n")
    xe = (
        "pos:\t0\nflags:\t0100002\ndrm-driver:\txe\ndrm-client-id:\t3\ndrm-pdev:\t0000:03:00.0\n"
        "drm-total-system:\t0\ndrm-resident-system:\t0\ndrm-total-vram0:\t23992 KiB\ndrm-resident-vram0:\t20 MiB\n"
        "drm-total-gtt:\t192 KiB\ndrm-resident-gtt:\t192 KiB\ndrm-total-cycles-rcs:\t7655183225\n"
    )
    amd = "drm-driver:\tamdgpu\ndrm-client-id:\t9\ndrm-pdev:\t0000:06:00.0\ndrm-memory-vram:\t4096 KiB\n"
    for name, text in {"0": "pos:\t0\n", "5": xe, "6": xe, "7": amd}.items():
        tree.file(f"/proc/4711/fdinfo/{name}", text)
    process = _process(tree)
    assert process is not None
    assert process.gpu_bytes == (("0000:03:00.0", 20 * 1024**2 + 192 * 1024), ("0000:06:00.0", 4096 * 1024))


def test_open_files_without_a_gpu_tell_nothing(tmp_path: Path) -> None:
    tree = _tree(tmp_path, f"0::/docker/{ID}\n")
    tree.file("/proc/4711/fdinfo/0", "pos:\t0\n")
    process = _process(tree)
    assert process is not None
    assert process.gpu_bytes == ()

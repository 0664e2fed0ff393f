"""GPUs of described machines, as LinuxHost reads them."""

from __future__ import annotations

from pathlib import Path

import pytest

from homellm.adapters.host import LinuxHost
from homellm.domain.world import HostGpu
from tests.fakes.host_tree import build
from tests.fakes.hosts import linux_host


def _gpus(name: str, tmp_path: Path, extra: str = "") -> dict[str, HostGpu]:
    return {gpu.pci: gpu for gpu in linux_host(name, tmp_path, extra).snapshot().gpus}


def test_the_nuc(tmp_path: Path) -> None:
    (gpu,) = linux_host("iris-nuc", tmp_path).snapshot().gpus
    assert (gpu.pci, gpu.id, gpu.vendor, gpu.driver) == ("0000:00:02.0", "8086:9a49", "intel", "i915")
    assert (gpu.name, gpu.integrated) == ("Iris Xe Graphics", True)
    assert (gpu.render_node, gpu.render_gid, gpu.render_number) == ("renderD128", 993, "226:128")
    assert gpu.memory_bytes is None  # i915 does not tell


def test_a_laptop_with_two_makers(tmp_path: Path) -> None:
    gpus = _gpus("intel-nvidia-laptop", tmp_path)
    assert list(gpus) == ["0000:00:02.0", "0000:01:00.0"]
    card = gpus["0000:01:00.0"]
    assert card.vendor == "nvidia"
    assert card.name == "NVIDIA GeForce RTX 3070 Laptop GPU"
    assert card.uuid == "GPU-5a3f1c2e-0b7d-4c1e-9f7a-2d6b8e4f1a90"
    assert (card.minor, card.integrated, card.render_node) == (0, False, "renderD129")
    assert gpus["0000:00:02.0"].render_node == "renderD128"


def test_an_apu_tells_its_memory(tmp_path: Path) -> None:
    (gpu,) = linux_host("amd-apu", tmp_path).snapshot().gpus
    assert gpu.integrated is True
    assert gpu.memory_bytes == 512 * 1024**2
    assert gpu.shared_bytes == 16281468928
    assert gpu.used_bytes == 104857600 + 20971520


def test_two_equal_cards_have_their_own_nodes(tmp_path: Path) -> None:
    gpus = _gpus("two-equal-amd", tmp_path)
    assert {address: gpu.render_node for address, gpu in gpus.items()} == {
        "0000:03:00.0": "renderD128",
        "0000:06:00.0": "renderD129",
    }
    assert {gpu.id for gpu in gpus.values()} == {"1002:744c"}
    # the first by its metrics' header, the second, which has none, by its neighbours
    assert [gpu.integrated for gpu in gpus.values()] == [False, False]


def test_swapped_nodes_follow_sysfs_and_not_the_order(tmp_path: Path) -> None:
    gpus = _gpus("swapped-intel-and-arc", tmp_path)
    assert gpus["0000:00:02.0"].render_node == "renderD129"
    assert gpus["0000:03:00.0"].render_node == "renderD128"
    assert gpus["0000:00:02.0"].integrated is True
    assert gpus["0000:03:00.0"].integrated is False
    assert gpus["0000:03:00.0"].memory_bytes == 17079205888


def test_in_lxc_the_kernel_knows_a_node_that_dev_lacks(tmp_path: Path) -> None:
    (gpu,) = linux_host("unprivileged-lxc", tmp_path).snapshot().gpus
    assert gpu.render_node is None
    assert gpu.render_gid is None
    assert gpu.drm_node == "renderD128"


def test_a_display_without_a_gpu_is_listed_as_what_it_is(tmp_path: Path) -> None:
    (gpu,) = linux_host("no-gpu", tmp_path).snapshot().gpus
    assert (gpu.vendor, gpu.id, gpu.render_node, gpu.integrated) == ("other", "1a03:2000", None, None)


def test_a_card_without_driver(tmp_path: Path) -> None:
    (gpu,) = linux_host("arc-without-driver", tmp_path).snapshot().gpus
    assert (gpu.driver, gpu.drm_node, gpu.integrated) == ("", None, False)


def test_the_group_is_that_of_the_node_itself(tmp_path: Path) -> None:
    """Whatever stands at the path: here a link to another node's file, as udev rules make them."""
    extra = "node /dev/gpu0 gid=4242\n"
    tree_host = linux_host("iris-nuc", tmp_path, extra)
    node = tmp_path / "iris-nuc/dev/dri/renderD128"
    node.unlink()
    node.symlink_to("../gpu0")
    assert tree_host.snapshot().gpus[0].render_gid == 4242


def test_by_path_serves_where_sysfs_has_no_class(tmp_path: Path) -> None:
    tree = build(
        "pci 0000:65:00.0 1002:15bf class=030000 driver=amdgpu\n"
        "node /dev/dri/renderD130 gid=39\n"
        "link /dev/dri/by-path/pci-0000:65:00.0-render ../renderD130\n",
        tmp_path / "root",
    )
    (gpu,) = LinuxHost(tree.root, local=True, stat=tree.stat).snapshot().gpus
    assert (gpu.render_node, gpu.render_gid) == ("renderD130", 39)
    assert gpu.integrated is None  # neither metrics nor neighbours tell


def test_a_stale_by_path_link_does_not_beat_sysfs(tmp_path: Path) -> None:
    extra = """
pci 0000:09:00.0 1002:744c class=030000
link /dev/dri/by-path/pci-0000:09:00.0-render ../renderD128
"""
    gpus = _gpus("iris-nuc", tmp_path, extra)
    assert gpus["0000:00:02.0"].render_node == "renderD128"
    assert gpus["0000:09:00.0"].render_node is None


def test_a_compute_card_without_display_class_is_found_by_its_node(tmp_path: Path) -> None:
    gpus = _gpus("no-gpu", tmp_path, "gpu 0000:41:00.0 1002:74a1 class=120000 driver=amdgpu render=renderD128 gid=44\n")
    assert gpus["0000:41:00.0"].vendor == "amd"


def test_a_virtual_gpu_is_a_virtio_device_below_its_pci_device(tmp_path: Path) -> None:
    tree = build(
        "pci 0000:00:01.0 1af4:1050 class=030000 driver=virtio-pci\n"
        "file /sys/devices/pci0000:00/0000:00:01.0/virtio0/drm/renderD128/dev 226:128\n"
        "link /sys/devices/pci0000:00/0000:00:01.0/virtio0/drm/renderD128/device ../../../virtio0\n"
        "link /sys/class/drm/renderD128 ../../devices/pci0000:00/0000:00:01.0/virtio0/drm/renderD128\n"
        "node /dev/dri/renderD128 gid=104\n",
        tmp_path / "root",
    )
    (gpu,) = LinuxHost(tree.root, local=True, stat=tree.stat).snapshot().gpus
    assert (gpu.pci, gpu.render_node, gpu.render_gid) == ("0000:00:01.0", "renderD128", 104)


@pytest.mark.parametrize(
    ("device", "address", "integrated"),
    [
        ("8086:4905", "0000:03:00.0", False),  # DG1
        ("8086:56a5", "0000:00:02.0", False),  # an Arc A380, even in the slot of integrated ones
        ("8086:e20b", "0000:03:00.0", False),  # Battlemage
        ("8086:46d1", "0000:00:02.0", True),  # Alder Lake-N
        ("8086:7d55", "0000:00:02.0", True),  # Meteor Lake
        ("8086:46d1", "0000:06:10.0", None),  # passed to a virtual machine, at an address of its own
    ],
)
def test_integrated_intel(tmp_path: Path, device: str, address: str, integrated: bool | None) -> None:
    tree = build(f"gpu {address} {device} driver=i915 render=renderD128 gid=44\n", tmp_path / "root")
    (gpu,) = LinuxHost(tree.root, local=True).snapshot().gpus
    assert gpu.integrated is integrated


@pytest.mark.parametrize(("revision", "integrated"), [("01", False), ("02", True), ("03", True)])
def test_amd_metrics_tell_the_kind(tmp_path: Path, revision: str, integrated: bool) -> None:
    tree = build(
        f"gpu 0000:04:00.0 1002:ffff driver=amdgpu render=renderD128\n    gpu_metrics = hex:8000{revision}04\n",
        tmp_path / "root",
    )
    (gpu,) = LinuxHost(tree.root, local=True).snapshot().gpus
    assert gpu.integrated is integrated


def test_lmem_of_intels_own_i915(tmp_path: Path) -> None:
    tree = build(
        "gpu 0000:03:00.0 8086:56c0 driver=i915 render=renderD128\n    drm/card0/lmem_total_bytes = 16225243136\n",
        tmp_path / "root",
    )
    (gpu,) = LinuxHost(tree.root, local=True).snapshot().gpus
    assert gpu.memory_bytes == 16225243136


def test_a_driver_that_has_not_started_gives_no_uuid(tmp_path: Path) -> None:
    tree = build(
        "gpu 0000:01:00.0 10de:2484 driver=nvidia\n"
        'nvidia 0000:01:00.0 "NVIDIA GeForce RTX 3070" GPU-????????-????-????-????-???????????? 0\n',
        tmp_path / "root",
    )
    (gpu,) = LinuxHost(tree.root, local=True).snapshot().gpus
    assert gpu.uuid is None
    assert gpu.name == "NVIDIA GeForce RTX 3070"


def test_memory_shared_with_the_processor_is_integrated_on_nvidia_too(tmp_path: Path) -> None:
    tree = build(
        "gpu 000f:01:00.0 10de:2e12 driver=nvidia render=renderD128\n"
        'nvidia 000f:01:00.0 "NVIDIA GB10" GPU-11111111-2222-3333-4444-555555555555 0\n',
        tmp_path / "root",
    )
    (gpu,) = LinuxHost(tree.root, local=True).snapshot().gpus
    assert gpu.integrated is True

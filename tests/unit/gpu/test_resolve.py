"""A declared GPU on described machines: the right card, or what stands in its way."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from homellm.domain.stack import Gpu, GpuApi, Place
from homellm.domain.world import Host, HostGpu
from homellm.errors import ExitCode, Problem
from homellm.gpu import resolve
from tests.fakes.hosts import HOSTS, linux_host

PLACE = Place("/srv/homellm.yaml", 4, 3, "  iris:")


def declared(api: GpuApi = "vulkan", *, pci: str | None = None, id: str | None = None, name: str = "gpu0") -> Gpu:
    return Gpu(name=name, api=api, pci=pci, id=id, auto=pci is None and id is None, place=PLACE)


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Host]:
    folder = tmp_path_factory.mktemp("hosts")
    return {name: linux_host(name, folder).snapshot() for name in HOSTS}


def found(gpu: Gpu, host: Host) -> HostGpu:
    result = resolve(gpu, host)
    assert isinstance(result, HostGpu), result
    return result


def refused(gpu: Gpu, host: Host) -> Problem:
    result = resolve(gpu, host)
    assert isinstance(result, Problem), result
    assert result.exit_code is ExitCode.REFUSED
    assert (result.file, result.line, result.column) == ("/srv/homellm.yaml", 4, 3)
    assert result.excerpt is not None
    assert result.excerpt.splitlines()[0].endswith("  iris:")
    assert result.message.startswith(f"GPU {gpu.name}: ")
    assert result.hint
    return result


@pytest.mark.parametrize(
    ("name", "gpu", "node"),
    [
        ("iris-nuc", declared(), "renderD128"),
        ("iris-nuc", declared(pci="0000:00:02.0"), "renderD128"),
        ("iris-nuc", declared(pci="00:02.0"), "renderD128"),
        ("iris-nuc", declared(id="8086:9A49"), "renderD128"),
        ("intel-nvidia-laptop", declared(pci="0000:00:02.0"), "renderD128"),
        ("intel-nvidia-laptop", declared("cuda"), "renderD129"),
        ("two-equal-amd", declared(pci="0000:06:00.0"), "renderD129"),
        ("two-equal-amd", declared("rocm", pci="0000:03:00.0"), "renderD128"),
        ("swapped-intel-and-arc", declared(pci="0000:00:02.0"), "renderD129"),
        ("swapped-intel-and-arc", declared(id="8086:56a0"), "renderD128"),
        ("amd-apu", declared(), "renderD128"),
    ],
)
def test_the_card_that_was_meant(machine: dict[str, Host], name: str, gpu: Gpu, node: str) -> None:
    assert found(gpu, machine[name]).render_node == node


def test_auto_with_several_lists_them_all_with_addresses(machine: dict[str, Host]) -> None:
    problem = refused(declared(), machine["intel-nvidia-laptop"])
    assert problem.id == "gpu-ambiguous"
    assert "0000:00:02.0" in problem.message
    assert "0000:01:00.0" in problem.message
    assert "Intel Iris Xe Graphics" in problem.message
    assert 'pci: "0000:00:02.0"' in problem.hint


def test_the_id_of_two_equal_cards_points_to_the_address(machine: dict[str, Host]) -> None:
    problem = refused(declared(id="1002:744c"), machine["two-equal-amd"])
    assert problem.id == "gpu-ambiguous"
    assert "0000:03:00.0" in problem.message
    assert "0000:06:00.0" in problem.message
    assert 'pci: "0000:03:00.0"' in problem.hint


@pytest.mark.parametrize("gpu", [declared(pci="0000:07:00.0"), declared(id="8086:ffff")])
def test_a_card_that_is_not_there_lists_what_is(machine: dict[str, Host], gpu: Gpu) -> None:
    problem = refused(gpu, machine["swapped-intel-and-arc"])
    assert problem.id == "gpu-not-there"
    assert (gpu.pci or gpu.id or "") in problem.message
    for part in ("0000:00:02.0", "8086:a780", "renderD129", "0000:03:00.0", "8086:56a0", "renderD128"):
        assert part in problem.hint


def test_auto_ignores_a_card_that_is_kept_for_a_virtual_machine(machine: dict[str, Host]) -> None:
    laptop = machine["intel-nvidia-laptop"]
    kept = replace(laptop, gpus=(laptop.gpus[0], replace(laptop.gpus[1], driver="vfio-pci", render_node=None)))
    assert found(declared(), kept).pci == "0000:00:02.0"
    assert refused(declared(pci="0000:01:00.0"), kept).id == "gpu-kept-for-vm"


def test_cuda_without_an_nvidia_card_and_without_its_toolkit_are_two_problems(machine: dict[str, Host]) -> None:
    no_card = refused(declared("cuda"), machine["iris-nuc"])
    assert no_card.id == "no-gpu"
    assert "no NVIDIA card" in no_card.message
    assert "0000:00:02.0" in no_card.message
    assert "toolkit" not in no_card.message + no_card.hint
    host = replace(machine["nvidia-without-toolkit"], programs_readable=True)
    no_toolkit = refused(declared("cuda"), host)
    assert no_toolkit.id == "nvidia-toolkit-missing"
    assert "NVIDIA GeForce RTX 3070" in no_toolkit.message
    assert "nvidia-container-toolkit" in no_toolkit.hint
    assert "systemctl restart docker" in no_toolkit.hint


def test_vulkan_on_nvidias_driver_needs_the_toolkit_as_well(machine: dict[str, Host]) -> None:
    host = replace(machine["nvidia-without-toolkit"], programs_readable=True)
    assert refused(declared(), host).id == "nvidia-toolkit-missing"
    assert found(declared(), replace(host, nvidia_hook=True)).nvidia_hook


def test_a_part_of_the_toolkit_is_not_enough_unless_cdi_names_the_card(machine: dict[str, Host]) -> None:
    host = replace(machine["nvidia-without-toolkit"], programs_readable=True, nvidia_toolkit=True)
    problem = refused(declared("cuda"), host)
    assert "nvidia-container-runtime-hook" in problem.message
    assert "nvidia-ctk cdi generate" in problem.hint
    name = f"nvidia.com/gpu={host.gpus[0].uuid}"
    assert found(declared("cuda"), replace(host, cdi_devices=(name,))).cdi == name
    assert isinstance(resolve(declared("cuda"), replace(host, cdi_devices=("nvidia.com/gpu=0",))), Problem)


def test_programs_that_cannot_be_seen_prove_no_missing_toolkit(machine: dict[str, Host]) -> None:
    host = replace(machine["nvidia-without-toolkit"], programs_readable=False)
    assert found(declared("cuda"), host).uuid == "GPU-0d4c2f10-7a55-4c39-8d6a-e1b0f2a3c4d5"


def test_a_card_that_the_driver_does_not_list(machine: dict[str, Host]) -> None:
    laptop = machine["intel-nvidia-laptop"]
    silent = replace(laptop, gpus=(replace(laptop.gpus[1], uuid=None),))
    assert refused(declared("cuda"), silent).id == "gpu-no-uuid"


def test_nouveau_has_vulkan_by_its_render_node_and_no_cuda(machine: dict[str, Host]) -> None:
    laptop = machine["intel-nvidia-laptop"]
    free = replace(laptop, gpus=(replace(laptop.gpus[1], driver="nouveau", uuid=None),))
    assert found(declared(), free).render_node == "renderD129"
    assert refused(declared("cuda"), free).id == "gpu-wrong-driver"


@pytest.mark.parametrize("api", ["vulkan", "rocm"])
@pytest.mark.parametrize("pci", [None, "0000:00:02.0"])
def test_wsl2_has_no_vulkan_and_says_that_cuda_works(machine: dict[str, Host], api: GpuApi, pci: str | None) -> None:
    problem = refused(declared(api, pci=pci), machine["wsl2"])
    assert problem.id == "wsl2-no-vulkan"
    assert "WSL2" in problem.message
    assert "api: cuda" in problem.hint


def test_wsl2_with_cuda(machine: dict[str, Host]) -> None:
    card = found(declared("cuda"), machine["wsl2"])
    assert (card.vendor, card.uuid, card.pci) == ("nvidia", None, "")
    assert refused(declared("cuda", pci="0000:01:00.0"), machine["wsl2"]).id == "wsl2-no-address"
    assert "Windows" in refused(declared("cuda"), replace(machine["wsl2"], wsl_cuda=False)).hint


def test_lxc_without_a_node_names_the_setting_of_the_machine_below(machine: dict[str, Host]) -> None:
    problem = refused(declared(), machine["unprivileged-lxc"])
    assert problem.id == "no-render-node"
    assert "LXC" in problem.message
    assert "/dev/dri/renderD128" in problem.hint
    assert "pct set" in problem.hint


def test_lxc_with_a_node_whose_group_is_not_mapped(tmp_path: Path) -> None:
    lxc = "node /dev/dri/renderD128 gid={}\n"
    unmapped = linux_host("unprivileged-lxc", tmp_path / "a", lxc.format(65534)).snapshot()
    assert refused(declared(), unmapped).id == "render-group-unmapped"
    mapped = linux_host("unprivileged-lxc", tmp_path / "b", lxc.format(104)).snapshot()
    assert found(declared(), mapped).render_gid == 104
    for_all = linux_host("unprivileged-lxc", tmp_path / "c", lxc.format(65534))
    (tmp_path / "c/unprivileged-lxc/dev/dri/renderD128").chmod(0o666)
    assert found(declared(), for_all.snapshot()).render_node == "renderD128"


@pytest.mark.parametrize(
    ("name", "word"),
    [
        ("no-gpu", "1a03:2000"),  # what there is
        ("virtual-machine", "QEMU/KVM"),
    ],
)
def test_no_gpu_at_all(machine: dict[str, Host], name: str, word: str) -> None:
    problem = refused(declared(), machine[name])
    assert problem.id == "no-gpu"
    assert word in problem.message + problem.hint
    assert "CPU" in problem.hint


def test_a_missing_driver_is_named(machine: dict[str, Host]) -> None:
    problem = refused(declared(), machine["arc-without-driver"])
    assert problem.id == "gpu-no-driver"
    assert "xe" in problem.message
    assert "modprobe" in problem.hint


def test_a_driver_without_a_node_and_a_node_that_udev_did_not_make(machine: dict[str, Host]) -> None:
    nuc = machine["iris-nuc"]
    dark = replace(nuc, gpus=(replace(nuc.gpus[0], render_node=None, render_gid=None, drm_node=None),))
    assert "nomodeset" in refused(declared(), dark).hint
    unmade = replace(nuc, gpus=(replace(nuc.gpus[0], render_node=None, render_gid=None),))
    assert "udevadm" in refused(declared(), unmade).hint


def test_rocm_needs_kfd(machine: dict[str, Host]) -> None:
    apu = machine["amd-apu"]
    assert found(declared("rocm"), apu).kfd_gid == 105
    assert refused(declared("rocm"), replace(apu, kfd_gid=None)).id == "no-kfd"
    assert found(declared(), replace(apu, kfd_gid=None)).pci == "0000:04:00.0"


@pytest.mark.parametrize(("api", "word"), [("cuda", "NVIDIA"), ("rocm", "AMD")])
def test_an_api_that_the_named_card_has_not(machine: dict[str, Host], api: GpuApi, word: str) -> None:
    problem = refused(declared(api, pci="0000:00:02.0"), machine["iris-nuc"])
    assert problem.id == "gpu-wrong-api"
    assert word in problem.message
    assert "api: vulkan" in problem.hint


def test_a_remote_engine_has_unknown_gpus() -> None:
    problem = refused(declared(pci="0000:00:02.0"), Host())
    assert problem.id == "host-unknown"
    assert "HOMELLM_HOST_ROOT" in problem.hint


def test_inside_a_container_the_machine_is_not_accused(machine: dict[str, Host]) -> None:
    nuc = machine["iris-nuc"]
    inside = replace(nuc, contained=True, gpus=(replace(nuc.gpus[0], render_node=None, render_gid=None),))
    problem = refused(declared(), inside)
    assert problem.id == "host-unknown"
    assert "HOMELLM_HOST_ROOT=/host" in problem.hint
    assert refused(declared(), replace(nuc, contained=True, gpus=())).id == "host-unknown"

"""What a container is given: one node, one group, one id; a UUID and never a count."""

from __future__ import annotations

from dataclasses import replace

import pytest

from homellm.domain.dialect import Dialect, FlagHelp
from homellm.domain.stack import Gpu, GpuApi
from homellm.domain.world import EngineInfo, Host, HostGpu
from homellm.errors import Problem
from homellm.gpu import Passthrough, device_flag, engine_limit, ollama_env, passthrough, resolve
from tests.fakes.hosts import HOSTS, linux_host
from tests.unit.gpu.test_resolve import declared

OLD = EngineInfo(
    id="E", version="20.10.24+dfsg1", root_dir="/var/lib/docker", cpus=8, memory_bytes=1, log_driver="json-file"
)
NEW = replace(OLD, version="27.1.1", cdi=True)
WITH_DEVICE = Dialect(flags={"--device": FlagHelp(names=("-dev", "--device"), value="<dev1,dev2,..>")})


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Host]:
    folder = tmp_path_factory.mktemp("hosts")
    return {name: linux_host(name, folder).snapshot() for name in HOSTS}


def resolved(gpu: Gpu, host: Host) -> HostGpu:
    card = resolve(gpu, host)
    assert not isinstance(card, Problem), card
    return card


def passed(gpu: Gpu, host: Host, engine: EngineInfo = OLD) -> Passthrough:
    return passthrough(gpu, resolved(gpu, host), engine)


def environment(given: Passthrough) -> dict[str, str]:
    return {var.name: str(var.value) for var in given.env}


@pytest.mark.parametrize(
    ("name", "gpu", "node", "group", "select"),
    [
        ("iris-nuc", declared(), "renderD128", 993, "8086:9a49!"),
        ("intel-nvidia-laptop", declared(pci="0000:00:02.0"), "renderD128", 104, "8086:46a6!"),
        ("amd-apu", declared(), "renderD128", 105, "1002:1638!"),
        ("two-equal-amd", declared(pci="0000:06:00.0"), "renderD129", 992, "1002:744c!"),
        ("swapped-intel-and-arc", declared(pci="0000:00:02.0"), "renderD129", 44, "8086:a780!"),
        ("swapped-intel-and-arc", declared(pci="0000:03:00.0"), "renderD128", 44, "8086:56a0!"),
    ],
)
def test_vulkan_passes_one_node_one_group_and_selects_by_id(
    machine: dict[str, Host], name: str, gpu: Gpu, node: str, group: int, select: str
) -> None:
    given = passed(gpu, machine[name])
    assert [(device.host, device.container) for device in given.devices] == [(f"/dev/dri/{node}", f"/dev/dri/{node}")]
    assert given.group_add == (group,)
    assert environment(given) == {"MESA_VK_DEVICE_SELECT": select}
    assert given.gpu_requests == ()
    assert given.notes == ()
    assert all(device.because for device in given.devices)
    assert all(var.because for var in given.env)


def test_two_equal_cards_differ_by_their_node_alone(machine: dict[str, Host]) -> None:
    host = machine["two-equal-amd"]
    first, second = (passed(declared(pci=address), host) for address in ("0000:03:00.0", "0000:06:00.0"))
    assert environment(first) == environment(second)
    assert first.group_add == second.group_add
    assert first.devices[0].host != second.devices[0].host


@pytest.mark.parametrize("api", ["vulkan", "cuda", "rocm"])
def test_no_index_is_ever_passed(machine: dict[str, Host], api: GpuApi) -> None:
    for host in machine.values():
        for card in host.gpus:
            given = passthrough(declared(api, pci=card.pci), card, OLD)
            assert not {"GGML_VK_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES"} & set(
                environment(given)
            )
            assert all(not name.isdigit() for request in given.gpu_requests for name in request.device_ids)


UUID = "GPU-5a3f1c2e-0b7d-4c1e-9f7a-2d6b8e4f1a90"


def test_cuda_asks_the_toolkit_by_uuid(machine: dict[str, Host]) -> None:
    given = passed(declared("cuda"), machine["intel-nvidia-laptop"])
    (request,) = given.gpu_requests
    assert (request.driver, request.device_ids) == ("nvidia", (UUID,))
    assert given.devices == ()
    assert given.group_add == ()
    assert environment(given) == {}


def test_cuda_by_cdi_where_engine_and_file_have_it(machine: dict[str, Host]) -> None:
    with_file = replace(machine["intel-nvidia-laptop"], cdi_devices=(f"nvidia.com/gpu={UUID}",))
    (request,) = passed(declared("cuda"), with_file, NEW).gpu_requests
    assert (request.driver, request.device_ids) == ("cdi", (f"nvidia.com/gpu={UUID}",))
    for host, engine in (
        (with_file, OLD),
        (with_file, replace(NEW, cdi=False)),
        (machine["intel-nvidia-laptop"], NEW),
        (replace(with_file, cdi_devices=("nvidia.com/gpu=0",)), NEW),
    ):
        (request,) = passed(declared("cuda"), host, engine).gpu_requests
        assert (request.driver, request.device_ids) == ("nvidia", (UUID,))


def test_vulkan_on_nvidias_driver_asks_for_graphics(machine: dict[str, Host]) -> None:
    given = passed(declared(pci="0000:01:00.0"), machine["intel-nvidia-laptop"])
    assert given.gpu_requests[0].device_ids == (UUID,)
    assert given.devices == ()
    variables = environment(given)
    assert variables["MESA_VK_DEVICE_SELECT"] == "10de:249d!"
    assert set(variables["NVIDIA_DRIVER_CAPABILITIES"].split(",")) == {"compute", "graphics", "utility"}


def test_wsl2_passes_all_cards_together(machine: dict[str, Host]) -> None:
    (request,) = passed(declared("cuda"), machine["wsl2"]).gpu_requests
    assert (request.driver, request.device_ids) == ("nvidia", ("all",))


def test_rocm_passes_kfd_and_the_node_with_both_groups(machine: dict[str, Host]) -> None:
    given = passed(declared("rocm", pci="0000:06:00.0"), machine["two-equal-amd"])
    assert [device.host for device in given.devices] == ["/dev/kfd", "/dev/dri/renderD129"]
    assert given.group_add == (992, 109)
    same = passed(declared("rocm"), machine["amd-apu"])
    assert same.group_add == (105,)


def test_a_daemon_that_maps_groups_is_told_of(machine: dict[str, Host]) -> None:
    rootless = replace(NEW, security=("name=seccomp,profile=builtin", "name=rootless"))
    (note,) = passed(declared(), machine["iris-nuc"], rootless).notes
    assert "rootless" in note
    assert "993" in note
    remapped = replace(NEW, security=("name=userns",))
    assert "userns-remap" in passed(declared(), machine["iris-nuc"], remapped).notes[0]
    nuc = machine["iris-nuc"]
    for_all = replace(nuc, gpus=(replace(nuc.gpus[0], render_mode=0o666),))
    assert passed(declared(), for_all, rootless).notes == ()


@pytest.mark.parametrize(
    ("api", "name", "value"),
    [("vulkan", "iris-nuc", "Vulkan0"), ("cuda", "intel-nvidia-laptop", "CUDA0"), ("rocm", "amd-apu", "ROCm0")],
)
def test_the_device_flag_where_the_build_has_it(machine: dict[str, Host], api: GpuApi, name: str, value: str) -> None:
    gpu = declared(api)
    card = resolved(gpu, machine[name])
    arg = device_flag(gpu, card, WITH_DEVICE)
    assert arg is not None
    assert arg.words == ("--device", value)
    assert arg.because
    assert device_flag(gpu, card, Dialect()) is None


def test_no_device_flag_where_several_cards_may_be_seen(machine: dict[str, Host]) -> None:
    gpu = declared("cuda")
    assert device_flag(gpu, resolved(gpu, machine["wsl2"]), WITH_DEVICE) is None


def test_ollama_is_told_to_keep_an_integrated_gpu(machine: dict[str, Host]) -> None:
    gpu = declared()
    variables = {var.name: var.value for var in ollama_env(gpu, resolved(gpu, machine["iris-nuc"]))}
    assert variables == {"OLLAMA_VULKAN": "1", "OLLAMA_IGPU_ENABLE": "1"}
    arc = declared(id="8086:56a0")
    assert "OLLAMA_IGPU_ENABLE" not in {
        var.name for var in ollama_env(arc, resolved(arc, machine["swapped-intel-and-arc"]))
    }
    cuda = declared("cuda")
    assert ollama_env(cuda, resolved(cuda, machine["intel-nvidia-laptop"])) == ()


def test_an_unknown_kind_is_treated_as_integrated(machine: dict[str, Host]) -> None:
    card = replace(machine["amd-apu"].gpus[0], integrated=None)
    (var,) = [one for one in ollama_env(declared(), card) if one.name == "OLLAMA_IGPU_ENABLE"]
    assert "may be" in var.because


def _limit(gpu: Gpu, host: Host, engine: EngineInfo) -> str | None:
    problem = engine_limit(gpu, resolved(gpu, host), host, engine)
    return None if problem is None else problem.id


def test_what_the_engine_itself_cannot_pass(machine: dict[str, Host]) -> None:
    desktop = replace(NEW, os="Docker Desktop")
    assert _limit(declared(), machine["iris-nuc"], desktop) == "docker-desktop-gpu"
    assert _limit(declared(), machine["iris-nuc"], OLD) is None
    assert _limit(declared("cuda"), machine["wsl2"], desktop) is None
    laptop = machine["intel-nvidia-laptop"]
    assert _limit(declared("cuda"), laptop, OLD) is None
    without_hook = replace(machine["wsl2"], nvidia_hook=False)
    assert _limit(declared("cuda"), without_hook, OLD) == "nvidia-toolkit-missing"
    assert _limit(declared("cuda"), without_hook, replace(OLD, runtimes=("runc", "nvidia"))) is None


@pytest.mark.parametrize(("engine", "words"), [(OLD, "toolkit"), (replace(NEW, cdi=False), "daemon.json")])
def test_a_cdi_file_that_the_engine_does_not_read(machine: dict[str, Host], engine: EngineInfo, words: str) -> None:
    laptop = replace(machine["intel-nvidia-laptop"], nvidia_hook=False, cdi_devices=(f"nvidia.com/gpu={UUID}",))
    gpu = declared("cuda")
    problem = engine_limit(gpu, resolved(gpu, laptop), laptop, engine)
    assert problem is not None
    assert problem.id == "nvidia-toolkit-missing"
    assert engine.version in problem.message
    assert words in problem.hint
    assert _limit(gpu, laptop, NEW) is None

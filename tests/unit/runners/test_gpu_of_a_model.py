"""The declared GPU in the container of a model; which card it is, is the gpu room's own matter (tests/unit/gpu)."""

from dataclasses import replace
from pathlib import Path

import pytest

from homellm.domain.stack import Gpu, Stack
from homellm.domain.world import Host, HostGpu
from homellm.runners.llama_server import build
from tests.unit.runners.build import dialect, model, value_of, world

IRIS = HostGpu("0000:00:02.0", "8086:9a49", "intel", "Iris Xe", "i915", True, "renderD128", 993)
HOST = Host(readable=True, gpus=(IRIS,), online_cpus=tuple(range(8)), programs_readable=True)
VULKAN = Gpu("iris", "vulkan", pci="0000:00:02.0")


def built(wanted, build_name="b11669", host=HOST, gpu=VULKAN):
    stack = Stack("nuc", Path("/home/me/homellm.yaml"), (wanted,), (gpu,))
    return build(wanted, stack, world(build_name, host=host))


def test_vulkan_gets_the_one_node_its_group_and_the_selector():
    spec = built(model(gpu="iris", gpu_layers="all")).spec
    assert [(device.host, device.container) for device in spec.devices] == [("/dev/dri/renderD128",) * 2]
    assert spec.group_add == (993,)
    assert {v.name: v.value for v in spec.env} == {"MESA_VK_DEVICE_SELECT": "8086:9a49!"}
    assert value_of(list(spec.argv), "--device") == "Vulkan0"
    assert value_of(list(spec.argv), "--gpu-layers") == "all"


def test_a_model_that_declares_no_gpu_gets_none():
    spec = built(model()).spec
    assert (spec.devices, spec.group_add, spec.env) == ((), (), ())
    assert "--device" not in spec.argv


def test_the_number_of_the_group_is_this_hosts_own():
    other = replace(HOST, gpus=(replace(IRIS, render_gid=105, render_node="renderD129"),))
    spec = built(model(gpu="iris"), host=other).spec
    assert spec.group_add == (105,)
    assert spec.devices[0].host == "/dev/dri/renderD129"


def test_a_gpu_that_is_not_there_is_told_for_the_model():
    made = built(model(gpu="iris"), host=replace(HOST, gpus=()))
    assert made.spec is None
    assert [problem.model for problem in made.problems] == ["smol"]


@pytest.mark.parametrize(("name", "layers"), [("early-2025", "999"), ("b10434", None), ("b11669", None)])
def test_a_build_that_would_keep_every_layer_on_the_cpu_is_told_otherwise(name, layers):
    """Builds before `auto` load nothing on the GPU by themselves; the newer ones fit what they can."""
    spec = built(model(gpu="iris"), name).spec
    assert dialect(name).has("--gpu-layers")
    assert value_of(list(spec.argv), "--gpu-layers") == layers


def test_cuda_is_asked_for_by_uuid():
    card = HostGpu("0000:01:00.0", "10de:249d", "nvidia", "RTX 3070", "nvidia", False, uuid="GPU-5a3f", minor=0)
    host = replace(HOST, gpus=(card,), nvidia_hook=True)
    gpu = Gpu("rtx", "cuda", auto=True)
    spec = built(model(gpu="rtx"), host=host, gpu=gpu).spec
    assert [(request.driver, request.device_ids) for request in spec.gpu_requests] == [("nvidia", ("GPU-5a3f",))]
    assert spec.devices == ()

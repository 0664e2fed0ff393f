"""The examples of stacks/, each on the machine that it is written for: what its containers are given."""

from __future__ import annotations

from pathlib import Path

import pytest

from homellm.deploy.pull_models import locate
from homellm.domain.hub import HubFile, HubModel, parse_ref
from homellm.domain.spec import ContainerSpec
from homellm.domain.world import EngineInfo, World
from homellm.errors import ExitCode
from homellm.loading import load
from homellm.planning.host_problems import host_problems
from homellm.resources import stacks_root
from homellm.runners.llama_server import build
from tests.fakes.example_hosts import EXAMPLE_HOSTS, host_of
from tests.fakes.hosts import linux_host
from tests.fakes.hub import COMMIT, FakeHub
from tests.unit.runners.build import dialect

EXAMPLES = {path.stem: path for path in sorted(stacks_root().glob("*.yaml"))}
ENGINE = EngineInfo("E", "27.1", "/var/lib/docker", cpus=8, memory_bytes=1 << 35, log_driver="json-file")
IMAGE = "homellm/test:1"


def specs(example: str, folder: Path) -> dict[str, ContainerSpec]:
    """The containers of the models that llama-server serves, by name of the model."""
    path = EXAMPLES[example]
    stack = load(path, path.read_text(encoding="utf-8"), {"HOME": "/home/eva", "HOMELLM_LLAMA_IMAGE": IMAGE})
    hub = FakeHub()
    for model in stack.models:
        if model.source.kind == "hf":  # as if it had been pulled
            ref = parse_ref(model.source.ref)
            file = HubFile(ref.file or f"{ref.quant}.gguf", 1)
            hub.bring(HubModel(ref, COMMIT, (file,), Path("/cache/hub")))
    stack = locate(stack, hub)
    host = linux_host(host_of(example), folder).snapshot()
    stopping = [problem for problem in host_problems(stack, host, ENGINE) if problem.exit_code is not ExitCode.OK]
    assert stopping == []
    world = World(engine=ENGINE, host=host, dialects={IMAGE: dialect("b11669")})
    served = [model for model in stack.models if model.runner == "llama-server"]
    built = {model.name: build(model, stack, world) for model in served}
    assert [made.problems for made in built.values() if made.problems] == []
    return {name: made.spec for name, made in built.items() if made.spec is not None}


def flag(spec: ContainerSpec, name: str) -> str | None:
    return next((arg.value for arg in spec.args if arg.flag == name), None)


@pytest.mark.parametrize("example", EXAMPLES)
def test_it_has_a_story_and_nothing_stands_in_its_way(example: str, tmp_path: Path) -> None:
    specs(example, tmp_path)
    lines = EXAMPLES[example].read_text(encoding="utf-8").splitlines()
    story = lines[1 : next(number for number, line in enumerate(lines) if line.startswith("stack:"))]
    assert all(line.startswith("#") for line in story)
    assert sum(map(len, story)) > 80


def test_every_machine_that_is_named_belongs_to_an_example() -> None:
    assert EXAMPLE_HOSTS.keys() <= EXAMPLES.keys()


def test_the_nvidia_card_is_asked_for_by_its_uuid(tmp_path: Path) -> None:
    spec = specs("nvidia-8gb", tmp_path)["qwen"]
    (request,) = spec.gpu_requests
    assert request.device_ids == ("GPU-5a3f1c2e-0b7d-4c1e-9f7a-2d6b8e4f1a90",)
    assert (flag(spec, "--parallel"), flag(spec, "--ctx-size")) == ("3", str(3 * 8192))
    assert [port.host_ip for port in spec.ports] == ["0.0.0.0"]
    assert [variable.name for variable in spec.env if variable.name == "LLAMA_API_KEY"]


def test_the_apu_is_reached_by_vulkan_at_its_node(tmp_path: Path) -> None:
    spec = specs("amd-apu", tmp_path)["chat"]
    assert [device.host for device in spec.devices] == ["/dev/dri/renderD128"]
    assert spec.group_add == (105,)
    assert {variable.name: variable.value for variable in spec.env}["MESA_VK_DEVICE_SELECT"] == "1002:1638!"
    assert flag(spec, "--threads") == "4"


def test_of_two_gpus_each_model_has_its_own(tmp_path: Path) -> None:
    found = specs("two-gpus", tmp_path)
    assert [device.host for device in found["chat"].devices] == ["/dev/dri/renderD128"]
    assert [device.host for device in found["tasks"].devices] == ["/dev/dri/renderD129"]
    assert flag(found["chat"], "--cache-type-k") == "q8_0"
    assert flag(found["tasks"], "--parallel") == "4"


def test_without_a_gpu_threads_follow_the_cpus_and_weights_are_locked(tmp_path: Path) -> None:
    spec = specs("cpu-only", tmp_path)["qwen"]
    assert (spec.devices, spec.gpu_requests) == ((), ())
    assert (spec.cpuset, flag(spec, "--threads")) == ("0-7", "8")
    assert spec.cap_add == ("IPC_LOCK",)
    assert spec.memory_bytes == 28 * 1024**3


def test_embeddings_are_served_beside_chats(tmp_path: Path) -> None:
    found = specs("embeddings", tmp_path)
    embed = found["embed"]
    assert "--embedding" in embed.argv or "--embeddings" in embed.argv
    assert (flag(embed, "--ubatch-size"), embed.ports) == ("2048", ())
    assert not {"--embedding", "--embeddings"} & set(found["chat"].argv)
    assert found["chat"].networks[0].name == embed.networks[0].name == "homellm-library"


def test_models_of_the_hub_are_served_from_its_cache(tmp_path: Path) -> None:
    found = specs("hub", tmp_path)
    assert flag(found["qwen"], "--model") == "/models/Q4_K_M.gguf"
    assert [mount.source for mount in found["embed"].mounts] == ["/cache/hub"]

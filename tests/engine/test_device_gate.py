"""The device gate, as far as it can be shown without a GPU: a NUC that is a tree of files, and recorded lines of logs.

The engine, the passing of the render node and its group are real; what the server says of its device is replayed.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.engine.support.machines import SPARE_NODE, machine_with_nodes, node_on_this_machine
from tests.engine.support.ports import free_port

LOGS = Path(__file__).parents[1] / "fixtures" / "logs"
LLVMPIPE, IRIS = "llvmpipe (LLVM 21.1.8, 256 bits)", "Intel(R) Iris(R) Xe Graphics (TGL GT2)"
#: A whole load of SmolLM2 on a Vulkan device, as a real server wrote it, of Mesa's driver on the CPU.
VULKAN_LOG = (LOGS / "v11669-lavapipe.log").read_text()


@pytest.fixture
def nuc(tmp_path):
    """An Iris Xe NUC, whose render node the engine can pass as well."""
    if os.geteuid() != 0:
        pytest.fail("device nodes can be made by root alone. Next: sudo scripts/test", pytrace=False)
    with node_on_this_machine():
        yield machine_with_nodes("iris-nuc", tmp_path, node=SPARE_NODE)


@pytest.fixture
def nuc_cli(cli, nuc):
    cli.env["HOMELLM_HOST_ROOT"] = str(nuc.root)
    return cli


@pytest.fixture
def replaying(make_instant):
    """An image that says these lines instead of its own."""
    return lambda text: make_instant(env={"INSTANT_REPLAY": "/replay.log"}, files={"replay.log": text.encode()})


@pytest.fixture
def on_iris(replaying):
    return replaying(VULKAN_LOG.replace(LLVMPIPE, IRIS))


@pytest.fixture
def declare(stack_file, smollm2):
    port = free_port()

    def write(image, **keys):
        base = {"source": f"gguf:{smollm2}", "image": image, "parallel": 3, "ctx": 512, "pull": "never"}
        model = base | {"port": port, "gpu": "iris", "gpu_layers": "all"} | keys
        return stack_file({"m": model}, gpus={"iris": {"pci": "0000:00:02.0", "api": "vulkan"}})

    return write


def only(result, code):
    assert result.code == code, result
    (model,) = result.json["models"]
    return model, {check["id"]: check for check in model["checks"]}


def up(cli, code):
    return only(cli("up", "--format", "json"), code)


def test_the_declared_gpu_holds_the_model(nuc_cli, declare, on_iris, docker_api, prefix):
    declare(on_iris)
    model, checks = up(nuc_cli, 0)
    assert model["state"] == "verified"
    assert checks["device"]["observed"] == f"Vulkan0 {IRIS}"
    assert checks["offload"]["observed"] == "31/31"
    assert {checks[check]["verdict"] for check in ("device", "offload", "groups", "memory")} == {"pass"}
    assert checks["groups"]["asked"] == 993

    inspected = docker_api.inspect_container(f"{prefix}-m")
    (device,) = inspected["HostConfig"]["Devices"]
    assert device["PathOnHost"] == device["PathInContainer"] == f"/dev/dri/{SPARE_NODE}"
    assert inspected["HostConfig"]["GroupAdd"] == ["993"]
    assert "MESA_VK_DEVICE_SELECT=8086:9a49!" in inspected["Config"]["Env"]
    assert not any("GGML_VK_VISIBLE_DEVICES" in entry for entry in inspected["Config"]["Env"])
    inside = Path(f"/proc/{inspected['State']['Pid']}/root/dev/dri")
    assert [node.name for node in inside.iterdir()] == [SPARE_NODE]
    status = Path(f"/proc/{inspected['State']['Pid']}/status").read_text()
    (groups,) = [line for line in status.splitlines() if line.startswith("Groups:")]
    assert "993" in groups.split()

    _, again = only(nuc_cli("check", "--format", "json"), 0)
    assert (again["device"]["verdict"], again["device"]["source"]) == ("pass", "log")


def without(text, *words):
    return "".join(line for line in text.splitlines(keepends=True) if not any(word in line for word in words))


FAILING = {
    "a run on the CPU alone": ((LOGS / "b11669-ngl-nogpu-lv4.log").read_text(), "cpu"),
    "offloaded 31/31 and no line of a device": ((LOGS / "a-noicd-lv4.log").read_text(), "cpu"),
    "a Vulkan backend that found no devices": ((LOGS / "v11669-a-lv4.log").read_text(), "cpu"),
    "a driver on the CPU": (VULKAN_LOG, f"Vulkan0 {LLVMPIPE}"),
    "another GPU": (
        VULKAN_LOG.replace(LLVMPIPE, "NVIDIA GeForce RTX 3070 Laptop GPU"),
        "Vulkan0 NVIDIA GeForce RTX 3070 Laptop GPU",
    ),
}


@pytest.mark.parametrize("name", FAILING)
def test_what_is_no_proof_of_the_declared_gpu(nuc_cli, declare, on_iris, replaying, docker_api, prefix, name):
    """The gate fails though /health is 200, and what ran before serves again."""
    text, observed = FAILING[name]
    declare(on_iris)
    up(nuc_cli, 0)
    before = docker_api.inspect_container(f"{prefix}-m")
    declare(replaying(text))
    model, checks = up(nuc_cli, 4)
    assert (model["state"], model["container"]) == ("failed", f"{prefix}-m")
    assert set(checks) == {"device"}
    assert (checks["device"]["verdict"], checks["device"]["observed"]) == ("fail", observed)
    after = docker_api.inspect_container(f"{prefix}-m")
    assert (after["Id"], after["State"]["Running"]) == (before["Id"], True)
    assert after["HostConfig"]["RestartPolicy"]["Name"] == "unless-stopped"
    assert docker_api.inspect_container(f"{prefix}-m.failed")["State"]["Running"] is False
    declare(on_iris)
    _, again = only(nuc_cli("check", "--format", "json"), 0)
    assert again["device"]["verdict"] == "pass"


def test_a_log_that_tells_nothing_of_devices_is_unknown_and_no_pass(nuc_cli, declare, replaying):
    told = ("using device", "buffer size", "memory_breakdown", "MiB free)", "offloaded")
    declare(replaying(without(VULKAN_LOG, *told)))
    _, checks = up(nuc_cli, 4)
    assert (checks["device"]["verdict"], checks["device"]["observed"]) == ("unknown", None)


def test_a_moving_tag_that_lost_the_gpu(nuc_cli, declare, on_iris, replaying, docker_api, prefix):
    """The tag is pulled anew and its image finds no GPU any more: the image that worked serves again, and is named."""
    tag = f"{prefix}/llama.cpp:server-vulkan"
    repository, _, version = tag.partition(":")
    good = docker_api.inspect_image(on_iris)["Id"]
    bad = docker_api.inspect_image(replaying(FAILING["a Vulkan backend that found no devices"][0]))["Id"]
    try:
        docker_api.tag(good, repository, version)
        declare(tag)
        up(nuc_cli, 0)
        docker_api.tag(bad, repository, version)
        result = nuc_cli("up", "--format", "json")
        _, checks = only(result, 4)
        assert checks["device"]["verdict"] == "fail"
        assert docker_api.inspect_container(f"{prefix}-m")["Image"] == good
        assert docker_api.inspect_container(f"{prefix}-m")["State"]["Running"] is True
        gate, moved = result.json["errors"]
        assert (gate["id"], moved["id"]) == ("gate-device", "image-moved")
        assert f"image: {good}" in moved["hint"]
        declare(good)
        up(nuc_cli, 0)
    finally:
        docker_api.remove_image(tag, force=True)

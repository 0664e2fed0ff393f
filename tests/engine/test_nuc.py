"""The example of the NUC on the engine: its own file, a NUC that is a tree of files, a stand-in for the server."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from tests.engine.support.machines import SPARE_NODE, machine_with_nodes, node_on_this_machine
from tests.engine.support.ports import free_port

EXAMPLE = Path(__file__).parents[2] / "stacks" / "nuc-lfm2.yaml"
BLOB = "sha256-02a8b7e17487d326e46d68ce0ba24211e1b80a14c4cd0597fa73c1cd697f52ed"
RECORDED = Path(__file__).parents[1] / "fixtures" / "logs" / "v11669-lavapipe.log"
#: The recorded load, as it reads on this machine with this file's settings.
ON_THE_NUC = {
    "llvmpipe (LLVM 21.1.8, 256 bits)": "Intel(R) Iris(R) Xe Graphics (TGL GT2)",
    "CPU_Mapped model buffer size =    28.69 MiB": "CPU_Mapped model buffer size =     8.00 MiB",
    "n_batch               = 1536": "n_batch               = 2048",
    "n_ubatch              = 512": "n_ubatch              = 1024",
}


@pytest.fixture
def nuc(tmp_path, tiny_lfm2, make_instant, cli, monkeypatch):
    """What surrounds the example: the machine, the blob, the image."""
    if os.geteuid() != 0:
        pytest.fail("device nodes can be made by root alone. Next: sudo scripts/test", pytrace=False)
    # The memory table is that of the model that was recorded; the rest is made that of this one.
    log = "".join(line for line in RECORDED.read_text().splitlines(True) if "memory_breakdown" not in line)
    for recorded, here in ON_THE_NUC.items():
        assert recorded in log
        log = log.replace(recorded, here)
    blobs = tmp_path / "blobs"
    blobs.mkdir()
    shutil.copy(tiny_lfm2, blobs / BLOB)
    with node_on_this_machine():
        tree = machine_with_nodes("iris-nuc", tmp_path, node=SPARE_NODE)
        cli.env |= {
            "HOMELLM_HOST_ROOT": str(tree.root),
            "OLLAMA_BLOBS": str(blobs),
            "HOMELLM_LLAMA_IMAGE": make_instant(
                env={"INSTANT_REPLAY": "/replay.log"}, files={"replay.log": log.encode()}
            ),
        }
        yield tree


@pytest.fixture
def example(tmp_path, prefix):
    """The example itself, but for names, the port and the CPUs: those of a test on whatever machine this is."""
    text = EXAMPLE.read_text()
    changed = {
        "stack: nuc\n": f"stack: {prefix}\n",
        "container_name: llama-lfm": f"container_name: {prefix}-llama-lfm",
        "port: 11435": f"port: {free_port()}",
        'cpuset: "0-3"': 'cpuset: "0"',
    }
    for old, new in changed.items():
        assert text.count(old) == 1
        text = text.replace(old, new)
    path = tmp_path / "homellm.yaml"
    path.write_text(text)
    return path


def test_the_whole_example(cli, nuc, example, docker_api, prefix):
    result = cli("up", "--format", "json")
    assert result.code == 0, result
    (model,) = result.json["models"]
    assert model["state"] == "verified"
    checks = {check["id"]: check for check in model["checks"]}
    # What only another server or a client could show is unknown, and nothing else is.
    assert {name for name, check in checks.items() if check["verdict"] != "pass"} == {"cache-reuse", "reasoning"}
    assert {checks[name]["verdict"] for name in ("cache-reuse", "reasoning")} == {"unknown"}
    assert checks["ctx"]["observed"] == 32768

    inspected = docker_api.inspect_container(f"{prefix}-llama-lfm")
    host = inspected["HostConfig"]
    (device,) = host["Devices"]
    assert device == {
        "PathOnHost": f"/dev/dri/{SPARE_NODE}",
        "PathInContainer": f"/dev/dri/{SPARE_NODE}",
        "CgroupPermissions": "rwm",
    }
    assert host["GroupAdd"] == ["993"]
    assert [capability.removeprefix("CAP_") for capability in host["CapAdd"]] == ["IPC_LOCK"]
    assert host["Privileged"] is False
    assert (host["CpusetCpus"], host["CpuShares"]) == ("0", 2048)
    (mount,) = host["Mounts"]
    assert (Path(mount["Source"]).name, mount["ReadOnly"]) == ("blobs", True)
    assert inspected["Args"][inspected["Args"].index("--model") + 1] == f"{mount['Target']}/{BLOB}"
    (binding,) = host["PortBindings"]["8080/tcp"]
    assert binding["HostIp"] == "127.0.0.1"
    status = Path(f"/proc/{inspected['State']['Pid']}/status").read_text()
    fields = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
    assert int(fields["VmLck"].split()[0]) * 1024 > 8_000_000
    assert fields["Cpus_allowed_list"].strip() == "0"
    assert "993" in fields["Groups"].split()


def test_the_number_of_the_group_is_the_hosts_own(cli, nuc, example, docker_api, prefix):
    """The same file where the render node belongs to another group: the number follows."""
    os.chown(nuc.path(f"/dev/dri/{SPARE_NODE}"), 0, 105)
    assert cli("up").code == 0
    assert docker_api.inspect_container(f"{prefix}-llama-lfm")["HostConfig"]["GroupAdd"] == ["105"]

"""homellm as people run it, on a real engine with a real llama-server: up, check, ps, logs, restart, down."""

from __future__ import annotations

import json
import urllib.request
from pathlib import Path

import pytest

from tests.engine.support.ports import free_port
from tests.engine.support.sweep import leftovers


@pytest.fixture
def port():
    return free_port()


@pytest.fixture
def declare(stack_file, llama_image, smollm2, port):
    """Writes the stack of one model; what is given replaces or adds keys."""

    def write(**keys):
        base = {"source": f"gguf:{smollm2}", "image": llama_image, "parallel": 3, "ctx": 2048, "port": port}
        return stack_file({"smol": {k: v for k, v in (base | keys).items() if v is not None}})

    return write


def props(port):
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/props", timeout=60) as reply:
        return json.load(reply)


def only(result):
    (model,) = result.json["models"]
    return model


def test_nothing_to_verified_to_nothing(cli, declare, docker_api, prefix, port):
    declare(mlock=True, cpuset="0")
    result = cli("up", "--format", "json")
    assert result.code == 0, result
    model = only(result)
    assert (model["state"], model["runner"]) == ("verified", "llama-server")
    checks = {check["id"]: check for check in model["checks"]}
    assert {check["verdict"] for check in checks.values()} == {"pass"}
    assert set(checks) >= {"ready", "slots", "ctx", "api", "mlock", "cpus", "exposure", "restarts"}

    # The same from witnesses that share no code with homellm.
    seen = props(port)
    assert (seen["total_slots"], seen["default_generation_settings"]["n_ctx"]) == (3, 2048)
    inspected = docker_api.inspect_container(f"{prefix}-smol")
    assert inspected["HostConfig"]["RestartPolicy"]["Name"] == "unless-stopped"
    assert inspected["HostConfig"]["CpusetCpus"] == "0"
    assert inspected["Args"][inspected["Args"].index("--threads") + 1] == "1"
    status = Path(f"/proc/{inspected['State']['Pid']}/status").read_text()
    fields = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
    assert fields["Cpus_allowed_list"].strip() == "0"
    assert int(fields["VmLck"].split()[0]) * 1024 > 90_000_000

    again = cli("up", "--format", "json")
    assert again.code == 0, again
    assert only(again)["state"] == "verified"
    assert docker_api.inspect_container(f"{prefix}-smol")["Id"] == inspected["Id"]

    down = cli("down", "--format", "json")
    assert down.code == 0, down
    assert leftovers(docker_api, prefix) == []


def test_a_change_swaps_and_a_model_that_cannot_work_changes_nothing(cli, declare, docker_api, prefix, port, tmp_path):
    declare(parallel=1)
    assert cli("up").code == 0
    declare(parallel=3)
    result = cli("up", "--format", "json")
    assert result.code == 0, result
    assert props(port)["total_slots"] == 3
    assert docker_api.inspect_container(f"{prefix}-smol.prev-1")["State"]["Status"] == "exited"

    declare(parallel=2, extra_args=["--override-kv", "llama.block_count=int:31"])
    failed = cli("up", "--format", "json")
    assert failed.code == 4, failed
    model = only(failed)
    assert (model["state"], model["container"]) == ("failed", f"{prefix}-smol")
    assert props(port)["total_slots"] == 3
    assert set(leftovers(docker_api, prefix)) == {
        f"{prefix}-smol",
        f"{prefix}-smol.failed",
        f"{prefix}-smol.prev-1",
        f"homellm-{prefix}",
    }
    assert docker_api.inspect_container(f"{prefix}-smol")["HostConfig"]["RestartPolicy"]["Name"] == "unless-stopped"
    logs = cli("logs", "smol")
    assert "model loaded" in logs.stdout


def test_dry_run_and_plan_change_nothing(cli, declare, docker_api, prefix):
    declare()
    for verb in (("plan",), ("up", "--dry-run")):
        result = cli(*verb, "--format", "json")
        assert result.code == 0, result
        assert [step["kind"] for step in result.json["steps"]] == [
            "create-network",
            "create",
            "start",
            "verify",
            "set-restart",
            "rename",
        ]
        assert all(step["cause"] for step in result.json["steps"])
    assert cli("plan", "--detailed-exitcode").code == 6
    assert leftovers(docker_api, prefix) == []
    assert cli("up").code == 0
    assert cli("plan", "--detailed-exitcode").code == 0


def test_check_ps_logs_and_restart(cli, declare, docker_api, prefix):
    declare()
    absent = cli("check", "--format", "json")
    assert (absent.code, absent.json["models"][0]["state"]) == (4, "absent"), absent
    assert cli("up").code == 0
    before = docker_api.inspect_container(f"{prefix}-smol")["State"]["StartedAt"]
    check = cli("check", "--format", "json")
    assert check.code == 0, check
    assert only(check)["state"] == "verified"
    restart = cli("restart", "--format", "json")
    assert restart.code == 0, restart
    assert only(restart)["state"] == "verified"
    assert docker_api.inspect_container(f"{prefix}-smol")["State"]["StartedAt"] > before
    assert only(cli("ps", "--format", "json"))["state"] == "verified"
    assert cli("logs", "-n", "2").stdout.count("\n") == 2
    docker_api.stop(f"{prefix}-smol")
    assert only(cli("ps", "--format", "json"))["state"] == "stopped"
    stopped = cli("check", "--format", "json")
    assert stopped.code == 4, stopped


def test_several_models_and_names_as_arguments(cli, stack_file, llama_image, smollm2, docker_api, prefix):
    model = {"source": f"gguf:{smollm2}", "image": llama_image, "ctx": 512}
    ports = {"one": free_port(), "two": free_port()}
    stack_file({name: model | {"port": port} for name, port in ports.items()})
    result = cli("up", "two", "--format", "json")
    assert result.code == 0, result
    assert [m["name"] for m in result.json["models"]] == ["two"]
    assert f"{prefix}-one" not in leftovers(docker_api, prefix)
    result = cli("up", "--format", "json")
    assert result.code == 0, result
    assert {m["name"]: m["state"] for m in result.json["models"]} == {"one": "verified", "two": "verified"}
    followed = cli.start("logs", "--follow")
    followed.wait_for_text("two")
    followed.kill()
    wrong = cli("up", "tow", "--format", "json")
    assert (wrong.code, wrong.json["models"]) == (2, [])
    assert "two" in wrong.json["errors"][0]["hint"]


def test_without_a_port_the_stacks_network_reaches_it(cli, declare, docker_api, llama_image, prefix):
    declare(port=None)
    result = cli("up", "--format", "json")
    assert result.code == 0, result
    assert only(result)["endpoint"] == "http://smol:8080/v1"
    assert docker_api.inspect_container(f"{prefix}-smol")["HostConfig"]["PortBindings"] in (None, {})
    networks = docker_api.inspect_container(f"{prefix}-smol")["NetworkSettings"]["Networks"]
    assert "smol" in networks[f"homellm-{prefix}"]["Aliases"]


def test_a_policy_changed_by_hand_is_put_back(cli, declare, docker_api, prefix):
    declare()
    assert cli("up").code == 0
    docker_api.update_container(f"{prefix}-smol", restart_policy={"Name": "always"})
    assert [s["kind"] for s in cli("plan", "--format", "json").json["steps"]] == ["set-restart"]
    assert cli("up").code == 0
    policy = docker_api.inspect_container(f"{prefix}-smol")["HostConfig"]["RestartPolicy"]["Name"]
    assert policy == "unless-stopped"

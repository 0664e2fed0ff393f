"""What is said of a server while the stack file, or the server itself, is not what it was when `up` proved it."""

from __future__ import annotations

import os
import signal

import pytest

from tests.engine.support.asking import status
from tests.engine.support.ports import free_port
from tests.engine.support.wait import wait_for


@pytest.fixture
def port():
    return free_port()


@pytest.fixture
def declare(stack_file, instant_image, tiny_lfm2, port):
    def write(**keys):
        base = {"source": f"gguf:{tiny_lfm2}", "image": instant_image, "ctx": 512, "port": port}
        return stack_file({"m": {key: value for key, value in (base | keys).items() if value is not None}})

    return write


def look(cli, verb="check"):
    result = cli(verb, "--format", "json")
    (model,) = result.json["models"]
    return result, model


def failed(model):
    return {check["id"] for check in model["checks"] if check["verdict"] == "fail"}


def test_a_server_that_is_open_to_all_is_told_whatever_the_file_was_given_since(cli, declare, port):
    declare(bind="0.0.0.0")
    assert (up := cli("up")).code == 5, up
    declare(bind="0.0.0.0", api_key="abcdef")
    assert status(port, "/props") == 200  # without a key
    result, model = look(cli)
    assert (result.code, failed(model)) == (5, {"exposure", "declaration"}), result
    declare(port=None)
    result, model = look(cli)
    assert (result.code, failed(model)) == (5, {"port", "exposure", "declaration"}), result


@pytest.mark.parametrize("now", ["another", None])
def test_another_key_in_the_file_is_told_and_the_server_is_asked_with_its_own(cli, declare, port, now):
    declare(api_key="abcdef")
    assert (up := cli("up")).code == 0, up
    declare(api_key=now)
    expected = {"declaration"} if now else {"declaration", "exposure"}
    for verb in ("check", "restart"):
        result, model = look(cli, verb)
        assert (result.code, model["state"], failed(model)) == (5, "degraded", expected), result
    result, model = look(cli, "ps")
    assert (model["state"], model["edited"]) == ("unverified", True), result
    assert (applied := cli("up")).code == 0, applied
    result, model = look(cli, "ps")
    assert (model["state"], model["edited"]) == ("verified", False), result


def test_the_port_that_counts_is_the_one_that_the_container_publishes(cli, declare, port):
    declare()
    assert (up := cli("up")).code == 0, up
    declare(port=free_port())
    result, model = look(cli, "ps")
    assert (model["state"], model["edited"]) == ("unverified", True), result
    assert model["endpoint"] == f"http://127.0.0.1:{port}/v1"
    result, model = look(cli)
    assert (result.code, failed(model), model["endpoint"]) == (
        5,
        {"port", "declaration"},
        f"http://127.0.0.1:{port}/v1",
    ), result
    (found,) = cli("endpoints", "--format", "json").json["models"]
    assert (found["running"], found["openai"]["host"]) == (True, f"http://127.0.0.1:{port}/v1")


def test_what_docker_update_changed_is_noticed_by_all_who_look(cli, declare, docker_api, prefix):
    declare()
    assert (up := cli("up")).code == 0, up
    name = f"{prefix}-m"
    docker_api.update_container(name, mem_limit=2 << 30, memswap_limit=2 << 30, restart_policy={"Name": "no"})
    for verb in ("ps", "check"):
        result, model = look(cli, verb)
        assert (result.code, model["state"], failed(model)) == (5, "degraded", {"limits", "restart-policy"}), result
    assert (again := cli("up")).code == 5, again
    assert docker_api.inspect_container(name)["HostConfig"]["RestartPolicy"]["Name"] == "unless-stopped"
    result, model = look(cli)
    assert (result.code, failed(model)) == (5, {"limits"}), result
    assert (anew := cli("up", "--force-recreate")).code == 0, anew
    assert look(cli, "ps")[0].code == 0
    docker_api.update_container(name, cpuset_cpus="0")
    result, model = look(cli, "ps")
    assert (result.code, model["state"], failed(model)) == (5, "degraded", {"limits"}), result


def test_one_that_was_killed_once_and_serves_is_told_so_until_it_is_restarted(cli, declare, docker_api, prefix, port):
    declare()
    assert (up := cli("up")).code == 0, up
    os.kill(docker_api.inspect_container(f"{prefix}-m")["State"]["Pid"], signal.SIGKILL)
    wait_for(lambda: docker_api.inspect_container(f"{prefix}-m")["RestartCount"] == 1, "the engine's own restart")
    wait_for(lambda: status(port, "/health") == 200, "it to serve again")
    result, model = look(cli, "ps")
    assert (result.code, model["state"]) == (0, "unverified"), result
    result, model = look(cli)
    assert (result.code, failed(model)) == (5, {"restarts"}), result
    assert (restart := cli("restart")).code == 0, restart
    assert look(cli)[0].code == 0


def test_a_server_whose_file_is_gone_is_not_stopped(cli, stack_file, instant_image, tiny_lfm2, port, tmp_path):
    own = tmp_path / "weights" / "m.gguf"
    own.parent.mkdir()
    own.write_bytes(tiny_lfm2.read_bytes())
    stack_file({"m": {"source": f"gguf:{own}", "image": instant_image, "ctx": 512, "port": port}})
    assert (up := cli("up")).code == 0, up
    own.unlink()
    result = cli("restart", "--format", "json")
    assert (result.code, [error["id"] for error in result.json["errors"]]) == (4, ["model-missing"]), result
    assert status(port, "/health") == 200

"""`check` on a real engine: Ctrl-C in the midst of its request, and a server that somebody started anew."""

from __future__ import annotations

import signal

import pytest

from tests.engine.support import gate
from tests.engine.support.asking import get, status
from tests.engine.support.gate import Gate
from tests.engine.support.ports import free_port
from tests.engine.support.wait import wait_for


@pytest.fixture
def port():
    return free_port()


@pytest.fixture
def declare(stack_file, instant_image, tiny_lfm2, port):
    def write(**env):
        base = {"source": f"gguf:{tiny_lfm2}", "image": instant_image, "ctx": 512, "port": port}
        return stack_file({"m": base | {"env": env}})

    return write


def state(result):
    (model,) = result.json["models"]
    return model["state"], [error["id"] for error in result.json["errors"]]


def brought_up(cli, docker_api, prefix):
    """Its gate, which was open while `up` proved it."""
    running = cli.start("up")
    Gate(docker_api, f"{prefix}-m.next").open()
    assert (up := running.finish()).code == 0, up
    return Gate(docker_api, f"{prefix}-m")


def test_ctrl_c_ends_a_check_while_its_request_is_under_way(cli, declare, docker_api, prefix, port):
    def at_work():
        return any(slot["is_processing"] for slot in get(port, "/slots"))

    declare(INSTANT_CHAT_WHEN=gate.PATH)
    answers = brought_up(cli, docker_api, prefix)
    answers.shut()
    running = cli.start("check")
    wait_for(at_work, "the request of the check")
    running.signal(signal.SIGINT)
    assert running.finish().code == 130
    assert at_work()


def test_a_check_right_after_a_restart_says_that_it_loads_and_spoils_nothing(cli, declare, docker_api, prefix, port):
    declare(INSTANT_READY_WHEN=gate.PATH)
    loads = brought_up(cli, docker_api, prefix)
    loads.shut()
    docker_api.restart(f"{prefix}-m", timeout=5)
    wait_for(lambda: status(port, "/health") == 503, "the server to load")
    early = cli("check", "--format", "json")
    assert (early.code, *state(early)) == (4, "starting", ["starting"]), early
    assert state(cli("ps", "--format", "json"))[0] == "unverified"
    loads.open()
    wait_for(lambda: status(port, "/health") == 200, "the server to be ready")
    late = cli("check", "--format", "json")
    assert (late.code, *state(late)) == (0, "verified", []), late


def test_a_network_that_somebody_removed_is_named_and_the_way_out_works(cli, declare, docker_api, prefix):
    declare()
    assert (up := cli("up")).code == 0, up
    network = f"homellm-{prefix}"
    docker_api.disconnect_container_from_network(f"{prefix}-m", network, force=True)
    docker_api.remove_network(network)
    checked = cli("check", "--format", "json")
    assert checked.code == 4, checked
    (told,) = [error for error in checked.json["errors"] if error["id"] == "gate-api"]
    assert f"is not in the network {network} any more" in told["hint"]
    assert "homellm up --force-recreate" in told["hint"]
    assert (again := cli("up", "--force-recreate")).code == 0, again

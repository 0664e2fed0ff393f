"""The daemon restarted in the middle, on an engine of the suite's own: nothing is lost."""

from __future__ import annotations

import shutil

import pytest

from tests.engine.support.wait import wait_for


@pytest.fixture
def declare(stack_file, instant_image, tiny_lfm2, tmp_path):
    model = tmp_path / "models" / "tiny.gguf"
    model.parent.mkdir()
    shutil.copy(tiny_lfm2, model)

    def write(**keys):
        base = {"source": f"gguf:{model}", "image": instant_image, "ctx": 512, "pull": "never"}
        return stack_file({"m": base | keys})

    return write


def test_while_a_successor_loads(private_engine, private_cli, declare, prefix):
    """The successor ended with the daemon; the old one, which a swap had stopped, is started and proved."""
    declare(parallel=1)
    first = private_cli("up", "--format", "json")
    assert first.code == 0, first
    declare(parallel=3, env={"INSTANT_READY_AFTER_S": "600", "INSTANT_TALK_WHILE_LOADING": "1"})
    running = private_cli.start("up", "--format", "json")

    def loading():
        found = private_engine.api.containers(filters={"name": f"{prefix}-m.next", "status": "running"})
        return bool(found)

    wait_for(loading, "the successor to load")
    private_engine.restart()
    result = running.finish()
    assert result.code == 4, result
    (model,) = result.json["models"]
    assert (model["state"], model["container"]) == ("failed", f"{prefix}-m"), result
    inspected = private_engine.api.inspect_container(f"{prefix}-m")
    assert inspected["State"]["Running"]
    assert inspected["HostConfig"]["RestartPolicy"]["Name"] == "unless-stopped"
    assert inspected["Args"][inspected["Args"].index("--parallel") + 1] == "1"


def test_what_is_committed_comes_back_by_itself_and_is_proved_anew(private_engine, private_cli, declare, prefix):
    declare(parallel=2)
    assert private_cli("up").code == 0
    private_engine.restart()
    wait_for(
        lambda: private_engine.api.inspect_container(f"{prefix}-m")["State"]["Running"], "the container to come back"
    )
    ps = private_cli("ps", "--format", "json")
    assert ps.json["models"][0]["state"] == "unverified", ps
    again = private_cli("up", "--format", "json")
    assert again.code == 0, again
    assert again.json["models"][0]["state"] == "verified"

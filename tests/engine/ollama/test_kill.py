"""SIGKILL and Ctrl-C on every rung of the ladder: the next `up` goes on, and nothing stray is left."""

from __future__ import annotations

import pytest

from tests.engine.support.ollama_stack import SLOTS, by_name, chat
from tests.engine.support.sweep import leftovers
from tests.engine.support.wait import wait_for


@pytest.fixture
def on_rung(canary, ollama_format_lfm2, tiny_lfm2, make_ollama):
    """Declares the hybrid so that it ends on that rung."""

    def declare(rung):
        canary.declare("hybrid", port=canary.moved_port)
        if rung != "llama-server":
            canary.store.add("hybrid", ollama_format_lfm2)
        if rung == "source":
            canary.image, canary.env = make_ollama(env={"STANDIN_NO_COMPAT": "1"}), {"STANDIN_NO_COMPAT": ""}
            canary.declare("hybrid", fallback_source=f"gguf:{tiny_lfm2}")
        canary.file()
        return canary

    return declare


def settled(canary, docker_api, prefix, rung):
    """One more `up`, and the right servers under their names with nothing beside them."""
    result = canary.up()
    assert result.code == 0, result
    (model,) = by_name(result).values()
    assert (model["state"], model["fallback"]["rung"]) == ("verified", rung)
    assert model["checks"]["slots"]["observed"] == SLOTS
    assert chat(canary.moved_port, "hybrid") == 200
    assert leftovers(docker_api, prefix) == [f"homellm-{prefix}", f"{prefix}-hybrid", f"{prefix}-main"]
    for name in ("hybrid", "main"):
        policy = docker_api.inspect_container(f"{prefix}-{name}")["HostConfig"]["RestartPolicy"]["Name"]
        assert policy == "unless-stopped"


# The second container is the successor; of the source it is the third, after the image's own server has failed.
@pytest.mark.parametrize(
    ("rung", "where"),
    [
        ("llama-server", "start:2:after"),
        ("bundled", "create:2:after"),
        ("source", "rename:2:after"),  # the rung before has failed and lies aside
    ],
)
def test_sigkill(on_rung, docker_api, prefix, rung, where):
    canary = on_rung(rung)
    killed = canary.cli.halted(f"{where}:SIGKILL", "up")
    assert killed.code == -9, killed
    settled(canary, docker_api, prefix, rung)


@pytest.mark.parametrize(("rung", "where"), [("llama-server", "start:2:before"), ("bundled", "rename:2:before")])
def test_ctrl_c(on_rung, docker_api, prefix, rung, where):
    canary = on_rung(rung)
    interrupted = canary.cli.halted(f"{where}:SIGINT", "up")
    assert interrupted.code == 130, interrupted
    running = {name for row in docker_api.containers() for name in row["Names"] if prefix in name}
    committed = where.startswith("rename")  # what was proved is finished
    assert running == {f"/{prefix}-main"} | ({f"/{prefix}-hybrid"} if committed else set())
    settled(canary, docker_api, prefix, rung)


def test_ctrl_c_while_ollama_loads_does_not_wait_for_it(canary, ollama_log, docker_api, prefix):
    canary.env = {"STANDIN_LOAD_DELAY_S": "600"}
    canary.declare("hybrid", port=canary.moved_port)
    canary.file()
    running = canary.cli.start("up")
    wait_for(lambda: "loading, by Ollama" in running.stdout + running.stderr and ollama_log.loads(), "the load")
    running.signal(2)
    assert running.finish().code == 130
    assert ollama_log.loads() == 1
    assert leftovers(docker_api, prefix) == [f"homellm-{prefix}", f"{prefix}-main"]

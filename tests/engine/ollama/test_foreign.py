"""An Ollama that is not homellm's: used by its URL, its slots read from its log; it is never started or stopped."""

from __future__ import annotations

import docker
import pytest

from tests.engine.support.ollama_stack import CTX, SLOTS, by_name, chat
from tests.engine.support.sweep import leftovers


@pytest.fixture
def foreign(canary, run_ollama):
    """The canary's store behind an Ollama of somebody else's; its URL is all that the stack says of it."""

    def run(**more):
        server = run_ollama(env={"OLLAMA_NUM_PARALLEL": str(SLOTS)}, **more)
        canary.server = {"url": server.url, "log_from": f"docker:{server.name}"}
        canary.server |= {"image": None, "pull": None, "port": None}
        return server

    return run


def test_what_it_refuses_moves_and_what_it_gives_stays(canary, foreign, docker_api, prefix):
    for name in (
        "plain",
        "hybrid",
    ):  # with the context in them: homellm alters no model of a server that is not its own
        canary.store.add(name, canary.store.blob(name), params={"num_ctx": CTX})
    server = foreign(store=canary.store.root)
    canary.both()
    result = canary.up()
    assert result.code == 0, result
    models = by_name(result)
    assert (models["plain"]["runner"], models["plain"]["container"]) == ("ollama", None)
    assert models["plain"]["endpoint"] == f"{server.url}/v1"
    assert models["plain"]["checks"]["slots"]["observed"] == SLOTS
    assert (models["hybrid"]["runner"], models["hybrid"]["fallback"]["rung"]) == ("llama-server", "llama-server")
    assert chat(canary.moved_port, "hybrid") == 200
    assert leftovers(docker_api, prefix) == [f"homellm-{prefix}", f"{prefix}-hybrid", server.name]

    # What was learned is kept for it outside: nothing is loaded again, and after its restart only what it serves.
    before = server.log().count('msg="starting llama-server"')
    again = canary.up()
    assert (again.code, server.log().count('msg="starting llama-server"')) == (0, before), again
    docker_api.restart(server.id, timeout=5)
    server.ready()
    booted = canary.up()
    assert (booted.code, server.log().count("does not currently support parallel")) == (0, 1), booted
    assert canary.cli("check").code == 0
    down = canary.cli("down")
    assert down.code == 0, down
    assert (leftovers(docker_api, prefix), server.state()["Running"]) == ([server.name], True)


def test_a_store_that_cannot_be_written(canary, foreign, ollama_registry, another_lfm2):
    """Neither a pull nor a copy is possible; what is there under its name can be served."""
    name = ollama_registry.add("tiny:1", another_lfm2)
    canary.store.add("plain", canary.store.blob("plain"), params={"num_ctx": CTX})
    store = docker.types.Mount("/root/.ollama/models", str(canary.store.models), type="bind", read_only=True)
    foreign(mounts=[store])
    canary.server["store"] = str(canary.store.root)
    canary.declare("tiny", source=f"ollama:{name}", pull="missing", port=canary.moved_port)
    canary.declare("copied", source="ollama:plain")
    canary.declare("plain")
    result = canary.up()
    assert result.code == 4, result
    models, errors = by_name(result), {error["model"]: error for error in result.json["errors"]}
    assert models["plain"]["state"] == "verified"
    assert errors.keys() == {"tiny", "copied"}
    assert all("read-only file system" in error["message"] for error in errors.values()), errors


def test_nobody_there(canary, docker_api, prefix):
    canary.server = {"url": "http://127.0.0.1:9", "store": None, "image": None, "pull": None, "port": None}
    canary.declare("plain")
    result = canary.up()
    assert result.code == 4, result
    (error,) = result.json["errors"]
    assert "http://127.0.0.1:9" in error["message"]
    assert leftovers(docker_api, prefix) == []

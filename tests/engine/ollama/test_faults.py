"""Bad luck on the way up the ladder: one clear message, what served before serves on, and the next `up` goes on."""

from __future__ import annotations

import threading
from contextlib import contextmanager

from tests.engine.support.ollama_stack import SLOTS, ask, by_name, chat
from tests.engine.support.sweep import leftovers
from tests.engine.support.wait import wait_for


def only(result):
    (model,) = by_name(result).values()
    return model


def error_of(result, code=4):
    assert result.code == code, result
    (error,) = result.json["errors"]
    return error


def test_ollama_killed_while_it_loads(canary, docker_api, prefix, ollama_log):
    canary.env = {"STANDIN_LOAD_DELAY_S": "60"}
    canary.declare("hybrid", port=canary.moved_port)
    canary.file()
    running = canary.cli.start("up", "--format", "json")
    wait_for(lambda: started(docker_api, prefix) and ollama_log.loads() == 1, "the load to begin")
    docker_api.kill(f"{prefix}-main")
    error = error_of(running.finish())
    assert "Ollama" in error["message"]
    canary.env = {}
    again = canary.up()
    assert (again.code, only(again)["runner"]) == (0, "llama-server"), again


def test_a_child_that_dies_while_it_loads_is_no_refusal(canary, ollama_log):
    """It is told with its reason, and what it did not say is not remembered."""
    canary.env = {"STANDIN_DIE": "4:lfm2"}
    canary.declare("hybrid", port=canary.moved_port)
    error = error_of(canary.up())
    assert error["model"] == "hybrid"
    assert "illegal instruction" in error["message"]
    assert error_of(canary.up())["id"] == error["id"]
    assert ollama_log.loads() == 2


def test_ollama_killed_while_it_pulls(canary, docker_api, prefix, ollama_registry, another_lfm2):
    name = ollama_registry.add("tiny:1", another_lfm2)
    ollama_registry.rate_bytes_s = 100_000  # it lasts until its Ollama is killed
    canary.declare("tiny", source=f"ollama:{name}", pull="missing", port=canary.moved_port)
    canary.file()
    running = canary.cli.start("up", "--format", "json")
    wait_for(lambda: any("/data/" in asked.path for asked in ollama_registry.requests), "the pull to begin")
    docker_api.kill(f"{prefix}-main")
    error = error_of(running.finish())
    assert error["model"] == "tiny"
    ollama_registry.rate_bytes_s = 0
    again = canary.up()
    assert (again.code, only(again)["fallback"]["rung"]) == (0, "llama-server"), again
    assert chat(canary.moved_port, "tiny") == 200


def test_weights_that_vanish_before_the_successor_reads_them(canary, ollama_log):
    """The blob is there when Ollama loads it and gone when llama-server is to: it stays, and says why."""
    canary.declare("hybrid", port=canary.moved_port, fallback="none")
    assert canary.up().code == 5
    canary.declare("hybrid", fallback="llama-server")
    canary.store.blob("hybrid").rename(canary.store.root / "away")
    error = error_of(canary.up())
    assert error["id"] == "model-blob-missing"
    assert canary.store.blob("hybrid").name[7:19] in error["message"]
    (canary.store.root / "away").rename(canary.store.blob("hybrid"))
    back = canary.up()
    assert (back.code, only(back)["runner"]) == (0, "llama-server"), back


def test_a_client_that_hammers_the_model_while_it_moves(canary, docker_api, prefix):
    """It goes on to use Ollama, so the model is there as well afterwards, which is told; the move itself holds."""
    canary.declare("hybrid", port=canary.moved_port)
    with hammering(canary.port, "hybrid") as answered:
        result = canary.up()
        model = only(result)
        assert result.code in (0, 5), result
        assert (model["runner"], model["fallback"]["rung"]) == ("llama-server", "llama-server")
        assert model["checks"]["slots"]["observed"] == SLOTS
        wait_for(lambda: 200 in answered, "an answer of Ollama's")
        # `up` had Ollama unload it, and its next load takes its time.
        wait_for(lambda: canary.ask_ollama("/api/ps")["models"], "the client to have it loaded again")
        check = canary.cli("check", "--format", "json")
        assert by_name(check)["hybrid"]["checks"]["shadow-load"]["verdict"] == "fail", check
    assert leftovers(docker_api, prefix) == [f"homellm-{prefix}", f"{prefix}-hybrid", f"{prefix}-main"]
    quiet = canary.up()
    assert quiet.code == 0, quiet


def started(api, prefix):
    return any(f"/{prefix}-main" in row["Names"] for row in api.containers())


@contextmanager
def hammering(port, model):
    """A client that asks again and again, from before there is anybody to answer; the statuses that it got."""
    answered, over = [], threading.Event()

    def ask_on():
        while not over.wait(0.02):
            body = {"model": model, "max_tokens": 1, "messages": [{"role": "user", "content": "Hi"}]}
            answered.append(ask(f"http://127.0.0.1:{port}/v1/chat/completions", body)[0])

    client = threading.Thread(target=ask_on, daemon=True)
    client.start()
    try:
        yield answered
    finally:
        over.set()
        client.join(60)

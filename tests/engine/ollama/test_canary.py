"""The canary: two models on one Ollama. The hybrid gets one slot and moves, the plain one gets three and stays."""

from __future__ import annotations

import json
import urllib.request
from datetime import UTC, datetime

from tests.engine.support.ollama_stack import CTX, SLOTS, by_name, chat
from tests.engine.support.sweep import leftovers

REFUSED = 'msg="model architecture does not currently support parallel requests" architecture=lfm2'


def props(port):
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/props", timeout=60) as reply:
        seen = json.load(reply)
    return seen["total_slots"], seen["default_generation_settings"]["n_ctx"]


def test_the_hybrid_moves_and_the_plain_one_stays(canary, ollama_log, docker_api, prefix, smollm2):
    canary.store.add("smol", smollm2)
    canary.both("smol")
    begun = datetime.now(UTC).replace(microsecond=0)
    result = canary.up()
    assert result.code == 0, result
    models = by_name(result)
    smol, hybrid = models["smol"], models["hybrid"]
    assert (smol["state"], smol["runner"], smol["container"]) == ("verified", "ollama", f"{prefix}-main")
    assert (smol["fallback"], smol["endpoint"]) == (None, f"http://127.0.0.1:{canary.port}/v1")
    assert (hybrid["state"], hybrid["runner"]) == ("verified", "llama-server")
    assert (hybrid["container"], hybrid["endpoint"]) == (
        f"{prefix}-hybrid",
        f"http://127.0.0.1:{canary.moved_port}/v1",
    )
    for model in (smol, hybrid):
        assert model["checks"]["slots"]["observed"] == SLOTS, model
        assert model["checks"]["ctx"]["observed"] == CTX, model
        assert {check["verdict"] for check in model["checks"].values()} == {"pass"}, model
    fallback = hybrid["fallback"]
    assert fallback.keys() == {"from", "reason", "line", "rung", "since"}
    assert (fallback["from"], fallback["rung"]) == ("ollama", "llama-server")
    assert fallback["line"] in ollama_log.lines()
    assert REFUSED in fallback["line"]
    assert "asked Ollama 0.33.0 for 3 slots, got 1: architecture lfm2" in fallback["reason"]
    assert begun <= datetime.fromisoformat(fallback["since"]) <= datetime.now(UTC)

    # The same from witnesses that share no code with homellm.
    assert props(canary.moved_port) == (SLOTS, CTX)
    args = docker_api.inspect_container(f"{prefix}-hybrid")["Args"]
    assert args[args.index("--model") + 1].endswith(canary.store.blob("hybrid").name)
    assert chat(canary.moved_port, "hybrid") == chat(canary.port, "smol") == 200
    assert [model["name"] for model in canary.ask_ollama("/api/ps")["models"]] == ["smol:latest"]
    assert leftovers(docker_api, prefix) == [f"homellm-{prefix}", f"{prefix}-hybrid", f"{prefix}-main"]

    # Again, with nothing changed: nothing is loaded, nothing is started, and both are seen to be as declared.
    loads, started = ollama_log.loads(), started_at(docker_api, prefix)
    assert loads == 2
    again = canary.up()
    assert again.code == 0, again
    assert {name: model["state"] for name, model in by_name(again).items()} == {
        "smol": "verified",
        "hybrid": "verified",
    }
    assert by_name(again)["hybrid"]["fallback"] == fallback
    assert (ollama_log.loads(), started_at(docker_api, prefix)) == (loads, started)

    # After a reboot the plain one is loaded, and the moved one is not asked for.
    for name in ("main", "hybrid"):
        docker_api.restart(f"{prefix}-{name}", timeout=5)
    booted = canary.up()
    assert booted.code == 0, booted
    assert by_name(booted)["hybrid"]["fallback"] == fallback
    assert (ollama_log.loads(), ollama_log.refusals()) == (loads + 1, 1)

    retried = canary.up("--retry-ollama")
    assert retried.code == 0, retried
    assert (ollama_log.loads(), ollama_log.refusals()) == (loads + 2, 2)
    newer = by_name(retried)["hybrid"]["fallback"]
    assert datetime.fromisoformat(newer["since"]) > datetime.fromisoformat(fallback["since"])
    assert canary.up().code == 0
    assert ollama_log.refusals() == 2


def test_a_new_version_asks_again_and_one_that_gives_the_slots_gets_the_model_back(
    canary, ollama_log, docker_api, prefix
):
    canary.declare("hybrid", port=canary.moved_port)
    assert canary.up().code == 0
    moved = docker_api.inspect_container(f"{prefix}-hybrid")["Id"]

    canary.env["STANDIN_VERSION"] = "0.34.0"
    newer = canary.up()
    assert newer.code == 0, newer
    assert "Ollama 0.34.0" in by_name(newer)["hybrid"]["fallback"]["reason"]
    assert ollama_log.refusals() == 1  # of this container, which is new
    assert docker_api.inspect_container(f"{prefix}-hybrid")["Id"] == moved
    again = canary.up()
    assert again.code == 0, again
    assert ollama_log.refusals() == 1
    assert "Ollama 0.34.0" in by_name(again)["hybrid"]["fallback"]["reason"]

    canary.env |= {"STANDIN_VERSION": "0.35.0", "STANDIN_PERMIT": "lfm2"}
    back = canary.up()
    assert back.code == 0, back
    hybrid = by_name(back)["hybrid"]
    assert (hybrid["state"], hybrid["runner"], hybrid["fallback"]) == ("verified", "ollama", None)
    assert hybrid["checks"]["slots"]["observed"] == SLOTS
    assert chat(canary.port, "hybrid") == 200
    kept = {f"{prefix}-main", f"{prefix}-main.prev-1", f"{prefix}-main.prev-2", f"homellm-{prefix}"}
    assert set(leftovers(docker_api, prefix)) == kept
    assert canary.up().code == 0


def test_a_changed_model_asks_again(canary, ollama_log, tiny_lfm2):
    canary.declare("hybrid", port=canary.moved_port)
    assert canary.up().code == 0
    canary.store.add("hybrid", tiny_lfm2, params={"temperature": 0.5})
    result = canary.up()
    assert result.code == 0, result
    assert ollama_log.refusals() == 2
    args = ollama_log.api.inspect_container(by_name(result)["hybrid"]["container"])["Args"]
    assert args[args.index("--temp") + 1] == "0.5"


def test_a_client_that_loads_a_moved_model_in_ollama_again_is_told(canary, docker_api, prefix):
    canary.declare("hybrid", port=canary.moved_port)
    assert canary.up().code == 0
    canary.ask_ollama("/api/generate", {"model": "hybrid", "keep_alive": -1, "stream": False})
    result = canary.cli("check", "--format", "json")
    assert result.code == 5, result
    shadow = by_name(result)["hybrid"]["checks"]["shadow-load"]
    assert (shadow["asked"], shadow["observed"], shadow["verdict"]) == (False, True, "fail")
    assert "endpoint" in shadow["hint"]
    up = canary.up()
    assert up.code == 0, up
    assert canary.ask_ollama("/api/ps")["models"] == []
    assert (checked := canary.cli("check")).code == 0, checked


def started_at(api, prefix):
    return [api.inspect_container(f"{prefix}-{name}")["State"]["StartedAt"] for name in ("main", "hybrid")]

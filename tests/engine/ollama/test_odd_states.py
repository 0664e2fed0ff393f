"""An Ollama that was killed, stopped or taken down under its models: `ps`, `check` and `up` tell the same of it."""

from __future__ import annotations

import os
import signal

from tests.engine.support.ollama_stack import CTX, SLOTS, by_name
from tests.engine.support.wait import wait_for


def told(canary, verb):
    """The exit code of a verb, and of each model its state and the checks that did not pass."""
    result = canary.cli(verb, "--format", "json")
    models = by_name(result)
    checks = {
        name: {one["id"] for one in model["checks"].values() if one["verdict"] not in ("pass", "not-applicable")}
        for name, model in models.items()
    }
    return result.code, {name: model["state"] for name, model in models.items()}, checks


def killed(docker_api, name):
    """SIGKILL to the server's own process, as the kernel does it; returns once the engine has started it again."""
    before = docker_api.inspect_container(name)["State"]
    os.kill(before["Pid"], signal.SIGKILL)

    def again():
        now = docker_api.inspect_container(name)["State"]
        return now["Running"] and now["StartedAt"] != before["StartedAt"]

    wait_for(again, f"{name} to be started again", 60)


def test_a_server_that_was_killed_and_came_back(canary, docker_api, prefix):
    canary.both()
    assert canary.up().code == 0
    killed(docker_api, f"{prefix}-main")
    wait_for(lambda: canary.ask_ollama("/api/tags") and told(canary, "ps")[1]["plain"] != "failed", "it to answer", 60)
    assert told(canary, "ps")[1] == {"plain": "unverified", "hybrid": "verified"}

    # Nothing is in memory: the first check loads it, and finds what the second finds.
    found = (5, {"plain": "degraded", "hybrid": "verified"}, {"plain": {"restarts"}, "hybrid": set()})
    assert told(canary, "check") == found
    assert told(canary, "check") == found
    assert told(canary, "ps")[:2] == found[:2]
    up = canary.up()
    assert (up.code, by_name(up)["plain"]["checks"]["slots"]["observed"]) == (5, SLOTS), up
    assert told(canary, "ps")[:2] == found[:2]

    assert canary.cli("restart", "plain").code == 0
    assert told(canary, "ps")[:2] == told(canary, "check")[:2] == (0, {"plain": "verified", "hybrid": "verified"})


def test_what_is_not_there_is_told_alike(canary, docker_api, prefix):
    canary.both()
    canary.file()
    absent = {"plain": "absent", "hybrid": "absent"}
    assert told(canary, "ps")[:2] == (0, absent)
    assert told(canary, "check")[:2] == (4, absent)
    assert canary.up().code == 0

    assert canary.cli("down", "hybrid").code == 0
    assert told(canary, "ps")[:2] == (0, {"plain": "verified", "hybrid": "absent"})
    assert told(canary, "check")[:2] == (4, {"plain": "verified", "hybrid": "absent"})
    assert canary.up().code == 0

    docker_api.stop(f"{prefix}-main")
    assert told(canary, "ps")[:2] == (5, {"plain": "stopped", "hybrid": "degraded"})
    assert told(canary, "check")[:2] == (4, {"plain": "failed", "hybrid": "degraded"})
    assert canary.up().code == 0
    assert told(canary, "ps")[1] == told(canary, "check")[1] == {"plain": "verified", "hybrid": "verified"}


def test_a_restart_looks_first(canary, docker_api, prefix):
    canary.both()
    assert canary.up().code == 0
    began = {
        name: docker_api.inspect_container(f"{prefix}-{name}")["State"]["StartedAt"] for name in ("main", "hybrid")
    }
    lost = {name: canary.store.blob(name) for name in ("plain", "hybrid")}
    for blob in lost.values():
        blob.rename(blob.with_suffix(".away"))
    refused = canary.cli("restart", "--format", "json")
    assert refused.code == 4, refused
    errors = {error["model"]: error["id"] for error in refused.json["errors"]}
    assert errors == {"plain": "model-blob-missing", "hybrid": "model-blob-missing"}
    for name, at in began.items():
        assert docker_api.inspect_container(f"{prefix}-{name}")["State"]["StartedAt"] == at
    for blob in lost.values():
        blob.with_suffix(".away").rename(blob)
    again = canary.cli("restart", "--format", "json")
    assert again.code == 0, again
    assert {model["runner"] for model in again.json["models"]} == {"ollama", "llama-server"}
    for name, at in began.items():
        assert docker_api.inspect_container(f"{prefix}-{name}")["State"]["StartedAt"] != at


def test_what_the_file_says_by_now_and_what_docker_update_changed_are_told(canary, docker_api, prefix):
    def stated(verb):
        result = canary.cli(verb, "--format", "json")
        return {name: (model["state"], model.get("edited")) for name, model in by_name(result).items()}

    canary.declare("plain")
    assert canary.up().code == 0
    assert stated("ps") == {"plain": ("verified", False)}

    canary.declare("plain", ctx=str(CTX), parallel=str(SLOTS))  # in quotes
    canary.file()
    assert stated("ps") == {"plain": ("verified", False)}

    canary.declare("plain", ctx=2 * CTX)
    canary.file()
    assert stated("ps") == {"plain": ("unverified", True)}
    (of_server, _) = canary.cli("plan", "--format", "json").json["summary"]
    assert of_server["because"] == f"ctx of its models {CTX} → {2 * CTX}"
    assert canary.up().code == 0
    assert stated("ps") == {"plain": ("verified", False)}

    docker_api.update_container(f"{prefix}-main", mem_limit=4 << 30, memswap_limit=4 << 30)
    for verb in ("ps", "check"):
        code, states, failed = told(canary, verb)
        assert (code, states, failed) == (5, {"plain": "degraded"}, {"plain": {"limits"}})
    assert canary.up().code == 5

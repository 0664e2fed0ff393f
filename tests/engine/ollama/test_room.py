"""Memory that holds one copy of a model and not two: Ollama lets go of its own before the successor starts."""

from __future__ import annotations

import signal

import pytest

from tests.engine.support.ollama_stack import by_name, chat
from tests.engine.support.sweep import leftovers
from tests.engine.support.wait import wait_for
from tests.fakes.host_tree import build

#: Long enough that its cache is most of what the tiny model needs.
CTX = 32768
KIB = 1024


@pytest.fixture
def machine(canary, tmp_path):
    """Declares the hybrid on a machine with so much more memory than one more copy needs, in bytes (or less)."""

    def having(spare_bytes, image):
        canary.declare("hybrid", port=canary.moved_port, ctx=CTX, image=image)
        canary.file()
        need = canary.cli("fit", "hybrid", "--format", "json").json
        (place,) = need["devices"]
        free = place["used_bytes"] + place["fit_target_bytes"] + spare_bytes
        tree = build(f"cpus 0-1\nnuma 0-1\nmemory {2 * free // KIB} {free // KIB}\n", tmp_path / "machine")
        canary.cli.env["HOMELLM_HOST_ROOT"] = str(tree.root)
        return place["used_bytes"]

    return having


def in_ollama(canary):
    return [row["name"] for row in canary.ask_ollama("/api/ps")["models"]]


@pytest.mark.parametrize(("short", "kept"), [(True, []), (False, ["hybrid:latest"])])
def test_ollamas_copy_goes_first_where_two_do_not_fit(canary, machine, make_instant, docker_api, prefix, short, kept):
    loading = make_instant(env={"INSTANT_READY_AFTER_S": "600", "INSTANT_TALK_WHILE_LOADING": "1"})
    need = machine(0, loading)
    machine(-need // 2 if short else need, loading)
    running = canary.cli.start("up")
    wait_for(
        lambda: docker_api.containers(filters={"name": f"{prefix}-hybrid.next", "status": "running"}),
        "the successor to load",
        60,
    )
    assert in_ollama(canary) == kept
    running.signal(signal.SIGINT)
    assert running.finish().code == 130


def test_it_comes_back_when_the_successor_fails(
    canary, machine, make_ollama, ollama_format_lfm2, docker_api, prefix, ollama_log
):
    """A file that Ollama's server alone reads, and not even that one by itself: two loads in Ollama, no successor."""
    canary.store.add("hybrid", ollama_format_lfm2)
    canary.image, canary.env = make_ollama(env={"STANDIN_NO_COMPAT": "1"}), {"STANDIN_NO_COMPAT": ""}
    machine(-machine(0, canary.llama_image) // 2, canary.llama_image)
    result = canary.up()
    assert result.code == 5, result
    (model,) = by_name(result).values()
    assert (model["state"], model["runner"]) == ("degraded", "ollama")
    assert in_ollama(canary) == ["hybrid:latest"]
    assert ollama_log.loads() == 2
    assert chat(canary.port, "hybrid") == 200
    assert leftovers(docker_api, prefix) == [f"homellm-{prefix}", f"{prefix}-main"]


def test_a_llama_server_that_leaves_ollama_no_room_is_refused(canary, tmp_path, tiny_lfm2):
    """What both need is more than the machine has: counted before anything is started, by the blob in the store."""
    canary.declare("plain", ctx=CTX)
    canary.declare("own", runner="llama-server", source=f"gguf:{tiny_lfm2}", port=canary.moved_port, ctx=CTX)
    canary.file()
    used = [canary.cli("fit", name, "--format", "json").json["devices"][0]["used_bytes"] for name in ("plain", "own")]

    def having(total_bytes):
        tree = build(
            f"cpus 0-1\nnuma 0-1\nmemory {total_bytes // KIB} {total_bytes // KIB}\n", tmp_path / f"{total_bytes}"
        )
        canary.cli.env["HOMELLM_HOST_ROOT"] = str(tree.root)
        result = canary.up()
        return result, {name: model["state"] for name, model in by_name(result).items()}

    result, states = having(sum(used) - KIB * KIB)
    assert (result.code, states) == (4, {"plain": "verified", "own": "failed"}), result
    (error,) = result.json["errors"]
    assert (error["id"], error["model"]) == ("does-not-fit", "own")
    assert "own needs" in error["message"]
    assert "MiB of system memory and plain" in error["message"]
    result, states = having(sum(used) + 2 * 1024 * KIB * KIB)
    assert (result.code, states) == (0, {"plain": "verified", "own": "verified"}), result

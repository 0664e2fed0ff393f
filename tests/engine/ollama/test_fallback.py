"""What `fallback`, slots, context and sources of a model on Ollama mean, each on the real engine."""

from __future__ import annotations

import gguf

from tests.engine.support.ollama_stack import CTX, SLOTS, ask, by_name, chat
from tests.engine.support.sizing_models import Shape, write
from tests.engine.support.sweep import leftovers


def only(result):
    (model,) = by_name(result).values()
    return model


def test_none_keeps_it_there_with_one_slot(canary, docker_api, prefix):
    canary.declare("hybrid", port=canary.moved_port, fallback="none")
    result = canary.up()
    assert result.code == 5, result
    model = only(result)
    assert (model["state"], model["runner"]) == ("degraded", "ollama")
    assert (model["checks"]["slots"]["observed"], model["checks"]["slots"]["verdict"]) == (1, "fail")
    assert (model["fallback"]["rung"], chat(canary.port, "hybrid")) == ("ollama", 200)
    assert leftovers(docker_api, prefix) == [f"homellm-{prefix}", f"{prefix}-main"]
    table = canary.cli("up")
    assert table.code == 5, table
    assert "fallback: none" in table.stdout

    # Without it the model moves, and with it again it comes back.
    canary.declare("hybrid", fallback=None)
    assert only(canary.up())["runner"] == "llama-server"
    canary.models["hybrid"]["fallback"] = "none"
    back = canary.up()
    assert (back.code, only(back)["runner"]) == (5, "ollama"), back
    assert leftovers(docker_api, prefix) == [f"homellm-{prefix}", f"{prefix}-main"]


def test_predict_moves_without_a_trial(canary, ollama_log):
    canary.declare("hybrid", port=canary.moved_port, fallback="predict")
    result = canary.up()
    assert result.code == 0, result
    model = only(result)
    assert (model["state"], model["runner"]) == ("verified", "llama-server")
    assert "is known to give lfm2 one slot; it was not asked" in model["fallback"]["reason"]
    assert (ollama_log.loads(), model["fallback"]["line"]) == (0, "")
    assert canary.up().code == 0
    assert ollama_log.loads() == 0


def test_embeddings_get_one_slot_without_a_word_and_move(canary, ollama_log, tmp_path):
    """The count decides, and no reason is made up."""
    write(tmp_path / "embed.gguf", Shape("llama", extra={"llama.pooling_type": int(gguf.PoolingType.LAST)}))
    canary.store.add("embed", tmp_path / "embed.gguf")
    canary.declare("embed", port=canary.moved_port)
    result = canary.up()
    assert result.code == 0, result
    model = only(result)
    assert (model["state"], model["runner"]) == ("verified", "llama-server")
    assert (ollama_log.refusals(), model["fallback"]["line"]) == (0, "")
    assert "got 1: Ollama gave one slot and said nothing" in model["fallback"]["reason"]
    url = f"http://127.0.0.1:{canary.moved_port}/v1/embeddings"
    status, answer = ask(url, {"model": "embed", "input": "a fine day"})
    assert (status, len(answer["data"][0]["embedding"])) == (200, 256)


def test_one_slot_is_what_everybody_gets(canary, ollama_log, docker_api, prefix):
    canary.declare("hybrid", parallel=1, ctx=256)
    result = canary.up()
    assert result.code == 0, result
    model = only(result)
    assert (model["state"], model["runner"], model["fallback"]) == ("verified", "ollama", None)
    assert (model["checks"]["slots"]["observed"], model["checks"]["ctx"]["observed"]) == (1, 256)
    assert f"{prefix}-hybrid" not in leftovers(docker_api, prefix)


def test_names_and_contexts_that_differ_are_made_in_ollama(canary, ollama_log, tiny_lfm2):
    """A source under another name is a copy of it, another context a model derived from it; a file is created."""
    canary.env = {"STANDIN_PERMIT": "all"}
    canary.declare("chat", source="ollama:hybrid")
    canary.declare("chat-too", source="ollama:hybrid")
    canary.declare("long", source="ollama:plain", ctx=1024)
    canary.declare("made", source=f"gguf:{tiny_lfm2}")
    result = canary.up()
    assert result.code == 0, result
    models = by_name(result)
    for name, ctx in {"chat": CTX, "chat-too": CTX, "long": 1024, "made": CTX}.items():
        checks = models[name]["checks"]
        assert (models[name]["state"], models[name]["runner"]) == ("verified", "ollama"), name
        assert (checks["slots"]["observed"], checks["ctx"]["observed"]) == (SLOTS, ctx), name
        assert chat(canary.port, name) == 200
    tags = {row["name"]: row["digest"] for row in canary.ask_ollama("/api/tags")["models"]}
    assert tags["chat:latest"] == tags["chat-too:latest"] == tags["hybrid:latest"]
    assert canary.store.blob("long") == canary.store.blob("plain")
    assert "num_ctx" in canary.ask_ollama("/api/show", {"model": "long"})["parameters"]
    loads = ollama_log.loads()
    again = canary.up()
    assert again.code == 0, again
    assert ollama_log.loads() == loads
    assert {row["name"]: row["digest"] for row in canary.ask_ollama("/api/tags")["models"]} == tags


def test_a_name_that_the_store_has_for_another_model_is_not_taken(canary, tiny_lfm2):
    canary.declare("plain", source=f"gguf:{tiny_lfm2}")
    before = canary.store.manifest("plain")
    result = canary.up()
    assert result.code == 4, result
    (error,) = result.json["errors"]
    assert (error["id"], error["model"]) == ("name-in-store", "plain")
    assert canary.store.manifest("plain") == before


def test_a_num_ctx_of_a_clients_own_is_named(canary):
    canary.declare("plain")
    assert canary.up().code == 0
    canary.ask_ollama("/api/generate", {"model": "plain", "stream": False, "options": {"num_ctx": 256}})
    (loaded,) = canary.ask_ollama("/api/ps")["models"]
    assert loaded["context_length"] == 256
    check = canary.cli("check", "--format", "json")
    checks = only(check)["checks"]
    assert (checks["ctx-forced"]["asked"], checks["ctx-forced"]["observed"]) == (CTX, 256)
    assert "num_ctx 256" in checks["ctx-forced"]["hint"]
    up = canary.up()
    assert up.code == 5, up
    (loaded,) = canary.ask_ollama("/api/ps")["models"]
    assert loaded["context_length"] == CTX


def test_an_old_ollama_tells_the_slots_of_its_commit(canary, ollama_log):
    """Before 0.30 there is no n_slots line: the commit's Parallel is the witness, and its image has no llama-server."""
    canary.env = {"STANDIN_AGE": "old"}
    canary.both()
    result = canary.up()
    assert result.code == 0, result
    models = by_name(result)
    assert (models["plain"]["runner"], models["plain"]["checks"]["slots"]["observed"]) == ("ollama", SLOTS)
    assert models["plain"]["checks"]["slots"]["source"] == "log"
    assert models["hybrid"]["runner"] == "llama-server"
    assert "asked Ollama 0.24.0 for 3 slots, got 1: architecture lfm2" in models["hybrid"]["fallback"]["reason"]
    assert not any("n_slots" in line for line in ollama_log.lines())
    assert canary.up().code == 0
    assert ollama_log.refusals() == 1

"""A model that Ollama has from a file: made anew when the file says something else, and not when it was touched."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from tests.engine.support.ollama_stack import SLOTS, by_name, chat


@pytest.fixture
def made(canary, tiny_lfm2, tmp_path):
    """A canary with one model from a file of its own, to which Ollama gives all slots."""
    canary.env = {"STANDIN_PERMIT": "all"}
    shutil.copy(tiny_lfm2, tmp_path / "made.gguf")
    canary.declare("made", source=f"gguf:{tmp_path / 'made.gguf'}")
    canary.file()
    return canary


def only(result):
    (model,) = by_name(result).values()
    return model


def verified(result):
    assert result.code == 0, result
    model = only(result)
    assert (model["state"], model["checks"]["slots"]["observed"]) == ("verified", SLOTS)
    return model


def stands(canary) -> dict[str, str]:
    """The names of the store that homellm made, each with its manifest's digest."""
    tags = canary.ask_ollama("/api/tags")["models"]
    return {row["name"]: row["digest"] for row in tags if row["name"].startswith("made")}


def in_memory(canary) -> list[str]:
    return [row["digest"] for row in canary.ask_ollama("/api/ps")["models"]]


def test_another_content_is_served_and_the_old_one_leaves(made, ollama_log, another_lfm2, tmp_path):
    verified(made.up())
    before, blob = stands(made), made.store.blob("made")
    shutil.copy(another_lfm2, tmp_path / "made.gguf")

    check = made.cli("check")
    assert check.code == 0, check
    assert f"{tmp_path / 'made.gguf'} is newer than what Ollama serves" in check.stdout
    assert "is newer than what Ollama serves" in made.cli("plan").stdout
    assert (stands(made), in_memory(made)) == (before, list(before.values()))

    model = verified(made.up())
    after = stands(made)
    assert (list(after), model["runner"]) == (["made:latest"], "ollama")
    assert after != before
    assert made.store.blob("made") != blob
    assert in_memory(made) == list(after.values())
    assert chat(made.port, "made") == 200
    loads = ollama_log.loads()
    assert loads == 2
    verified(made.up())
    assert (stands(made), ollama_log.loads()) == (after, loads)
    assert "newer" not in made.cli("check").stdout


def test_a_file_that_was_touched_alone_is_not_uploaded_again(made, ollama_log, tmp_path):
    verified(made.up())
    before = stands(made)
    os.utime(tmp_path / "made.gguf", (2_000_000_000, 2_000_000_000))
    verified(made.up())
    assert (stands(made), ollama_log.loads()) == (before, 1)
    assert "newer" not in made.cli("check").stdout  # its new time is known


def test_one_that_moved_serves_the_new_file(canary, docker_api, prefix, tiny_lfm2, another_lfm2, tmp_path):
    """llama-server has the file itself: its container would be the same, and it would go on with what it has mapped."""
    path: Path = tmp_path / "hybrid.gguf"
    shutil.copy(tiny_lfm2, path)
    canary.declare("moving", source=f"gguf:{path}", port=canary.moved_port)
    first = canary.up()
    assert (first.code, only(first)["fallback"]["rung"]) == (0, "llama-server"), first
    before = docker_api.inspect_container(f"{prefix}-moving")["Id"]
    assert canary.up().code == 0
    assert docker_api.inspect_container(f"{prefix}-moving")["Id"] == before
    another = path.with_suffix(".new")
    shutil.copy(another_lfm2, another)
    another.replace(path)
    for _ in range(2):
        again = canary.up()
        assert (again.code, only(again)["fallback"]["rung"]) == (0, "llama-server"), again
        after = docker_api.inspect_container(f"{prefix}-moving")["Id"]
    assert after != before
    assert f"{prefix}-moving.prev-1" in [row["Names"][0][1:] for row in docker_api.containers(all=True)]
    assert chat(canary.moved_port, "moving") == 200


def test_after_down_it_comes_up_again_without_an_upload(made, prefix, tmp_path):
    """The container is gone and its record with it; the store has the model, which Ollama has written anew."""
    verified(made.up())
    before = stands(made)
    assert made.cli("down").code == 0
    verified(made.up())
    assert stands(made) == before
    shutil.rmtree(tmp_path / "xdg_state_home")
    assert made.cli("down").code == 0
    refused = made.up()
    assert refused.code == 4, refused
    (error,) = refused.json["errors"]
    assert error["id"] == "name-in-store"
    assert error["hint"].endswith(f"docker exec {prefix}-main ollama rm made:latest")

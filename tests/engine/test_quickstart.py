"""The stack of the quickstart, as it stands in stacks/, with the image and the model that the quickstart provides."""

import pytest

from homellm.resources import stacks_root
from scripts.provision import answer
from scripts.provision.recipe import OFFICIAL_IMAGE
from tests.engine.support.ports import free_port
from tests.engine.support.sweep import leftovers


@pytest.fixture
def quickstart(tmp_path, prefix, smollm2):
    """The file with a name, a port and a path of this test; everything else as it ships."""
    text = (stacks_root() / "quickstart.yaml").read_text()
    for shipped, ours in [
        ("stack: quickstart", f"stack: {prefix}"),
        ("../models/SmolLM2-135M-Instruct.Q4_1.gguf", str(smollm2)),
        ("port: 11435", f"port: {free_port()}"),
    ]:
        assert text.count(shipped) == 1
        text = text.replace(shipped, ours)
    file = tmp_path / "quickstart.yaml"
    file.write_text(text)
    return file


def test_three_slots_are_verified_and_the_model_answers(quickstart, cli, docker_api, prefix, llama_image, monkeypatch):
    env = {"HOMELLM_LLAMA_IMAGE": llama_image}
    up = cli("up", "-f", quickstart, "--format", "json", env=env)
    assert up.code == 0, up
    (model,) = up.json["models"]
    assert model["state"] == "verified"
    (container,) = docker_api.containers(filters={"name": prefix})
    assert container["Image"] == llama_image

    monkeypatch.setenv("HOMELLM_LLAMA_IMAGE", llama_image)
    checked = answer.checked_model(str(quickstart))
    assert checked["slots"] == 3
    assert "paris" in answer.ask(checked["endpoint"], checked["name"]).lower()

    again = cli("up", "-f", quickstart, env=env)
    assert again.code == 0, again
    (same,) = docker_api.containers(filters={"name": prefix})
    assert same["Id"] == container["Id"]

    down = cli("down", "-f", quickstart, env=env)
    assert down.code == 0, down
    assert leftovers(docker_api, prefix) == []


def test_without_the_variable_it_asks_for_the_official_image(quickstart, cli):
    plan = cli("plan", "-f", quickstart, "--format", "json")
    assert plan.code == 0, plan
    assert OFFICIAL_IMAGE in plan.stdout

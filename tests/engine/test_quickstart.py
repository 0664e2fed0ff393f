"""The stack of the quickstart, as it ships and as the quickstart writes it for the image of this machine."""

import pytest

from homellm.resources import stacks_root
from scripts.provision import answer, stack
from scripts.provision.recipe import OFFICIAL_IMAGE
from tests.engine.support.ports import free_port
from tests.engine.support.sweep import leftovers

SHIPPED = (stacks_root() / "quickstart.yaml").read_text(encoding="utf-8")


@pytest.fixture
def make_file(tmp_path, prefix, smollm2):
    """Writes a stack file with a name, a port and a path of this test; everything else as it is given."""

    def make(text):
        folder = "../models" if "../models" in text else "./models"
        for given, ours in [
            ("stack: quickstart", f"stack: {prefix}"),
            (f"{folder}/SmolLM2-135M-Instruct.Q4_1.gguf", str(smollm2)),
            ("port: 11435", f"port: {free_port()}"),
        ]:
            assert text.count(given) == 1
            text = text.replace(given, ours)
        file = tmp_path / "quickstart.yaml"
        file.write_text(text)
        return file

    return make


def test_three_slots_are_verified_and_the_model_answers_without_any_variable(
    make_file, cli, docker_api, prefix, llama_image
):
    file = make_file(stack.text_with(SHIPPED, llama_image))
    up = cli("up", "-f", file, "--format", "json")
    assert up.code == 0, up
    (model,) = up.json["models"]
    assert model["state"] == "verified"
    (container,) = docker_api.containers(filters={"name": prefix})
    assert container["Image"] == llama_image

    checked = answer.checked_model(str(file))
    assert checked["slots"] == 3
    assert "paris" in answer.ask(checked["endpoint"], checked["name"]).lower()

    # No registry has what was built here, and none is asked.
    pull = cli("pull", "-f", file)
    assert pull.code == 0, pull
    again = cli("up", "-f", file)
    assert again.code == 0, again
    (same,) = docker_api.containers(filters={"name": prefix})
    assert same["Id"] == container["Id"]

    down = cli("down", "-f", file)
    assert down.code == 0, down
    assert leftovers(docker_api, prefix) == []


def test_the_shipped_file_takes_an_image_by_the_variable_and_the_official_one_without(make_file, cli):
    file = make_file(SHIPPED)
    plan = cli("plan", "-f", file, "--format", "json")
    assert plan.code == 0, plan
    assert OFFICIAL_IMAGE in plan.stdout
    named = cli("plan", "-f", file, "--format", "json", env={"HOMELLM_LLAMA_IMAGE": "mine/llama:2"})
    assert "mine/llama:2" in named.stdout

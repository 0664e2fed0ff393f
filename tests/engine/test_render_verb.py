"""`homellm render`, as people run it: what it prints makes the container that `homellm up` makes."""

import os
import shutil
import subprocess

import pytest

from homellm.render.compare import differences
from tests.engine.support.ports import free_port
from tests.engine.support.removal import remove_by_force
from tests.engine.support.renderings import compose_program

KEY = "s3cr$t'key'"


@pytest.fixture
def stack(stack_file, docker_api, prefix, instant_image, smollm2):
    docker_api.create_network(f"{prefix}-webui")
    model = {"source": f"gguf:{smollm2}", "image": instant_image, "parallel": 2, "ctx": 512, "cpuset": "0"}
    more = {"mlock": True, "api_key": "${MODEL_KEY}", "networks": [f"{prefix}-webui"], "stop_grace": "1s"}
    return stack_file({"Smol:1": model | more | {"port": free_port()}})


def variable(prefix: str) -> str:
    return f"{prefix}-Smol-1_LLAMA_API_KEY".upper().replace("-", "_")


def run(command, folder, **environ):
    done = subprocess.run(
        command,
        cwd=folder,
        env=os.environ | environ,
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_up_the_script_and_the_compose_file_are_one_container(cli, stack, docker_api, prefix, tmp_path):
    name, env = f"{prefix}-Smol-1", {"MODEL_KEY": KEY}
    up = cli("--file", stack, "up", env=env)
    assert up.code == 0, up
    served = docker_api.inspect_container(name)

    script = cli("--file", stack, "render", "run", env=env)
    compose = cli("--file", stack, "render", "compose", env=env)
    assert (script.code, compose.code) == (0, 0), f"{script}{compose}"
    assert KEY not in script.stdout + compose.stdout
    down = cli("--file", stack, "down", env=env)
    assert down.code == 0, down

    (tmp_path / "run.sh").write_text(script.stdout)
    run([shutil.which("bash"), "run.sh"], tmp_path, **{variable(prefix): KEY})
    by_hand = docker_api.inspect_container(name)
    assert by_hand["State"]["Running"]
    assert not [label for label in by_hand["Config"]["Labels"] or {} if label.startswith("homellm")]
    assert [str(found) for found in differences(served, by_hand)] == []

    # What was made by hand is not homellm's: it neither counts as ours nor goes with `down`.
    assert cli("--file", stack, "down", env=env).code == 0
    assert docker_api.inspect_container(name)["Id"] == by_hand["Id"]
    remove_by_force(docker_api, name)

    (tmp_path / "compose.yaml").write_text(compose.stdout)
    run([compose_program(), "-f", "compose.yaml", "up", "-d"], tmp_path, **{variable(prefix): KEY})
    by_compose = docker_api.inspect_container(name)
    assert [str(found) for found in differences(served, by_compose)] == []


def test_secrets_are_written_when_asked_for(cli, stack):
    shown = cli("--file", stack, "render", "run", "--show-secrets", env={"MODEL_KEY": KEY})
    assert shown.code == 0, shown
    assert "s3cr$t" in shown.stdout


def test_json_holds_the_text(cli, stack):
    told = cli("--file", stack, "--format", "json", "render", "compose", env={"MODEL_KEY": KEY})
    assert told.code == 0, told
    assert told.json["form"] == "compose"
    assert told.json["errors"] == []
    assert told.json["text"].startswith("# ")


def test_what_the_build_cannot_do_is_told_and_ends_with_4(cli, stack_file, early_2025_image, smollm2):
    model = {"source": f"gguf:{smollm2}", "image": early_2025_image}
    file = stack_file({"good": model, "bad": model | {"reasoning_preserve": True, "sleep_idle": "15m"}})
    told = cli("--file", file, "render", "run")
    assert told.code == 4, told
    assert "reasoning_preserve" in told.stderr
    assert "sleep_idle" in told.stderr
    assert "--alias good" in told.stdout
    assert "--alias bad" not in told.stdout

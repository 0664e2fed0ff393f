"""Every setting that is the container's and not the server's, as the engine has it; and a template of one's own."""

from __future__ import annotations

import pytest

from tests.engine.support.asking import get
from tests.engine.support.ports import free_port

MIB = 1024**2


@pytest.fixture
def port():
    return free_port()


def only(result, code=0):
    assert result.code == code, result
    (model,) = result.json["models"]
    return model, {check["id"]: check for check in model["checks"]}


def test_what_docker_is_told(cli, stack_file, instant_image, tiny_lfm2, docker_api, prefix, port, tmp_path):
    (tmp_path / "notes").mkdir()
    docker_api.create_network(f"{prefix}-proxy")
    model = {
        "source": f"gguf:{tiny_lfm2}",
        "image": docker_api.inspect_image(instant_image)["Id"],
        "pull": "never",
        "ctx": 512,
        "port": port,
        "container_name": f"{prefix}-by-my-name",
        "memory": "256MiB",
        "cpu_shares": 512,
        "shm_size": "32MiB",
        "restart": "on-failure",
        "stop_grace": "3s",
        "env": {"COLOUR": "green"},
        "labels": {"traefik.enable": "false"},
        "volumes": ["./notes:/notes:ro", f"{prefix}-data:/data"],
        "networks": [f"{prefix}-proxy"],
        "log": {"driver": "local", "max_size": "5m", "max_files": 2},
    }
    stack_file({"m": model})
    reported, checks = only(cli("up", "--format", "json"))
    assert (reported["state"], reported["container"]) == ("verified", f"{prefix}-by-my-name")
    assert checks["limits"]["verdict"] == "pass"
    assert checks["limits"]["observed"] == f"memory {256 * MIB}, cpu_shares 512, shm_size {32 * MIB}"

    said = docker_api.inspect_container(f"{prefix}-by-my-name")
    host, config = said["HostConfig"], said["Config"]
    assert said["Image"] == model["image"]
    assert (host["Memory"], host["CpuShares"], host["ShmSize"]) == (256 * MIB, 512, 32 * MIB)
    assert host["RestartPolicy"]["Name"] == "on-failure"
    assert config["StopTimeout"] == 3
    assert "COLOUR=green" in config["Env"]
    assert config["Labels"]["traefik.enable"] == "false"
    assert host["LogConfig"] == {"Type": "local", "Config": {"max-size": "5m", "max-file": "2"}}
    mounts = {mount["Destination"]: mount for mount in said["Mounts"]}
    assert (mounts["/notes"]["Source"], mounts["/notes"]["RW"]) == (str(tmp_path / "notes"), False)
    assert (mounts["/data"]["Name"], mounts["/data"]["RW"]) == (f"{prefix}-data", True)
    networks = said["NetworkSettings"]["Networks"]
    assert set(networks) == {f"homellm-{prefix}", f"{prefix}-proxy"}
    assert all("m" in network["Aliases"] for network in networks.values())

    # Limits that somebody changes by hand are told, and the next one with nothing changed is a step for nobody.
    docker_api.update_container(f"{prefix}-by-my-name", mem_limit=128 * MIB, memswap_limit=-1)
    reported, checks = only(cli("check", "--format", "json"), 5)
    assert checks["limits"]["verdict"] == "fail"
    assert "memory 128.0 MiB" in cli("check").stdout


def test_a_network_that_is_not_there(cli, stack_file, instant_image, tiny_lfm2, prefix):
    model = {"source": f"gguf:{tiny_lfm2}", "image": instant_image, "networks": [f"{prefix}-nowhere"]}
    stack_file({"m": model | {"ctx": 512}})
    result = cli("up", "--format", "json")
    assert result.code == 4, result
    assert f"{prefix}-nowhere" in result.json["errors"][0]["message"]


TEMPLATE = "{% for message in messages %}<{{ message.role }}>{{ message.content }}\n{% endfor %}<assistant>"


def test_a_template_of_ones_own(cli, stack_file, llama_image, smollm2, port, tmp_path):
    (tmp_path / "mine.jinja").write_text(TEMPLATE)
    model = {"source": f"gguf:{smollm2}", "image": llama_image, "ctx": 512, "cpuset": "0", "port": port}
    stack_file({"smol": model | {"chat_template_file": "./mine.jinja", "jinja": True}})
    reported, checks = only(cli("up", "--format", "json"))
    assert (reported["state"], checks["template"]["verdict"]) == ("verified", "pass")
    assert get(port, "/props")["chat_template"] == TEMPLATE


def test_a_template_that_breaks_every_chat(cli, stack_file, llama_image, smollm2, port, tmp_path):
    """The server tries a chat before it serves, and ends."""
    (tmp_path / "broken.jinja").write_text("{{ raise_exception('no system message, no chat') }}")
    model = {"source": f"gguf:{smollm2}", "image": llama_image, "ctx": 512, "cpuset": "0", "port": port}
    stack_file({"smol": model | {"chat_template_file": "./broken.jinja", "jinja": True}})
    result = cli("up", "--format", "json")
    assert only(result, 4)[0]["state"] == "failed"
    (error,) = result.json["errors"]
    assert error["id"] == "setting-invalid"
    assert "template is not supported" in error["message"]
    assert "chat_template_file" in error["hint"]

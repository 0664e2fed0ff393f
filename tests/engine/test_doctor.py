"""`homellm doctor` on the real engine: a container of somebody's that is an Open WebUI, and a port that is held."""

import socket

import docker

from tests.engine.support.ports import free_port


def test_what_runs_and_what_would_stop_the_stack(cli, docker_api, prefix, stack_file, instant_image, smollm2):
    name = f"{prefix}-chat"
    env = ["WEBUI_SECRET_KEY=s", "ENABLE_TAGS_GENERATION=False", "OLLAMA_BASE_URL=http://localhost:11434"]
    mount = docker.types.Mount("/m.gguf", str(smollm2), type="bind", read_only=True)
    config = docker_api.create_host_config(mounts=[mount])
    container = docker_api.create_container(
        instant_image, ["-m", "/m.gguf"], name=name, environment=env, host_config=config
    )
    docker_api.start(container)
    port = free_port()
    stack_file({"m": {"source": f"gguf:{smollm2}", "image": instant_image, "port": port}})

    before = cli("doctor", "--format", "json")
    assert [error["id"] for error in before.json["errors"]] == [], before
    (web_ui,) = [one for one in before.json["web_uis"] if one["container"] == name]
    assert (len(web_ui["jobs"]), web_ui["persistent_config"]) == (5, True)
    advice = [one["id"] for one in before.json["advice"] if name in one["message"]]
    assert advice == ["web-ui-jobs", "webui-env-ignored", "web-ui-localhost"]
    assert before.json["engine"]["version"] == docker_api.version()["Version"]
    assert before.code == 0, before

    with socket.create_server(("127.0.0.1", port)):
        held = cli("doctor", "--format", "json")
    assert held.code == 4, held
    assert [error["id"] for error in held.json["errors"]] == ["port-taken"]
    assert docker_api.containers(all=True, filters={"name": f"{prefix}-m"}) == []


def test_without_an_engine_it_still_tells_the_host(cli, tmp_path):
    told = cli("doctor", env={"DOCKER_HOST": f"unix://{tmp_path}/none.sock"})
    assert told.code == 3, told
    assert "CPU" in told.stdout.splitlines()[0]
    assert "none.sock" in told.stdout

"""`homellm endpoints` on the real engine: what it prints is answered, from the host and from a container."""

import json
import urllib.request

from tests.engine.support.ports import free_port


def test_the_printed_addresses_are_answered(cli, docker_api, prefix, stack_file, instant_image, smollm2):
    model = {"source": f"gguf:{smollm2}", "image": instant_image, "port": free_port()}
    stack_file({"Small:1": model})
    up = cli("up", "--format", "json")
    assert up.code == 0, up

    told = cli("endpoints", "--format", "json")
    assert told.code == 0, told
    (found,) = told.json["models"]
    assert found["openai"]["host"] == up.json["models"][0]["endpoint"]
    assert found["openai"]["lan"] is None
    with urllib.request.urlopen(found["openai"]["host"] + "/models", timeout=10) as answer:
        assert "Small:1" in json.dumps(json.load(answer))

    host, _, port = found["openai"]["container"].removeprefix("http://").removesuffix("/v1").partition(":")
    shown = docker_api.inspect_container(f"{prefix}-Small-1")
    assert host in shown["NetworkSettings"]["Networks"][found["network"]]["Aliases"]
    assert f"{port}/tcp" in shown["NetworkSettings"]["Ports"]

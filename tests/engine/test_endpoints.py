"""`homellm endpoints` on the real engine: what it prints is answered, from the host and from a container."""

import json
import urllib.request
from ipaddress import ip_network

import pytest

from tests.engine.support.ollama_image import python_image
from tests.engine.support.ports import free_port
from tests.engine.support.removal import remove_by_force

KEY = "sk-endpoints-41c7"
#: For `python3 -c`: a GET of the first argument with the second one as the key.
ASK = """
import sys, urllib.request as web
request = web.Request(sys.argv[1], headers={"Authorization": sys.argv[2]})
print(web.urlopen(request, timeout=30).read().decode())
"""


def models_at(url):
    request = urllib.request.Request(f"{url}/models", headers={"Authorization": f"Bearer {KEY}"})
    with urllib.request.urlopen(request, timeout=30) as answer:
        return [one["id"] for one in json.load(answer)["data"]]


@pytest.fixture
def models_from_a_container(docker_api, prefix, llama_image):
    """What a container that has joined a network finds at a URL."""

    def ask(url, network):
        made = docker_api.create_container(
            python_image(docker_api, llama_image),
            ["-c", ASK, f"{url}/models", f"Bearer {KEY}"],
            entrypoint=["python3"],
            name=f"{prefix}-client",
        )
        docker_api.connect_container_to_network(made, network)
        docker_api.start(made)
        code = docker_api.wait(made, timeout=60)["StatusCode"]
        said = docker_api.logs(made).decode()
        remove_by_force(docker_api, made["Id"])
        assert code == 0, said
        return [one["id"] for one in json.loads(said)["data"]]

    return ask


@pytest.fixture
def bridge_address(docker_api):
    """An address that each machine has besides the loopback: its own on Docker's default bridge."""
    (config, *_) = docker_api.inspect_network("bridge")["IPAM"]["Config"]
    return config.get("Gateway") or str(next(ip_network(config["Subnet"]).hosts()))


def told(cli, name):
    result = cli("endpoints", "--format", "json")
    assert result.code == 0, result
    return next(one for one in result.json["models"] if one["name"] == name)


@pytest.mark.parametrize("bind", ["127.0.0.1", "0.0.0.0", "::", "the bridge's", None])
def test_the_printed_addresses_are_answered(
    cli, stack_file, instant_image, smollm2, models_from_a_container, bridge_address, bind
):
    keys = {"source": f"gguf:{smollm2}", "image": instant_image, "api_key": KEY}
    if bind is not None:
        at = bridge_address if bind == "the bridge's" else bind
        keys |= {"port": free_port("::" if ":" in at else "0.0.0.0"), "bind": at}
    stack_file({"Small:1": keys})
    up = cli("up", "--format", "json")
    assert up.code == 0, up

    found = told(cli, "Small:1")
    addresses = found["openai"]
    where_it_is = [url for url in (addresses["host"], addresses["lan"]) if url is not None]
    assert [models_at(url) for url in where_it_is] == [["Small:1"]] * len(where_it_is)
    assert models_from_a_container(addresses["container"], found["network"]) == ["Small:1"]
    assert up.json["models"][0]["endpoint"] == addresses["host" if bind is not None else "container"]
    if bind in ("127.0.0.1", "the bridge's", None):
        assert addresses["lan"] is None
        assert found["unreachable"]["lan"]

"""Ports of IPv4 and IPv6 on the real engine: what excludes what, found before anything is made or left to work."""

from __future__ import annotations

import os
import socket
from contextlib import closing

import pytest

from tests.engine.support.ports import free_port
from tests.engine.support.sweep import leftovers


@pytest.fixture
def port():
    return free_port("0.0.0.0")


@pytest.fixture
def declare(stack_file, instant_image, tiny_lfm2, port):
    def write(**binds):
        base = {"source": f"gguf:{tiny_lfm2}", "image": instant_image, "ctx": 512, "port": port}
        return stack_file({name: base | {"bind": bind} for name, bind in binds.items()})

    return write


def listening(port, *, v6only):
    return closing(socket.create_server(("::", port), family=socket.AF_INET6, dualstack_ipv6=not v6only))


@pytest.fixture
def publish(docker_api, prefix, llama_image, port):
    """Somebody else's container, which publishes the port on an address."""

    def run(address):
        host = docker_api.create_host_config(port_bindings={8080: (address, port)})
        foreign = docker_api.create_container(
            llama_image, entrypoint=["sleep", "600"], name=f"{prefix}-foreign", host_config=host, ports=[8080]
        )
        docker_api.start(foreign)

    return run


@pytest.mark.parametrize(("theirs", "ours"), [("::", "127.0.0.1"), ("0.0.0.0", "::1"), ("::1", "127.0.0.1")])
def test_containers_publish_one_port_on_both_families(cli, declare, publish, theirs, ours):
    publish(theirs)
    declare(m=ours)
    result = cli("up", "--format", "json")
    assert result.code == 0, result
    assert result.json["models"][0]["state"] == "verified"


def test_two_models_of_one_stack_share_a_port_by_families(cli, declare, port):
    declare(four="127.0.0.1", six="::1")
    result = cli("up", "--format", "json")
    assert result.code == 0, result
    assert {one["name"]: one["endpoint"] for one in result.json["models"]} == {
        "four": f"http://127.0.0.1:{port}/v1",
        "six": f"http://[::1]:{port}/v1",
    }


def test_what_is_published_on_every_ipv6_address_takes_each_of_them(cli, declare, publish, docker_api, prefix):
    publish("::")
    declare(m="::1")
    result = cli("up", "--format", "json")
    assert (result.code, [one["id"] for one in result.json["errors"]]) == (4, ["port-taken"]), result
    assert f"{prefix}-foreign" in result.json["errors"][0]["message"]
    assert leftovers(docker_api, prefix) == [f"{prefix}-foreign"]


def test_a_program_on_every_ipv6_address_takes_ipv4_too(cli, declare, docker_api, prefix, port):
    declare(m="127.0.0.1")
    with listening(port, v6only=False):
        result = cli("up", "--format", "json")
    assert (result.code, [one["id"] for one in result.json["errors"]]) == (4, ["port-taken"]), result
    assert f"(pid {os.getpid()}" in result.json["errors"][0]["message"]
    assert leftovers(docker_api, prefix) == []


def test_unless_it_asked_for_ipv6_alone(cli, declare, port):
    declare(m="127.0.0.1")
    with listening(port, v6only=True):
        result = cli("up", "--format", "json")
    assert result.code == 0, result

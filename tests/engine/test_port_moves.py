"""Models of one stack that are to have each other's ports, on a real engine, whose proxies hold them."""

from __future__ import annotations

import pytest

from tests.engine.support.asking import get
from tests.engine.support.ports import free_port


@pytest.fixture
def declare(stack_file, instant_image, tiny_lfm2):
    def write(a, b):
        base = {"source": f"gguf:{tiny_lfm2}", "image": instant_image, "ctx": 512}
        return stack_file({"a": base | {"port": a}, "b": base | {"port": b}})

    return write


def serves(port):
    return get(port, "/props")["model_alias"]


def test_one_takes_the_port_that_the_other_leaves_and_a_swap_of_ports_tells_its_way_out(
    cli, declare, docker_api, prefix
):
    one, two, three = free_port(), free_port(), free_port()
    declare(a=one, b=two)
    assert (first := cli("up")).code == 0, first
    declare(a=two, b=three)
    assert (moved := cli("up")).code == 0, moved
    assert (serves(two), serves(three)) == ("a", "b")

    declare(a=three, b=two)
    refused = cli("up", "--format", "json")
    assert refused.code == 4, refused
    assert [error["id"] for error in refused.json["errors"]] == ["port-taken", "port-taken"]
    assert f"docker stop {prefix}-b && homellm up" in refused.json["errors"][0]["hint"]
    assert (serves(two), serves(three)) == ("a", "b")
    docker_api.stop(f"{prefix}-b", timeout=5)
    assert (swapped := cli("up")).code == 0, swapped
    assert (serves(two), serves(three)) == ("b", "a")

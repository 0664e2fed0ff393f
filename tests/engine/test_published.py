"""A published port through which nothing comes any more, although the server answers inside Docker."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from tests.engine.support.asking import status
from tests.engine.support.ports import free_port
from tests.engine.support.wait import wait_for


def proxies(port):
    """The processes that listen for the engine on a port, by their own command lines."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "cmdline").read_bytes().decode().split("\0")
        except OSError:
            continue
        if words[0].endswith("docker-proxy") and words[words.index("-host-port") + 1] == str(port):
            found.append(int(folder.name))
    return found


@pytest.fixture
def port():
    return free_port()


def test_a_dead_port_fails_until_it_is_set_up_anew(cli, stack_file, docker_api, prefix, instant_image, tiny_lfm2, port):
    keys = {"source": f"gguf:{tiny_lfm2}", "image": instant_image, "ctx": 512, "pull": "never", "port": port}
    stack_file({"m": keys})
    assert cli("up", "--format", "json").code == 0
    assert cli("up", "--format", "json").code == 0  # which keeps a witness that nothing has changed
    if not proxies(port):
        pytest.fail("this engine has no docker-proxy to kill. Next: an engine with `userland-proxy: true`")
    for proxy in proxies(port):
        os.kill(proxy, signal.SIGKILL)
    wait_for(lambda: not proxies(port), "the end of the proxy")
    address = next(iter(docker_api.inspect_container(f"{prefix}-m")["NetworkSettings"]["Networks"].values()))[
        "IPAddress"
    ]
    for verb in ("check", "up"):
        result = cli(verb, "--format", "json")
        assert result.code == 4, result
        (error,) = result.json["errors"]
        assert error["id"] == "gate-api"
        assert f"answers inside Docker at {address}:8080, and not at 127.0.0.1:{port}" in error["message"]
        assert f"docker restart {prefix}-m" in error["hint"]
    docker_api.restart(f"{prefix}-m", timeout=0)
    assert cli("up", "--format", "json").code == 0
    assert status(port, "/health") == 200

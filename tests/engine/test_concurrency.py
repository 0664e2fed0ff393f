"""`check --concurrency`: as many requests at once as there are slots, seen at work in all of them, or not."""

from __future__ import annotations

import pytest

from tests.engine.support.ports import free_port

#: The answers end when the server was looked at so often, however long that takes: more often than a verdict needs.
LOOKS = "8"


@pytest.fixture
def declare(stack_file, instant_image, tiny_lfm2):
    def write(**keys):
        base = {"source": f"gguf:{tiny_lfm2}", "image": instant_image, "parallel": 3, "ctx": 512, "port": free_port()}
        return stack_file({"m": base | keys})

    return write


def checks(result, code):
    assert result.code == code, result
    return {check["id"]: check for check in result.json["models"][0]["checks"]}


def concurrency(cli, code):
    return checks(cli("check", "--concurrency", "--format", "json"), code)["concurrency"]


def test_a_real_server_works_in_all_its_slots(cli, declare, llama_image, smollm2):
    declare(source=f"gguf:{smollm2}", image=llama_image, cpuset="0")
    assert cli("up").code == 0
    assert "concurrency" not in checks(cli("check", "--format", "json"), 0)
    found = concurrency(cli, 0)
    assert (found["asked"], found["observed"], found["verdict"], found["source"]) == (3, 3, "pass", "/slots")


def test_a_real_server_that_keeps_its_slots_to_itself(cli, declare, llama_image, smollm2):
    declare(source=f"gguf:{smollm2}", image=llama_image, cpuset="0", parallel=2, extra_args=["--no-slots"])
    assert cli("up").code == 0
    found = concurrency(cli, 0)
    assert (found["observed"], found["verdict"], found["source"]) == (2, "pass", "/metrics")


def test_a_server_that_lets_requests_wait(cli, declare):
    """It names three slots in /props and in its log, and serves one request after another."""
    declare(env={"INSTANT_SERIAL": "1", "INSTANT_CHAT_LOOKS": LOOKS})
    assert cli("up").code == 0
    found = concurrency(cli, 5)
    assert (found["asked"], found["observed"], found["verdict"], found["source"]) == (3, 1, "fail", "/slots")
    assert "3 requests at once" in found["hint"]


def test_the_same_server_when_it_does_not(cli, declare):
    declare(env={"INSTANT_CHAT_LOOKS": LOOKS})
    assert cli("up").code == 0
    found = concurrency(cli, 0)
    assert (found["observed"], found["verdict"]) == (3, "pass")


def test_a_server_that_serves_one_alone_and_not_several(cli, declare):
    declare(env={"INSTANT_CHAT_STATUS_OF_SEVERAL": "500", "INSTANT_CHAT_LOOKS": LOOKS})
    assert cli("up").code == 0
    assert concurrency(cli, 5)["verdict"] == "fail"
    assert "HTTP 500" in cli("check", "--concurrency").stdout

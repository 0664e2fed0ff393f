"""The daemon restarted in the middle of the ladder, on an engine of the suite's own: no rung is held to have failed."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from tests.engine.support.ollama_stack import SLOTS, Canary, OllamaLog, by_name
from tests.engine.support.wait import wait_for


@pytest.fixture
def canary(private_engine, private_cli, stack_file, store_with, ollama_image, llama_image, tiny_lfm2, docker_api):
    """The hybrid alone, on the private engine."""
    for image in (llama_image, ollama_image):
        private_engine.load(docker_api, image)
    made = Canary(stack_file, private_cli, store_with({"hybrid": tiny_lfm2}), ollama_image, llama_image)
    made.declare("hybrid", port=made.moved_port)
    made.file()
    return made


def stopped(pid):
    """Whether a process is stopped by a signal: the state in /proc/PID/stat."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"


def restart_at(where, engine, cli):
    """`homellm up` that stands still at one of its calls while the daemon restarts, and then goes on."""
    running = cli.start_halting(f"{where}:SIGSTOP", "up")
    wait_for(lambda: stopped(running.process.pid), f"homellm to stand still at {where}")
    engine.restart()
    running.signal(signal.SIGCONT)
    result = running.finish()
    return result.code, str(result)


def runs(engine, name):
    return engine.api.inspect_container(name)["State"]["Running"]


# The second container is the successor, and the second request for a token goes to it, after the one to Ollama.
@pytest.mark.parametrize("where", ["start:2:after", "post:2:before"])
def test_the_next_up_moves_it_all_the_same(canary, private_engine, prefix, where):
    code, said = restart_at(where, private_engine, canary.cli)
    assert code in (4, 5), said
    wait_for(lambda: runs(private_engine, f"{prefix}-main"), "Ollama to come back with its daemon")

    again = canary.up()
    assert again.code == 0, f"{again}\nbefore it: {said}"
    (model,) = by_name(again).values()
    assert (model["state"], model["runner"], model["fallback"]["rung"]) == ("verified", "llama-server", "llama-server")
    assert model["checks"]["slots"]["observed"] == SLOTS
    names = sorted(name for row in private_engine.api.containers(all=True) for name in row["Names"])
    assert names == [f"/{prefix}-hybrid", f"/{prefix}-main"]

    # What the whole of it found is remembered: neither Ollama nor a container is tried again, after one more restart.
    log = OllamaLog(private_engine.api, f"{prefix}-main")
    made, asked = private_engine.api.inspect_container(f"{prefix}-hybrid")["Id"], log.loads()
    private_engine.restart()
    wait_for(lambda: runs(private_engine, f"{prefix}-hybrid"), "the successor to come back with its daemon")
    last = canary.up()
    assert last.code == 0, last
    assert private_engine.api.inspect_container(f"{prefix}-hybrid")["Id"] == made
    assert log.loads() == asked

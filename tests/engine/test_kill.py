"""One SIGKILL and one Ctrl-C for each kind of step, on the real engine: always the right container under its name."""

from __future__ import annotations

import shutil
import signal
import time

import pytest

from tests.engine.support import gate
from tests.engine.support.ports import free_port
from tests.engine.support.sweep import leftovers

#: Every call that changes the engine in a swap, in its order; `kill` is the stop of the old container.
STEPS = [
    "create:1",
    "set_restart_policy:1",
    "kill:1",
    "start:1",
    "logs:1",
    "set_restart_policy:2",
    "rename:1",
    "rename:2",
]
LOADS_FOR_EVER = {"INSTANT_READY_AFTER_S": "600", "INSTANT_TALK_WHILE_LOADING": "1"}
#: After these the successor is proved: Ctrl-C finishes the commit.
COMMITTING = ["set_restart_policy:2", "rename:1", "rename:2"]


@pytest.fixture
def declare(stack_file, tiny_lfm2, tmp_path):
    """Writes the stack of one model; `image` and keys as given."""
    model = tmp_path / "models" / "tiny.gguf"
    model.parent.mkdir()
    shutil.copy(tiny_lfm2, model)
    port = free_port()

    def write(image, **keys):
        return stack_file({"m": {"source": f"gguf:{model}", "image": image, "ctx": 512, "port": port} | keys})

    return write


def slots(docker_api, name):
    args = docker_api.inspect_container(name)["Args"]
    return int(args[args.index("--parallel") + 1])


def settled(docker_api, prefix, parallel):
    """The right container under its name, running, with its declared policy, and nothing that is not kept."""
    name = f"{prefix}-m"
    inspected = docker_api.inspect_container(name)
    assert inspected["State"]["Running"]
    assert inspected["HostConfig"]["RestartPolicy"]["Name"] == "unless-stopped"
    assert slots(docker_api, name) == parallel
    kept = {name, f"{name}.prev-1", f"{name}.prev-2", f"{name}.failed", f"homellm-{prefix}"}
    assert set(leftovers(docker_api, prefix)) <= kept


@pytest.mark.parametrize("then", [3, 1], ids=["new-file", "old-file"])
@pytest.mark.parametrize("step", STEPS)
def test_sigkill(cli, declare, docker_api, prefix, instant_image, step, then):
    declare(instant_image, parallel=1)
    assert cli("up").code == 0
    declare(instant_image, parallel=3)
    killed = cli.halted(f"{step}:after:SIGKILL", "up")
    assert killed.code == -9, killed
    declare(instant_image, parallel=then)
    again = cli("up", "--format", "json")
    assert again.code == 0, again
    settled(docker_api, prefix, then)


@pytest.mark.parametrize("step", STEPS)
def test_ctrl_c(cli, declare, docker_api, prefix, instant_image, step):
    """Exit 130; before the proof the old one serves again, after it the commit is finished."""
    declare(instant_image, parallel=1)
    assert cli("up").code == 0
    declare(instant_image, parallel=3)
    interrupted = cli.halted(f"{step}:before:SIGINT", "up")
    assert interrupted.code == 130, interrupted
    settled(docker_api, prefix, 3 if step in COMMITTING else 1)
    declare(instant_image, parallel=3)
    assert cli("up").code == 0
    settled(docker_api, prefix, 3)


@pytest.mark.parametrize("step", ["create:1", "logs:1", "rename:1"])
def test_sigkill_with_the_real_server(cli, declare, docker_api, prefix, llama_image, step):
    declare(llama_image, parallel=1)
    assert cli("up").code == 0
    declare(llama_image, parallel=3)
    assert cli.halted(f"{step}:after:SIGKILL", "up").code == -9
    again = cli("up", "--format", "json")
    assert again.code == 0, again
    settled(docker_api, prefix, 3)


def test_ctrl_c_while_a_server_loads_does_not_wait_for_it(cli, declare, docker_api, prefix, instant_image):
    """The successor, which ignores SIGTERM while it loads, is killed at once without one; then the old one starts."""
    declare(instant_image, parallel=1)
    assert cli("up").code == 0
    declare(instant_image, parallel=3, env=LOADS_FOR_EVER)
    running = cli.start("up")
    running.wait_for_text("loading")
    begun = time.time()
    running.signal(signal.SIGINT)
    assert running.finish().code == 130
    told = happened(docker_api, prefix, begun)
    assert [one for one in told if one[1] in ("kill 9", "kill 15", "die", "start")] == [
        (f"{prefix}-m.next", "kill 9"),
        (f"{prefix}-m.next", "die"),
        (f"{prefix}-m", "start"),
    ], told
    settled(docker_api, prefix, 1)


def happened(docker_api, prefix, since):
    """(container, what happened to it, with the signal's number) since then, as the engine tells it, in its order."""
    filters = {"type": "container", "label": f"homellm.stack={prefix}"}
    events = docker_api.events(since=since, until=time.time(), filters=filters, decode=True)
    return [
        (event["Actor"]["Attributes"]["name"], " ".join(filter(None, (event["Action"], signal_of(event)))))
        for event in events
    ]


def signal_of(event):
    return event["Actor"]["Attributes"].get("signal", "")


def test_a_second_ctrl_c_leaves_at_once(cli, declare, docker_api, prefix, instant_image):
    """The first one's undo never comes to its end: homellm stands still where it stops the successor."""
    declare(instant_image, parallel=3, env=LOADS_FOR_EVER)
    running = cli.start_halting("kill:1:before:HANG", "up")
    running.wait_for_text("loading")
    running.signal(signal.SIGINT)
    running.wait_for_text("halted")
    running.signal(signal.SIGINT)
    assert running.finish().code == 130
    assert docker_api.inspect_container(f"{prefix}-m.next")["State"]["Running"]
    assert cli("down").code == 0
    assert leftovers(docker_api, prefix) == []


def test_two_at_once(cli, declare, docker_api, prefix, instant_image):
    """The second says who holds the lock; the first goes on."""
    declare(instant_image, parallel=3, env={"INSTANT_READY_WHEN": gate.PATH, "INSTANT_TALK_WHILE_LOADING": "1"})
    first = cli.start("up")
    first.wait_for_text("loading")
    second = cli("up", "--format", "json")
    assert second.code == 4, second
    (error,) = second.json["errors"]
    assert error["id"] == "locked"
    assert str(first.process.pid) in error["message"]
    gate.Gate(docker_api, f"{prefix}-m.next").open()
    assert first.finish().code == 0
    settled(docker_api, prefix, 3)


def test_a_killed_homellm_holds_no_lock(cli, declare, instant_image):
    declare(instant_image, parallel=3, env=LOADS_FOR_EVER)
    first = cli.start("up")
    first.wait_for_text("loading")
    first.kill()
    declare(instant_image, parallel=3)
    assert cli("up").code == 0

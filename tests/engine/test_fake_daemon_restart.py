"""What a restart of the daemon leaves: the fake engine's answer held against a real daemon, one of the suite's own."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import get_args

from homellm.adapters.docker_engine import connect
from homellm.domain.stack import RestartPolicy
from homellm.ports import Engine
from tests.contract.lab import ENTRYPOINT, import_tiny
from tests.contract.programs import DEAF, QUICK, SERVER, Program, behave
from tests.engine.support.private_engine import PrivateEngine
from tests.engine.support.wait import wait_for
from tests.fakes.engine import FakeEngine, FakeState

#: What happens to a container before the restart.
BEFORE: dict[str, tuple[Program, tuple[str, ...]]] = {
    "listens": (SERVER, ("start",)),
    "deaf": (DEAF, ("start",)),
    "killed": (DEAF, ("start", "SIGKILL")),
    "left": (SERVER, ("start", "SIGTERM")),
    "created": (SERVER, ()),
}
IMAGE = "homellm-test-tiny:restart"


def prepare(engine: Engine, pause: Callable[[], None]) -> None:
    """One container for each policy and each past."""
    for policy in get_args(RestartPolicy):
        for past, (program, acts) in BEFORE.items():
            name = f"homellm-test-{policy}-{past}"
            engine.create(
                name,
                {
                    "Image": IMAGE,
                    "Cmd": [program.script],
                    "StopTimeout": 1,
                    "HostConfig": {"NetworkMode": "none", "RestartPolicy": {"Name": policy}},
                },
            )
            for act in acts:
                if act == "start":
                    engine.start(name)
                    until(lambda name=name: b"".join(engine.logs(name, since=None, follow=False)), pause)
                else:
                    engine.kill(name, act)
                    assert engine.wait(name, 10) is not None
    # A failure that nobody asked for.
    engine.create(
        "homellm-test-ended",
        {"Image": IMAGE, "Cmd": [QUICK.script], "HostConfig": {"NetworkMode": "none"}},
    )
    engine.start("homellm-test-ended")
    engine.wait("homellm-test-ended", 10)


def until(condition: Callable[[], object], pause: Callable[[], None]) -> None:
    deadline = time.monotonic() + 120
    while not condition():
        assert time.monotonic() < deadline
        pause()


def states(engine: Engine) -> dict[str, tuple[str, int, int]]:
    """Status, exit code and number of restarts by name."""
    return {one.name: (one.status, one.exit_code, one.restart_count) for one in engine.list_containers({})}


def test_the_fake_daemon_restarts_what_the_real_one_restarts(private_engine: PrivateEngine, tmp_path: Path) -> None:
    import_tiny(private_engine.api, IMAGE)
    real = connect({"DOCKER_HOST": private_engine.host}, tmp_path)
    prepare(real, lambda: time.sleep(0.02))
    state = FakeState(behave=behave)
    state.add_image(IMAGE, entrypoint=ENTRYPOINT)
    fake = FakeEngine(state)
    prepare(fake, lambda: state.clock.advance(0.02))
    before = states(fake)
    assert before == states(real)
    assert len(before) == 21

    real.close()
    private_engine.restart()
    state.daemon_restart()
    expected = states(fake)
    assert {name for name, (status, _, _) in expected.items() if status == "running"}
    assert expected != before
    real = connect({"DOCKER_HOST": private_engine.host}, tmp_path)
    try:
        # A daemon answers before it has started all of them.
        wait_for(lambda: states(real) == expected, f"the containers to be as those of the fake: {expected}")
    finally:
        real.close()

"""What the fake engine has beyond the contract: a clock, a process that dies, faults made, a daemon that restarts."""

from __future__ import annotations

import threading
from collections.abc import Mapping

import pytest

from homellm.domain.stack import RestartPolicy
from homellm.errors import ContainerGone, EngineRefused, EngineUnreachable, PullFailed
from tests.fakes.behaviour import Behaviour
from tests.fakes.clock import FakeClock
from tests.fakes.engine import MUTATING, Call, FakeEngine, FakeState, Kill, Killed

ACTS: dict[str, Behaviour] = {
    "serve": Behaviour(lines=((0.0, "loading\n"), (2.0, "ready\n")), ready_at_s=2.0),
    "silent": Behaviour(),
    "crash": Behaviour(lines=((0.0, "run\n"),), exit_at_s=1.0, exit_code=3),
}


def behave(image: str, args: tuple[str, ...], env: Mapping[str, str]) -> Behaviour:
    return ACTS[args[0]]


@pytest.fixture
def state() -> FakeState:
    state = FakeState(behave=behave)
    state.add_image("tiny:1")
    return state


def start(engine: FakeEngine, name: str, act: str, policy: RestartPolicy = "no") -> None:
    engine.create(name, {"Image": "tiny:1", "Cmd": [act], "HostConfig": {"RestartPolicy": {"Name": policy}}})
    engine.start(name)


class TestClock:
    def test_it_moves_when_it_is_told(self) -> None:
        clock = FakeClock()
        before = clock.now()
        clock.advance(1.5)
        clock.advance_to(1)
        assert clock.monotonic() == 1.5
        assert (clock.now() - before).total_seconds() == 1.5

    def test_it_ticks_when_it_is_read(self) -> None:
        clock = FakeClock(tick_s=5)
        assert (clock.monotonic(), clock.monotonic()) == (5, 10)

    def test_a_follow_lets_time_pass_to_what_its_container_does_next(self, state: FakeState) -> None:
        engine = FakeEngine(state)
        start(engine, "aa", "serve")
        start(engine, "bb", "crash")
        frames = iter(engine.logs("aa", since=None, follow=True))
        assert next(frames) == b"loading\n"
        assert state.names()["bb"] == "running"
        assert next(frames) == b"ready\n"
        assert 2.0 <= state.clock.monotonic() < 2.1
        assert state.names()["bb"] == "exited"

    def test_by_hand_nothing_passes_by_itself(self) -> None:
        clock = FakeClock(auto=False)
        state = FakeState(clock, behave=behave)
        state.add_image("tiny:1")
        engine = FakeEngine(state)
        start(engine, "aa", "crash")
        waited: list[int | None] = []
        thread = threading.Thread(target=lambda: waited.append(engine.wait("aa", 100)), daemon=True)
        thread.start()
        clock.advance(0.5)
        assert engine.find_container("aa").running  # type: ignore[union-attr]
        clock.advance(0.6)
        thread.join(60)
        assert waited == [3]

    def test_a_time_limit_passes_at_once(self, state: FakeState) -> None:
        engine = FakeEngine(state)
        start(engine, "aa", "silent")
        assert engine.wait("aa", 600) is None
        assert state.clock.monotonic() > 600


class TestKill:
    def steps(self, engine: FakeEngine) -> None:
        engine.create("aa", {"Image": "tiny:1", "Cmd": ["silent"]})
        engine.start("aa")
        engine.rename("aa", "bb")

    @pytest.mark.parametrize(
        ("kill", "left"),
        [
            (Kill(1, "before"), {}),
            (Kill(1, "after"), {"aa": "created"}),
            (Kill(2, "before"), {"aa": "created"}),
            (Kill(2, "after"), {"aa": "running"}),
            (Kill(3, "before"), {"aa": "running"}),
            (Kill(3, "after"), {"bb": "running"}),
            (Kill(1, "after", frozenset({"start"})), {"aa": "running"}),
        ],
    )
    def test_the_process_dies_there_and_the_daemon_goes_on(
        self, state: FakeState, kill: Kill, left: dict[str, str]
    ) -> None:
        engine = FakeEngine(state, kill=kill)
        with pytest.raises(Killed):
            self.steps(engine)
        assert state.names() == left
        with pytest.raises(Killed):
            engine.info()
        again = FakeEngine(state)
        assert {one.name: one.status for one in again.list_containers({})} == left

    def test_after_the_last_call_nothing_happens(self, state: FakeState) -> None:
        engine = FakeEngine(state, kill=Kill(4, "before"))
        self.steps(engine)
        assert state.names() == {"bb": "running"}

    def test_a_call_that_is_refused_can_be_the_last(self, state: FakeState) -> None:
        engine = FakeEngine(state, kill=Kill(1, "after"))
        with pytest.raises(Killed):
            engine.start("nobody")

    def test_what_reads_a_stream_dies_too(self, state: FakeState) -> None:
        engine = FakeEngine(state)
        start(engine, "aa", "silent")
        stream = engine.logs("aa", since=None, follow=True)
        ended: list[BaseException] = []

        def read() -> None:
            try:
                list(stream)
            except Killed as error:
                ended.append(error)

        thread = threading.Thread(target=read, daemon=True)
        thread.start()
        engine.die()
        thread.join(60)
        assert len(ended) == 1

    def test_a_probe_dies_between_its_own_calls(self, state: FakeState) -> None:
        engine = FakeEngine(state, kill=Kill(2, "after"))
        with pytest.raises(Killed):
            engine.probe("tiny:1", ("silent",), {})
        assert list(state.names().values()) == ["running"]

    def test_the_calls_that_change_something_are_known(self) -> None:
        reading = {
            "info",
            "list_containers",
            "published_ports",
            "find_container",
            "inspect",
            "wait",
            "logs",
            "find_image",
            "images_named",
            "probe",
            "find_network",
            "list_networks",
            "get_file",
            "get_tree",
            "file_size",
            "memory_usage",
        }
        own = {"fail", "die", "close"}
        public = {name for name in vars(FakeEngine) if not name.startswith("_")}
        assert public - own == reading | MUTATING


class TestFaults:
    def test_coming_calls_fail_as_told_and_do_nothing(self, state: FakeState) -> None:
        engine = FakeEngine(state)
        start(engine, "aa", "silent")
        engine.fail("kill", EngineRefused("no"), ref="aa", times=2)
        for _ in range(2):
            with pytest.raises(EngineRefused, match="no"):
                engine.kill("aa", "SIGKILL")
        assert state.names() == {"aa": "running"}
        engine.kill("aa", "SIGKILL")
        assert state.names() == {"aa": "exited"}

    def test_somebody_else_acts_in_between(self, state: FakeState) -> None:
        def before(call: Call) -> None:
            if str(call) == "start aa":
                state.vanish("aa")

        engine = FakeEngine(state, before=before)
        engine.create("aa", {"Image": "tiny:1", "Cmd": ["silent"]})
        with pytest.raises(ContainerGone):
            engine.start("aa")

    def test_a_daemon_that_is_down_answers_nobody(self, state: FakeState) -> None:
        state.down = True
        with pytest.raises(EngineUnreachable):
            FakeEngine(state).info()

    def test_a_pull_fails_with_the_engines_words(self, state: FakeState) -> None:
        state.pull_errors["x:1"] = ["no space left on device"]
        with pytest.raises(PullFailed) as error:
            list(FakeEngine(state).pull("x:1"))
        assert error.value.problems[0].id == "disk-full"

    def test_calls_are_recorded(self, state: FakeState) -> None:
        engine = FakeEngine(state)
        start(engine, "aa", "silent")
        engine.rename("aa", "bb")
        assert [str(call) for call in engine.calls] == ["create aa", "start aa", "rename aa bb"]

    def test_a_crash_now(self, state: FakeState) -> None:
        engine = FakeEngine(state)
        start(engine, "aa", "silent")
        state.crash("aa", 137, oom_killed=True)
        container = engine.find_container("aa")
        assert container
        assert (container.exit_code, container.oom_killed) == (137, True)


class TestDaemonRestart:
    """By the rules of the engine's documentation ("Start containers automatically")."""

    @pytest.mark.parametrize(
        ("policy", "after"), [("no", "exited"), ("always", "running"), ("unless-stopped", "running")]
    )
    def test_what_ran(self, state: FakeState, policy: RestartPolicy, after: str) -> None:
        start(FakeEngine(state), "aa", "silent", policy)
        state.daemon_restart()
        assert state.names() == {"aa": after}

    @pytest.mark.parametrize(
        ("policy", "after"),
        [("no", "exited"), ("always", "running"), ("unless-stopped", "exited"), ("on-failure", "running")],
    )
    def test_what_was_killed_by_hand(self, state: FakeState, policy: RestartPolicy, after: str) -> None:
        engine = FakeEngine(state)
        start(engine, "aa", "silent", policy)
        engine.kill("aa", "SIGKILL")
        assert state.names() == {"aa": "exited"}
        state.daemon_restart()
        assert state.names() == {"aa": after}

    def test_what_never_ran_stays(self, state: FakeState) -> None:
        FakeEngine(state).create(
            "aa", {"Image": "tiny:1", "Cmd": ["silent"], "HostConfig": {"RestartPolicy": {"Name": "always"}}}
        )
        state.daemon_restart()
        assert state.names() == {"aa": "created"}

    def test_one_that_loads_is_killed_and_one_that_listens_leaves(self, state: FakeState) -> None:
        engine = FakeEngine(state)
        start(engine, "loading", "serve")
        start(engine, "ready", "silent")
        state.daemon_restart()
        codes = {one.name: one.exit_code for one in engine.list_containers({})}
        assert codes == {"loading": 137, "ready": 0}

    def test_a_follow_ends(self, state: FakeState) -> None:
        engine = FakeEngine(state)
        start(engine, "aa", "silent", "always")
        frames: list[bytes] = []
        stream = engine.logs("aa", since=None, follow=True)
        thread = threading.Thread(target=lambda: frames.extend(stream), daemon=True)
        thread.start()
        state.daemon_restart()
        thread.join(60)
        assert not thread.is_alive()


def test_the_first_line_is_older_than_the_start_as_the_real_engine_has_it(state: FakeState) -> None:
    engine = FakeEngine(state)
    start(engine, "aa", "crash")
    engine.wait("aa", 10)
    container = engine.find_container("aa")
    assert container
    assert list(engine.logs("aa", since=container.started_at, follow=False)) == []
    assert list(engine.logs("aa", since=container.created_at, follow=False)) == [b"run\n"]


def test_memory_grows_as_told(state: FakeState) -> None:
    ACTS["grow"] = Behaviour(memory_bytes=1000, growth_bytes_s=100)
    engine = FakeEngine(state)
    start(engine, "aa", "grow")
    state.clock.advance(10)
    used = engine.memory_usage("aa")
    assert used
    assert 2000 <= used < 2010

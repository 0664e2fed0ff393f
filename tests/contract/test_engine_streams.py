"""Logs and pulls, on the fake and on the real engine alike."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import timedelta

import pytest

from homellm.domain.engine_time import engine_time
from homellm.domain.world import Container
from homellm.errors import EngineRefused, PullFailed
from homellm.ports import PullProgress
from tests.contract.lab import Bench
from tests.contract.programs import DEAF, QUICK, SERVER, SLOW

#: Keeps the suite from hanging; what is waited for comes at once, on whatever machine.
GUARD_S = 60.0


class Reader:
    """Reads a stream in a thread, as homellm does."""

    def __init__(self, read: Callable[[list[object]], None]) -> None:
        self.seen: list[object] = []
        self.error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, args=(read,), daemon=True)
        self._thread.start()

    def _run(self, read: Callable[[list[object]], None]) -> None:
        try:
            read(self.seen)
        except BaseException as error:  # noqa: BLE001 - shown by the test
            self.error = error

    @property
    def reading(self) -> bool:
        return self._thread.is_alive()

    def ended(self) -> bool:
        self._thread.join(GUARD_S)
        return not self._thread.is_alive()


class TestLogs:
    def test_all_of_it_the_end_of_it_and_none_of_it(self, bench: Bench) -> None:
        ref = bench.start(QUICK)
        bench.engine.wait(ref, 60)
        assert bench.log(ref) == b"one\ntwo\n"
        assert bench.log(ref, tail=1) == b"two\n"
        assert bench.log(ref, tail=0) == b""
        assert bench.log(bench.create(QUICK).id) == b""

    def test_since_the_end_of_the_run_before_it_is_this_run_alone(self, bench: Bench) -> None:
        ref = bench.start(QUICK)
        bench.engine.wait(ref, 60)
        first = bench.engine.find_container(ref)
        assert first
        assert bench.log(ref, since=first.created_at) == b"one\ntwo\n"
        assert bench.log(ref, since=first.finished_at) == b""
        bench.engine.start(ref)
        bench.engine.wait(ref, 60)
        assert bench.log(ref) == b"one\ntwo\n" * 2  # a log outlives a restart
        assert bench.log(ref, since=first.finished_at) == b"one\ntwo\n"
        second = bench.engine.find_container(ref)
        assert second
        assert bench.log(ref, since=second.finished_at) == b""

    def test_until_the_end_of_a_run_it_is_without_the_next_one(self, bench: Bench) -> None:
        ref = bench.start(QUICK, HostConfig={"RestartPolicy": {"Name": "always"}})

        def seen(least: int) -> Container | None:
            found = bench.engine.find_container(ref)
            return found if found and found.status == "restarting" and found.restart_count >= least else None

        first = bench.until(lambda: seen(1), "a restart")
        bench.until(lambda: seen(first.restart_count + 1), "another restart")
        end = f"{engine_time(first.finished_at) + timedelta(milliseconds=80):%Y-%m-%dT%H:%M:%S.%f}Z"
        assert bench.log(ref).count(b"one") > first.restart_count
        assert bench.log(ref, until=end) == b"one\ntwo\n" * first.restart_count
        assert bench.log(ref, until=first.created_at) == b""

    def test_it_outlives_a_new_name(self, bench: Bench) -> None:
        name = bench.name()
        ref = bench.start(QUICK, name=name)
        bench.engine.wait(ref, 60)
        bench.engine.rename(name, f"{name}.failed")
        assert bench.log(f"{name}.failed") == b"one\ntwo\n"

    def test_a_follow_ends_with_the_process(self, bench: Bench) -> None:
        ref = bench.start(SLOW)
        assert b"".join(bench.engine.logs(ref, since=None, follow=True)) == b"first\nsecond\n"
        assert bench.engine.wait(ref, 60) == 0

    def test_a_follow_of_what_does_not_run_ends_at_once(self, bench: Bench) -> None:
        ref = bench.create(QUICK).id
        assert list(bench.engine.logs(ref, since=None, follow=True)) == []
        bench.engine.start(ref)
        bench.engine.wait(ref, 60)
        assert b"".join(bench.engine.logs(ref, since=None, follow=True)) == b"one\ntwo\n"

    def test_a_silent_follow_is_ended_from_another_thread(self, bench: Bench) -> None:
        ref = bench.start(DEAF)
        stream = bench.engine.logs(ref, since=None, follow=True)
        reader = Reader(lambda seen: seen.extend(stream))
        bench.until(lambda: reader.seen, "the first frame")
        assert reader.reading
        stream.close()
        assert reader.ended()  # while its container, which says nothing more, runs on
        assert reader.error is None
        assert reader.seen == [b"loading\n"]
        stream.close()
        container = bench.engine.find_container(ref)
        assert container
        assert container.running

    def test_a_follow_of_a_restarted_container_begins_after_its_former_run(self, bench: Bench) -> None:
        ref = bench.start(SERVER)
        bench.until_logged(ref, b"up\n")
        bench.engine.kill(ref, "SIGTERM")
        bench.engine.wait(ref, 60)
        former = bench.engine.find_container(ref)
        assert former
        bench.engine.start(ref)
        stream = bench.engine.logs(ref, since=former.finished_at, follow=True)
        reader = Reader(lambda seen: seen.extend(stream))
        bench.until(lambda: reader.seen, "the first frame")
        bench.engine.kill(ref, "SIGKILL")
        assert reader.ended()
        assert reader.seen == [b"up\n"]

    def test_a_driver_that_keeps_nothing_is_told(self, bench: Bench) -> None:
        ref = bench.start(QUICK, HostConfig={"LogConfig": {"Type": "none"}})
        bench.engine.wait(ref, 60)
        with pytest.raises(EngineRefused) as error:
            bench.engine.logs(ref, since=None, follow=False)
        assert error.value.problems[0].id == "log-unreadable"


class TestPull:
    def test_it_brings_the_image_and_tells_its_progress(self, bench: Bench) -> None:
        ref = bench.lab.serve_image()
        pull = bench.engine.pull(ref)
        assert bench.engine.find_image(ref) is None  # nothing happens before it is iterated
        progress = list(pull)
        image = bench.engine.find_image(ref)
        assert image
        assert ref in image.tags
        assert "A=b" in image.env
        assert progress[-1].done_bytes == progress[-1].total_bytes
        assert all(one.done_bytes <= one.total_bytes for one in progress)
        assert progress[-1].status.startswith("Status: ")

    def test_connections_that_break_off_are_tried_three_times_with_a_notice(self, bench: Bench) -> None:
        ref = bench.lab.serve_image(failures=2)
        notices = [one.status for one in bench.engine.pull(ref) if " Try " in one.status]
        assert [notice.partition(" Try ")[2][:6] for notice in notices] == ["2 of 3", "3 of 3"]
        assert all("does not answer" in notice for notice in notices)
        assert bench.engine.find_image(ref)

    def test_then_it_fails(self, bench: Bench) -> None:
        ref = bench.lab.unreachable_image()
        seen: list[PullProgress] = []
        with pytest.raises(PullFailed, match="connection refused") as error:
            seen.extend(bench.engine.pull(ref))
        assert error.value.problems[0].id == "registry-unreachable"
        assert ref.partition("/")[0] in str(error.value)

    @pytest.mark.parametrize(
        ("which", "expected"), [("unknown_image", "image-not-found"), ("denied_image", "registry-login")]
    )
    def test_what_another_try_cannot_help_fails_at_once(self, bench: Bench, which: str, expected: str) -> None:
        ref = getattr(bench.lab, which)()
        seen: list[PullProgress] = []
        with pytest.raises(PullFailed, match=ref) as error:
            seen.extend(bench.engine.pull(ref))
        assert error.value.problems[0].id == expected
        assert not [one for one in seen if " Try " in one.status]
        assert bench.engine.find_image(ref) is None

    def test_it_is_given_up_from_another_thread(self, bench: Bench) -> None:
        ref = bench.lab.serve_image()
        bench.lab.hold_pull()
        pull = bench.engine.pull(ref)
        reader = Reader(lambda seen: seen.extend(pull))
        bench.until(lambda: len(reader.seen) >= 2, "layers to be told")
        assert reader.reading
        pull.close()
        assert reader.ended()
        assert reader.error is None
        assert bench.engine.find_image(ref) is None
        pull.close()

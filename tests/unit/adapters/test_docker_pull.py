"""Pulls against made connections."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from homellm.adapters.docker_pull import Layers, Pull, PullRefused
from homellm.errors import EngineUnreachable, PullFailed

REF = "ghcr.io/x/y:1"
NO_ANSWER = "dial tcp: lookup ghcr.io: no such host"


class Connection:
    """Gives its lines, then waits to be closed when it `hangs`."""

    def __init__(self, *lines: dict[str, Any], hangs: bool = False) -> None:
        self._lines = lines
        self._hangs = hangs
        self.closed = threading.Event()

    def lines(self) -> Iterator[Mapping[str, object]]:
        yield from self._lines
        if self._hangs:
            assert self.closed.wait(60)

    def close(self) -> None:
        self.closed.set()


class Engine:
    """Answers one request after the other."""

    def __init__(self, *answers: Connection | str | BaseException, here: bool = True) -> None:
        self.answers = list(answers)
        self.asked = 0
        self.here = here

    def connect(self) -> Connection:
        self.asked += 1
        answer = self.answers.pop(0)
        if isinstance(answer, str):
            raise PullRefused(answer)
        if isinstance(answer, BaseException):
            raise answer
        return answer

    def pull(self, waits_s: tuple[float, ...] = (0.0, 0.0)) -> Pull:
        return Pull(REF, self.connect, lambda: self.here, waits_s=waits_s)


def test_nothing_is_asked_before_it_is_iterated() -> None:
    engine = Engine(Connection({"status": "Done"}))
    pull = engine.pull()
    assert engine.asked == 0
    assert [one.status for one in pull] == ["Done"]
    assert engine.asked == 1


def test_an_error_under_status_200_is_an_error() -> None:
    connection = Connection({"status": "Pulling"}, {"error": "write x: no space left on device"})
    with pytest.raises(PullFailed) as error:
        list(Engine(connection).pull())
    assert error.value.problems[0].id == "disk-full"
    assert error.value.original == "write x: no space left on device"
    assert connection.closed.is_set()


@pytest.mark.parametrize("failures", [1, 2])
def test_a_registry_that_does_not_answer_is_asked_again(failures: int) -> None:
    engine = Engine(*[NO_ANSWER] * failures, Connection({"status": "Done"}))
    statuses = [one.status for one in engine.pull()]
    assert engine.asked == failures + 1
    assert statuses[-1] == "Done"
    assert len([status for status in statuses if " Try " in status]) == failures
    assert "no such host" in statuses[0]


def test_after_three_tries_it_fails() -> None:
    engine = Engine(*[NO_ANSWER] * 5)
    with pytest.raises(PullFailed) as error:
        list(engine.pull())
    assert engine.asked == 3
    assert error.value.problems[0].id == "registry-unreachable"


def test_a_connection_that_is_lost_in_the_middle_is_tried_again() -> None:
    engine = Engine(Connection({"error": "unexpected EOF"}), Connection({"status": "Done"}))
    assert [one.status for one in engine.pull()][-1] == "Done"


def test_an_end_without_the_image_is_no_success() -> None:
    engine = Engine(*[Connection({"status": "Pulling"}) for _ in range(3)], here=False)
    with pytest.raises(PullFailed, match="the pull ended"):
        list(engine.pull())
    assert engine.asked == 3


def test_what_another_try_cannot_help_is_tried_once() -> None:
    engine = Engine("manifest unknown", Connection())
    with pytest.raises(PullFailed):
        list(engine.pull())
    assert engine.asked == 1


def test_an_engine_that_goes_away_is_told_as_that() -> None:
    engine = Engine(EngineUnreachable("gone"), Connection())
    with pytest.raises(EngineUnreachable):
        list(engine.pull())
    assert engine.asked == 1


class TestClose:
    def read(self, pull: Pull) -> tuple[threading.Thread, list[object]]:
        seen: list[object] = []
        thread = threading.Thread(target=lambda: seen.extend(pull), daemon=True)
        thread.start()
        return thread, seen

    def test_while_layers_come(self) -> None:
        connection = Connection({"status": "Pulling"}, hangs=True)
        pull = Engine(connection).pull()
        frames = iter(pull)
        assert next(frames).status == "Pulling"
        pull.close()
        assert list(frames) == []
        assert connection.closed.is_set()
        pull.close()

    def test_while_the_engine_still_asks_the_registry(self) -> None:
        asking, answered = threading.Event(), threading.Event()
        late = Connection({"status": "late"}, hangs=True)

        def connect() -> Connection:
            asking.set()
            assert answered.wait(60)
            return late

        pull = Pull(REF, connect, lambda: False)
        thread, seen = self.read(pull)
        assert asking.wait(60)
        pull.close()
        thread.join(60)
        assert not thread.is_alive()
        assert seen == []
        answered.set()
        assert late.closed.wait(60)  # the answer that comes after all is hung up on

    def test_while_it_waits_for_the_next_try(self) -> None:
        engine = Engine(*[NO_ANSWER] * 3)
        pull = engine.pull(waits_s=(60.0, 60.0))
        frames = iter(pull)
        assert " Try 2 of 3 in 60 s" in next(frames).status
        pull.close()
        assert list(frames) == []
        assert engine.asked == 1

    def test_by_leaving_the_loop(self) -> None:
        connection = Connection({"status": "Pulling"}, hangs=True)
        frames = iter(Engine(connection).pull())
        next(frames)
        del frames
        assert connection.closed.wait(60)


class TestLayers:
    def test_bytes_are_summed_over_layers(self) -> None:
        layers = Layers()

        def take(status: str, layer: str = "", **detail: int) -> tuple[int, int]:
            one = layers.take({"status": status, "id": layer, "progressDetail": detail})
            return one.done_bytes, one.total_bytes

        assert take("Pulling from x/y", "1") == (0, 0)
        assert take("Already exists", "old") == (0, 0)
        assert take("Pulling fs layer", "a") == (0, 0)
        assert take("Downloading", "a", current=10, total=100) == (10, 100)
        assert take("Downloading", "b", current=5, total=50) == (15, 150)
        assert take("Download complete", "a") == (105, 150)
        assert take("Extracting", "a", current=1, total=100) == (105, 150)
        assert take("Downloading", "b", current=50, total=50) == (150, 150)
        assert take("Pull complete", "b") == (150, 150)
        assert take("Status: Downloaded newer image") == (150, 150)

    def test_a_layer_without_a_total_is_no_less_than_what_came(self) -> None:
        layers = Layers()
        one = layers.take({"status": "Downloading", "id": "a", "progressDetail": {"current": 10}})
        assert (one.done_bytes, one.total_bytes) == (10, 10)

    def test_lines_without_a_layer_count_nothing(self) -> None:
        assert Layers().take({"status": "Digest: sha256:1"}).total_bytes == 0

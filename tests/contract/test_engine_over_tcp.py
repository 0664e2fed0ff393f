"""The real engine behind TCP, as a context of another machine has it: what hangs on the kind of connection."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from homellm.adapters.docker_engine import connect
from tests.contract.lab import Bench, RealLab
from tests.contract.programs import DEAF
from tests.contract.test_engine_streams import Reader


class Forward:
    """A TCP port of 127.0.0.1 that leads to the engine's socket."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._open: list[socket.socket] = []
        self._listening = socket.socket()
        self._listening.bind(("127.0.0.1", 0))
        self._listening.listen()
        self.port = int(self._listening.getsockname()[1])
        self._threads = [threading.Thread(target=self._serve, daemon=True)]
        self._threads[0].start()

    def _serve(self) -> None:
        while True:
            try:
                near, _ = self._listening.accept()
            except OSError:
                return
            far = socket.socket(socket.AF_UNIX)
            far.connect(self._path)
            self._open += [near, far]
            for source, target in ((near, far), (far, near)):
                thread = threading.Thread(target=_pump, args=(source, target), daemon=True)
                self._threads.append(thread)
                thread.start()

    def close(self) -> None:
        """End all of it."""
        for one in (self._listening, *self._open):
            _hang_up(one)
        for thread in self._threads:
            thread.join(60)
        for one in (self._listening, *self._open):
            one.close()


def _pump(source: socket.socket, target: socket.socket) -> None:
    try:
        while data := source.recv(65536):
            target.sendall(data)
    except OSError:
        pass
    _hang_up(target)


def _hang_up(one: socket.socket) -> None:
    try:
        one.shutdown(socket.SHUT_RDWR)
    except OSError:
        return


@pytest.fixture
def far(real_lab: RealLab, tmp_path: Path) -> Iterator[Bench]:
    """The engine of `real_lab`, reached by TCP."""
    forward = Forward(real_lab.engine.info().address.removeprefix("unix://"))
    engine = connect({"DOCKER_HOST": f"tcp://127.0.0.1:{forward.port}"}, tmp_path)
    near, real_lab.engine = real_lab.engine, engine
    try:
        yield Bench(real_lab)
    finally:
        real_lab.engine = near
        real_lab.sweep()
        engine.close()
        forward.close()


@pytest.mark.engine
def test_a_silent_follow_is_ended_and_a_wait_keeps_its_limit(far: Bench) -> None:
    assert not far.engine.info().local
    ref = far.start(DEAF)
    stream = far.engine.logs(ref, since=None, follow=True)
    reader = Reader(lambda seen: seen.extend(stream))
    far.until(lambda: reader.seen, "the first frame")
    stream.close()
    assert reader.ended()
    assert reader.seen == [b"loading\n"]
    assert reader.error is None
    before = time.monotonic()
    assert far.engine.wait(ref, 0.3) is None
    assert 0.3 <= time.monotonic() - before < 60  # the limit of any other call is two minutes

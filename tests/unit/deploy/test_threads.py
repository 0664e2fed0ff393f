"""Waiting in the main thread, in which Python runs the handlers of signals."""

import signal
import sys
import threading
import time

import pytest

from homellm.adapters.background_pull import BackgroundPull
from homellm.deploy.threads import side_by_side

#: A guard against hanging alone.
GUARD_S = 30


class Unwoken:
    """A signal that another thread gets while the main thread waits, so that nothing wakes that one."""

    def __init__(self):
        self.heard = threading.Event()

    def send(self):
        """Send it from a thread that works; whether it was heeded."""
        assert threading.current_thread() is not threading.main_thread()
        until = time.monotonic() + GUARD_S
        while not self._main_waits() and time.monotonic() < until:
            pass
        signal.pthread_kill(threading.get_ident(), signal.SIGUSR1)
        return self.heard.wait(GUARD_S)

    def _main_waits(self):
        """Not for the start of this thread, but in a queue; that of C has no frame of its own."""
        frame = sys._current_frames()[threading.main_thread().ident]
        at = (frame.f_back.f_code.co_name, frame.f_code.co_name)
        return at == ("get", "wait") or at[1] == "__iter__"


@pytest.fixture
def unwoken():
    found = Unwoken()
    before = signal.signal(signal.SIGUSR1, lambda _number, _frame: found.heard.set())
    yield found
    signal.signal(signal.SIGUSR1, before)


def test_a_signal_is_heeded_while_nothing_happens(unwoken):
    assert side_by_side({"a": lambda _emit: unwoken.send()}, print) == {"a": True}


def test_and_while_a_pull_tells_nothing(unwoken):
    heeded = []

    class Silent(BackgroundPull):
        def _bring(self):
            heeded.append(unwoken.send())

        def _cut(self):
            pass

    assert list(Silent("silent")) == []
    assert heeded == [True]

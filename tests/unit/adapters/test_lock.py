"""The lock, held by real processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from homellm.adapters.lock import StackLock
from homellm.domain.world import EngineInfo
from homellm.errors import ExitCode, Locked

HOLD = """
import sys
from homellm.adapters.lock import StackLock
from homellm.domain.world import EngineInfo
engine = EngineInfo(id=sys.argv[1], version="", root_dir=sys.argv[2], cpus=1, memory_bytes=1, log_driver="")
try:
    lock = StackLock(engine, sys.argv[3])
    lock.acquire()
except Exception as error:
    print(error, flush=True)
    sys.exit(error.exit_code)
print("held", flush=True)
sys.stdin.read()
"""


def engine(engine_id: str, root_dir: str = "/var/lib/docker") -> EngineInfo:
    return EngineInfo(id=engine_id, version="", root_dir=root_dir, cpus=1, memory_bytes=1, log_driver="")


@pytest.fixture
def engine_id() -> str:
    return f"TEST:{uuid.uuid4()}"


class Holder:
    """A child process that takes the lock and keeps it until its input ends."""

    def __init__(self, engine_id: str, stack: str, root_dir: str = "/var/lib/docker") -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", HOLD, engine_id, root_dir, stack],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout
        self.said = self.process.stdout.readline().strip()

    def end(self, number: int | None = None) -> int:
        if number is not None:
            os.kill(self.process.pid, number)
        self.process.communicate()
        return self.process.returncode


@pytest.fixture
def holder(engine_id: str) -> Iterator[Holder]:
    held = Holder(engine_id, "nuc")
    yield held
    if held.process.poll() is None:
        held.end(signal.SIGKILL)


def test_a_second_one_is_told_pid_and_command_line_of_the_first(engine_id: str, holder: Holder) -> None:
    assert holder.said == "held"
    with pytest.raises(Locked) as caught:
        StackLock(engine(engine_id), "nuc").acquire()
    assert f"process {holder.process.pid} ({sys.executable} -c" in str(caught.value)
    assert "stack nuc" in str(caught.value)
    assert caught.value.hint.endswith(f"kill {holder.process.pid}")
    assert caught.value.exit_code is ExitCode.REFUSED


def test_asking_who_holds_it_takes_nothing_from_the_holder(engine_id: str, holder: Holder) -> None:
    for _ in range(200):  # more than its queue of connections takes
        with pytest.raises(Locked):
            StackLock(engine(engine_id), "nuc").acquire()
    assert holder.end() == 0


def test_sigkill_frees_it_at_once(engine_id: str, holder: Holder) -> None:
    assert holder.end(signal.SIGKILL) == -signal.SIGKILL
    with StackLock(engine(engine_id), "nuc"):
        second = Holder(engine_id, "nuc")
        assert second.said.startswith(f"Another homellm is at work on the stack nuc: process {os.getpid()} (")
        assert second.end() == ExitCode.REFUSED


def test_released_it_can_be_taken_by_another_process(engine_id: str) -> None:
    lock = StackLock(engine(engine_id), "nuc")
    with lock:
        second = Holder(engine_id, "nuc")
        assert second.said.startswith("Another homellm is at work")
        assert second.end() == ExitCode.REFUSED
    third = Holder(engine_id, "nuc")
    assert third.said == "held"
    third.end()
    lock.release()  # without the lock: nothing happens


@pytest.mark.parametrize(
    ("root_dir", "stack"),
    [("/var/lib/docker", "other"), ("/srv/docker", "nuc")],
    ids=["another stack", "another daemon that shows the same id"],
)
def test_it_guards_one_stack_of_one_daemon(engine_id: str, root_dir: str, stack: str) -> None:
    with StackLock(engine(engine_id), "nuc"):
        other = Holder(engine_id, stack, root_dir)
        assert other.said == "held"
        other.end()


def test_the_socket_is_abstract_and_named_by_a_digest(engine_id: str) -> None:
    lock = StackLock(engine(engine_id), "nuc")
    with lock:
        listed = Path("/proc/net/unix").read_text()
    assert f"@{lock.name}" in listed
    assert len(lock.name) == len("homellm-") + 32
    assert engine_id not in lock.name


def test_a_holder_without_a_readable_command_line_is_told_by_its_pid(
    engine_id: str, holder: Holder, tmp_path: Path
) -> None:
    with pytest.raises(Locked, match=rf"process {holder.process.pid}\."):
        StackLock(engine(engine_id), "nuc", proc=tmp_path).acquire()

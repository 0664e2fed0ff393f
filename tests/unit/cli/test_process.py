"""homellm as a process: signals, terminals, readers that leave, disks that are full."""

from __future__ import annotations

import json
import os
import pty
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]

#: A verb of deploy that says it is there, waits for the first Ctrl-C, and takes `undo_s` to undo.
WAITING = """
import sys, time
from homellm.domain.events import ModelFinished, Progress, StackOpened
from homellm.domain.reports import ModelReport, StackReport
from homellm.domain.verdicts import State
from homellm.errors import ExitCode, Interrupted, Problem
from tests.unit.cli.fakes import VERIFIED, install
from homellm.cli.main import run

def act(stack, only, ports, options, scope, emit):
    emit(StackOpened("nuc", ("lfm2.5", "embed"), ("Docker 27.1",)))
    emit(Progress("embed", "loading", "waits here"))
    while not scope.wait(0.05):
        pass
    emit(Progress("embed", "undoing", "undoing now"))
    time.sleep({undo_s})
    raise Interrupted("interrupted; undone")

install("up", act)
sys.argv = ["homellm", "up", *{argv!r}]
run()
"""

QUICK = """
import sys
from homellm.domain.events import ModelFinished, Progress, StackOpened
from homellm.domain.reports import ModelReport
from tests.unit.cli.fakes import VERIFIED, install
from homellm.cli.main import run

def act(stack, only, ports, options, scope, emit):
    emit(StackOpened("nuc", ("lfm2.5", "embed"), ("Docker 27.1",)))
    for count in range({lines}):
        emit(Progress("embed", "loading", "x" * 200 + chr(97 + count % 26)))
    with open({mark!r}, "w") as file:
        file.write("done")
    for model in VERIFIED.models:
        emit(ModelFinished(model))
    return VERIFIED

install("up", act)
sys.argv = ["homellm", "up", *{argv!r}]
run()
"""


def start(code: str, **more: object) -> subprocess.Popen[bytes]:
    environ = {**os.environ, "PYTHONPATH": str(ROOT), "TERM": "xterm", "PYTHONWARNINGS": "error"}
    given: dict[str, object] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "env": environ, **more}
    return subprocess.Popen([sys.executable, "-c", code], **given)  # type: ignore[call-overload,no-any-return]


def read_until(stream: int, word: bytes, deadline_s: float = 120) -> bytes:
    """What came until `word` did. Fails when it does not come in time."""
    got, end = b"", time.monotonic() + deadline_s
    while word not in got:
        ready, _, _ = select.select([stream], [], [], max(0, end - time.monotonic()))
        assert ready, f"{word!r} did not come, but {got!r}"
        try:
            piece = os.read(stream, 65536)
        except OSError:  # a terminal whose last process has left
            piece = b""
        assert piece, f"{word!r} did not come, but {got!r}"
        got += piece
    return got


def ended(process: subprocess.Popen[bytes]) -> tuple[int, bytes]:
    """The exit code and stderr of a process whose stdout is closed here."""
    assert process.stderr is not None
    with process.stderr as stream:
        return process.wait(timeout=120), stream.read()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_the_first_signal_undoes_and_ends_with_130(number: signal.Signals) -> None:
    process = start(WAITING.format(undo_s=0, argv=[]))
    assert process.stdout is not None
    read_until(process.stdout.fileno(), b"waits here")
    process.send_signal(number)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 130
    assert b"undoing now" in out
    assert err == b"interrupted; undone\n"


def test_the_second_signal_leaves_at_once() -> None:
    process = start(WAITING.format(undo_s=600, argv=[]))
    assert process.stdout is not None
    read_until(process.stdout.fileno(), b"waits here")
    process.send_signal(signal.SIGINT)
    read_until(process.stdout.fileno(), b"undoing now")
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=120)  # the undo would take ten minutes
    assert process.returncode == 130
    assert err == b"left in the middle: homellm up goes on from here.\n"


def test_a_connection_that_is_lost_undoes_though_its_signal_comes_twice() -> None:
    """The terminal goes, the kernel tells the group of it, and so does the shell."""
    process, leader = on_terminal(WAITING.format(undo_s=1, argv=[]))
    read_until(leader, b"waits here")
    process.send_signal(signal.SIGHUP)
    read_until(leader, b"undoing now")
    process.send_signal(signal.SIGHUP)
    os.close(leader)
    _, err = process.communicate(timeout=120)
    assert (process.returncode, err) == (130, b"interrupted; undone\n")


def test_an_interrupted_verb_prints_one_document() -> None:
    process = start(
        WAITING.format(undo_s=0, argv=["--format", "json"]).replace(
            "emit(StackOpened", "print('begun', file=sys.stderr, flush=True); emit(StackOpened"
        )
    )
    assert process.stderr is not None
    read_until(process.stderr.fileno(), b"begun")
    process.send_signal(signal.SIGTERM)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 130
    assert [error["id"] for error in json.loads(out)["errors"]] == ["interrupted"]
    assert err.strip() == b""


def test_a_signal_that_was_ignored_at_the_start_stays_ignored() -> None:
    code = WAITING.format(undo_s=0, argv=[])
    process = start("import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)\n" + code)
    assert process.stdout is not None
    read_until(process.stdout.fileno(), b"waits here")
    process.send_signal(signal.SIGINT)
    process.send_signal(signal.SIGTERM)  # heard as the first one
    process.communicate(timeout=120)
    assert process.returncode == 130


def test_before_a_verb_is_at_work_a_signal_ends_it_with_130() -> None:
    code = WAITING.format(undo_s=0, argv=[]).replace(
        'install("up", act)',
        'install("up", act)\nfrom homellm.cli import wiring\n'
        'def silent(*_):\n    print("connecting", flush=True)\n    time.sleep(600)\nwiring.connect = silent',
    )
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        process = start(code)
        assert process.stdout is not None
        read_until(process.stdout.fileno(), b"connecting")
        process.send_signal(number)
        _, err = process.communicate(timeout=120)
        assert (process.returncode, err) == (130, b"interrupted\n")


def on_terminal(code: str) -> tuple[subprocess.Popen[bytes], int]:
    """A process whose stdout is a terminal of 80 columns; the other end of it."""
    leader, follower = pty.openpty()
    process = start(code, stdout=follower, stdin=follower)
    os.close(follower)
    return process, leader


def rest_of(leader: int) -> bytes:
    got = b""
    while True:
        try:
            piece = os.read(leader, 65536)
        except OSError:
            break
        if not piece:
            break
        got += piece
    os.close(leader)
    return got


def test_on_a_terminal_lines_are_redrawn_and_the_table_stays(tmp_path: Path) -> None:
    process, leader = on_terminal(QUICK.format(lines=3, mark=str(tmp_path / "mark"), argv=[]))
    text = rest_of(leader).decode()
    _, err = process.communicate(timeout=120)
    assert (process.returncode, err) == (0, b"")
    assert text.index("\x1b[?25l") < text.rindex("\x1b[?25h")
    final = text[text.rindex("\x1b[?25h") :]
    assert "\x1b[32m✔\x1b[0m lfm2.5" in final
    assert "Nothing to do" in final


def test_no_color_on_a_terminal(tmp_path: Path) -> None:
    process, leader = on_terminal(QUICK.format(lines=1, mark=str(tmp_path / "mark"), argv=["--no-color"]))
    text = rest_of(leader).decode()
    process.communicate(timeout=120)
    assert "\x1b[32m" not in text
    assert "✔ lfm2.5" in text


def test_the_cursor_is_back_after_the_second_signal() -> None:
    process, leader = on_terminal(WAITING.format(undo_s=600, argv=[]))
    read_until(leader, b"waits here")
    process.send_signal(signal.SIGINT)
    seen = read_until(leader, b"once more leaves at once")
    assert b"\x1b[?25h" not in seen
    process.send_signal(signal.SIGINT)
    assert rest_of(leader).rstrip(b"\r\n").endswith(b"\x1b[?25h")
    process.communicate(timeout=120)
    assert process.returncode == 130


def test_a_reader_that_leaves_does_not_end_a_deployment(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    process = start(QUICK.format(lines=2000, mark=str(mark), argv=[]))
    assert process.stdout is not None
    process.stdout.close()
    assert ended(process) == (0, b"")
    assert mark.read_text() == "done"


def test_a_terminal_that_goes_away_does_not_either(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    code = QUICK.format(lines=500, mark=str(mark), argv=[])
    process, leader = on_terminal("import signal; signal.signal(signal.SIGHUP, signal.SIG_IGN)\n" + code)
    os.close(leader)
    _, err = process.communicate(timeout=120)
    assert (process.returncode, err) == (0, b"")
    assert mark.read_text() == "done"


@pytest.mark.parametrize("argv", [[], ["--format", "json"]])
def test_a_full_disk_is_told_at_the_end(argv: list[str], tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    with Path("/dev/full").open("wb") as full:
        process = start(QUICK.format(lines=5, mark=str(mark), argv=argv), stdout=full)
        _, err = process.communicate(timeout=120)
    assert process.returncode == 1
    assert b"No space left on device" in err
    assert b"Traceback" not in err
    assert mark.read_text() == "done"


def test_without_any_stdout(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    code = f"import os; os.close(1); os.close(2)\n{QUICK.format(lines=5, mark=str(mark), argv=[])}"
    process = start(code)
    process.communicate(timeout=120)
    assert mark.read_text() == "done"


def test_an_ascii_locale_gets_ascii_and_json_stays_utf8(tmp_path: Path) -> None:
    environ = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "ascii:strict"}
    mark = str(tmp_path / "mark")
    table = start(QUICK.format(lines=1, mark=mark, argv=[]), env=environ).communicate(timeout=120)[0]
    assert b"+ lfm2.5" in table
    code = QUICK.format(lines=1, mark=mark, argv=["--format", "json"]).replace("VERIFIED\n", "VERIFIED\n", 1)
    assert json.loads(start(code, env=environ).communicate(timeout=120)[0])["stack"] == "nuc"


def test_logs_end_quietly_when_their_reader_leaves() -> None:
    code = """
import sys
from tests.unit.cli.fakes import install
from homellm.cli.main import run
from homellm.errors import Interrupted

def act(stack, only, ports, scope, *, follow, tail, write):
    while not scope.wait(0):
        write("embed", "x" * 1000)
    raise Interrupted("interrupted")

install("logs", act)
sys.argv = ["homellm", "logs", "-f"]
run()
"""
    process = start(code)
    assert process.stdout is not None
    read_until(process.stdout.fileno(), b"embed  | x")
    process.stdout.close()
    assert ended(process) == (0, b"")


def test_logs_on_a_full_disk_end_with_an_error() -> None:
    code = """
import sys
from tests.unit.cli.fakes import install
from homellm.cli.main import run

def act(stack, only, ports, scope, *, follow, tail, write):
    while not scope.wait(0):
        write("embed", "x" * 1000)

install("logs", act)
sys.argv = ["homellm", "logs", "-f"]
run()
"""
    with Path("/dev/full").open("wb") as full:
        process = start(code, stdout=full)
        _, err = process.communicate(timeout=120)
    assert (process.returncode, err.count(b"\n")) == (1, 1)
    assert b"No space left on device" in err


def test_a_wrong_command_line_as_a_process() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "homellm", "up", "--nope"], capture_output=True, check=False, timeout=60, cwd=ROOT
    )
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.startswith(b"error: No such option: --nope")

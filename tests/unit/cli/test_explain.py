"""`homellm explain`: a file or a pipe in, words or one JSON document out."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path

import pytest

from homellm.cli.main import main
from homellm.errors import ExitCode

LOGS = Path(__file__).parents[2] / "fixtures" / "logs"
#: A small process in between: the kernel counts what a parent had at the fork as its child's.
MEASURE = """
import resource, subprocess, sys
subprocess.run([sys.executable, "-m", "homellm", "explain", sys.argv[1], "--format", "json"], check=True)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, file=sys.stderr)  # KiB
"""
Capture = pytest.CaptureFixture[str]


class Piped(io.TextIOWrapper):
    """Standard input with a log in it."""

    def __init__(self, data: bytes, *, terminal: bool = False) -> None:
        super().__init__(io.BytesIO(data))
        self._terminal = terminal

    def isatty(self) -> bool:
        return self._terminal


def test_a_file_in_words(capsys: Capture) -> None:
    assert main(["explain", str(LOGS / "v11669-a.log")]) == ExitCode.OK
    out, err = capsys.readouterr()
    assert "It has 3 slots of 2048 tokens each." in out
    assert err == ""


def test_a_file_as_json(capsys: Capture) -> None:
    assert main(["explain", "--format", "json", str(LOGS / "c-badpath.log")]) == ExitCode.OK
    found = json.loads(capsys.readouterr().out)
    assert found["ready"] is False
    assert [problem["id"] for problem in found["problems"]] == ["no-auth", "model-missing"]


@pytest.mark.parametrize("arguments", [["explain", "--format", "json"], ["--format", "json", "explain", "-"]])
def test_a_pipe(arguments: list[str], monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    monkeypatch.setattr(sys, "stdin", Piped((LOGS / "o-canary.log").read_bytes()))
    assert main(arguments) == ExitCode.OK
    found = json.loads(capsys.readouterr().out)
    assert (found["server"], [load["slots"] for load in found["loads"]]) == ("ollama", [3, 1])


def test_a_terminal_has_no_log_to_read(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    monkeypatch.setattr(sys, "stdin", Piped(b"", terminal=True))
    assert main(["explain"]) == ExitCode.USAGE
    assert "docker logs NAME 2>&1 | homellm explain" in capsys.readouterr().err


def test_a_file_that_is_not_there(tmp_path: Path, capsys: Capture) -> None:
    assert main(["explain", str(tmp_path / "none.log")]) == ExitCode.USAGE
    assert "there is no file" in capsys.readouterr().err
    assert main(["explain", str(tmp_path / "none.log"), "--format", "json"]) == ExitCode.USAGE
    assert json.loads(capsys.readouterr().out)["errors"][0]["id"] == "no-file"


def test_a_folder_is_no_log(tmp_path: Path, capsys: Capture) -> None:
    assert main(["explain", str(tmp_path)]) == ExitCode.USAGE
    assert "is a folder" in capsys.readouterr().err


def test_what_is_no_log_is_read_and_called_none(tmp_path: Path, capsys: Capture) -> None:
    junk = tmp_path / "junk"
    junk.write_bytes(bytes(range(256)) * 100)
    assert main(["explain", str(junk)]) == ExitCode.OK
    assert "No line of this log" in capsys.readouterr().out


def test_a_large_log_is_read_in_little_memory(tmp_path: Path) -> None:
    """A whole process over 60 MB, of which one line alone has 40: it may take 100 MiB at most."""
    start = (LOGS / "v11669-a.log").read_bytes() + b"\n"
    line = b"0.01.%03d.%03d I srv  log_server_r: request: GET /health 127.0.0.1 %d\n"
    log = tmp_path / "big.log"
    with log.open("wb") as out:
        out.write(start)
        for number in range(250_000):
            out.write(line % (number % 1000, number * 7 % 1000, number))
        out.write(b"x" * 40_000_000 + b"\n")
    measured = subprocess.run(
        [sys.executable, "-c", MEASURE, str(log)], capture_output=True, text=True, check=True, timeout=120
    )
    assert json.loads(measured.stdout)["slots"] == 3
    assert int(measured.stderr) < 100 * 1024

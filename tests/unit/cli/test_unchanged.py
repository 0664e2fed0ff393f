"""The short cut at the entry, and what an ordinary `up` hands to those who keep it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from homellm.cli import entry, witnessed
from homellm.cli.options import Common, Format
from homellm.cli.run_verb import Call, Emit
from homellm.cli.witnessed import Witnessed
from homellm.domain.events import Event, ModelFinished, Note, Progress, StackOpened
from homellm.domain.evidence import Evidence
from homellm.domain.reports import StackReport
from homellm.errors import ExitCode, Problem
from homellm.report.commands import Commands
from homellm.report.tables import up_table
from homellm.unchanged.keep import Begun
from tests.unit.deploy.lab import Lab, model

DECLARED = model(ctx=2048, parallel=3)


class Kept:
    """What was handed over to be kept."""

    def __init__(self) -> None:
        self.printed: list[bytes] = []
        self.calls: list[tuple[Any, ...]] = []

    def __call__(self, *given: Any) -> bool:
        self.calls.append(given)
        self.printed.append(given[-1])
        return True


@pytest.fixture
def kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Kept:
    found = Kept()
    monkeypatch.setattr(witnessed, "keep", found)
    monkeypatch.setattr(witnessed, "begin", lambda *_: Begun("path", [], {}, []))
    monkeypatch.setenv("HOME", str(tmp_path))
    return found


def run(
    lab: Lab,
    kept: Kept,
    *,
    common: Common | None = None,
    usual: bool = True,
    code: ExitCode = ExitCode.OK,
    more: tuple[Event, ...] = (),
    change: Callable[[StackReport], StackReport] = lambda report: report,
) -> list[Event]:
    """An `up` on a lab; the events that came through."""
    common, events = common or Common(), []
    found = Witnessed.start(common, Commands(), lambda report, width: up_table(report, width=width), usual=usual)
    stack = lab.stack(DECLARED)
    call = Call(stack, (), lab.ports(), SimpleNamespace(), events.append)  # type: ignore[arg-type]

    def act(emit: Emit) -> StackReport:
        lab.events = SimpleNamespace(append=emit)  # type: ignore[assignment]
        report = lab.up(DECLARED)
        for event in more:
            emit(event)
        return change(report)

    found.run(call, act)
    found.keep(code)
    return events


def test_what_is_kept_is_what_the_next_up_prints(kept: Kept) -> None:
    lab = Lab()
    run(lab, kept)
    run(lab, kept)
    first, second = (printed.decode() for printed in kept.printed)
    assert first == second
    assert first.splitlines()[1:3] == ["smol  verified", ""]
    assert first.endswith("\nNothing to do: everything runs as declared.\n")
    begun, _, stack, engine, (proved,), files, _ = kept.calls[0]
    assert begun.path == "path"
    assert (stack.name, proved.container, proved.model) == ("nuc", "nuc-smol", DECLARED)
    assert engine == lab.engine.info()
    assert "/models/smol.gguf" in files
    assert proved.until_ns > 0


def test_json_is_kept_as_json(kept: Kept) -> None:
    run(Lab(), kept, common=Common(format=Format.JSON))
    (printed,) = kept.printed
    assert printed.startswith(b'{\n  "stack": "nuc"')
    assert b'"ready_s": null' in printed


def test_events_go_on_as_they_came(kept: Kept) -> None:
    events = run(Lab(), kept, more=(Progress("smol", "loading"),))
    assert isinstance(events[0], StackOpened)
    assert any(isinstance(event, ModelFinished) for event in events)
    assert events[-1] == Progress("smol", "loading")


@pytest.mark.parametrize(
    "case",
    [
        {"code": ExitCode.DEGRADED},
        {"code": ExitCode.FAULT},
        {"usual": False},
        {"more": (Note("not in the stack file any more: nuc-old", warning=True),)},
        {"change": lambda report: replace(report, removed=("nuc-old",))},
        {"change": lambda report: replace(report, engine=None)},
        {"change": lambda report: replace(report, problems=(Problem("x", "x"),))},
        {"change": lambda report: replace(report, models=(replace(report.models[0], problems=(Problem("x", "x"),)),))},
        {"change": lambda report: replace(report, models=(replace(report.models[0], seen=None),))},
        {"change": lambda report: replace(report, models=(replace(report.models[0], seen=Evidence()),))},
    ],
)
def test_what_is_not_wholly_proved_is_not_kept(kept: Kept, case: dict[str, Any]) -> None:
    run(Lab(), kept, **case)
    assert kept.calls == []


def test_a_note_that_is_no_warning_keeps_nothing_back(kept: Kept) -> None:
    run(Lab(), kept, more=(Note("the log driver rotates by its own rules", model="smol"),))
    assert len(kept.calls) == 1


def test_a_fault_of_it_is_nobody_s_business(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> bool:
        raise RuntimeError("of the short cut")

    monkeypatch.setattr(witnessed, "keep", fail)
    run(Lab(), kept)


# -- the entry


def test_what_is_confirmed_is_printed_and_nothing_else_is_done() -> None:
    code = (
        "import sys; sys.argv = ['homellm', 'up']\n"
        "import homellm.unchanged.confirm as c; c.confirmed = lambda *_: 'nuc ✔\\n'.encode()\n"
        "from homellm.cli.entry import run; run()\n"
        "assert 'typer' not in sys.modules and 'homellm.cli.main' not in sys.modules"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "nuc ✔\n".encode(), b"")


def test_a_disk_that_is_full_is_told_of_it_too() -> None:
    code = (
        "import sys; sys.argv = ['homellm', 'up']\n"
        "import homellm.unchanged.confirm as c; c.confirmed = lambda *_: b'x'\n"
        "from homellm.cli.entry import run; run()\n"
    )
    with open("/dev/full", "wb") as full:  # noqa: PTH123 - a device
        done = subprocess.run([sys.executable, "-c", code], stdout=full, stderr=subprocess.PIPE, check=False)
    assert done.returncode == 1
    assert b"No space left" in done.stderr


def test_ctrl_c_while_it_looks_is_told_as_ever(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def interrupt(*_: Any) -> bytes:
        raise KeyboardInterrupt

    monkeypatch.setattr("homellm.unchanged.confirm.confirmed", interrupt)
    monkeypatch.setattr(sys, "argv", ["homellm", "up"])
    before = signal.getsignal(signal.SIGINT)
    try:
        with pytest.raises(SystemExit) as ended:
            entry.run()
    finally:
        signal.signal(signal.SIGINT, before)  # the process that would have ended now goes on
    assert ended.value.code == 130
    assert capfd.readouterr().err == "interrupted\n"


def test_other_verbs_know_nothing_of_it() -> None:
    environ = {**os.environ, "PYTHONPROFILEIMPORTTIME": "1"}
    done = subprocess.run(
        [sys.executable, "-m", "homellm", "version"], capture_output=True, text=True, check=True, env=environ
    )
    assert "homellm.unchanged" not in done.stderr

"""One command line in, an exit code and exactly one telling out."""

from __future__ import annotations

import errno
import json
from collections.abc import Callable
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path

import pytest

from homellm.cli.main import main
from homellm.cli.options import Format
from homellm.cli.verbs import verb_in
from homellm.deploy.session import Options
from homellm.domain.events import ModelFinished, Progress, StackOpened
from homellm.domain.reports import ModelReport, PlanReport, StackReport
from homellm.domain.steps import RemoveContainer
from homellm.domain.verdicts import State
from homellm.errors import (
    EngineRefused,
    EngineUnreachable,
    ExitCode,
    HomellmError,
    Interrupted,
    Locked,
    Problem,
    StackFileError,
)
from tests.unit.cli.conftest import Seen
from tests.unit.cli.fakes import VERIFIED

Put = Callable[[str, Callable[..., object]], None]
Capture = pytest.CaptureFixture[str]


def fails(error: Exception) -> Callable[..., object]:
    def act(*_: object) -> object:
        raise error

    return act


def test_up_prints_what_happens_and_then_the_table(verb: Put, capsys: Capture) -> None:
    def act(
        stack: object, only: object, ports: object, options: object, scope: object, emit: Callable[..., None]
    ) -> object:
        emit(StackOpened("nuc", ("lfm2.5", "embed"), ("Docker 27.1",)))
        emit(ModelFinished(VERIFIED.models[0]))
        return VERIFIED

    verb("up", act)
    assert main(["up"]) == ExitCode.OK
    out, err = capsys.readouterr()
    assert out.splitlines()[:2] == ["nuc  2 models · Docker 27.1", "lfm2.5  verified"]
    assert "✔ embed    unchanged" in out
    assert "\x1b" not in out
    assert err == ""


def test_up_hands_its_options_on(verb: Put, seen: Seen, capsys: Capture) -> None:
    verb("up", lambda *_: VERIFIED)
    argv = ["up", "embed", "--wait-timeout", "90", "--stall-timeout", "5.5", "--force-recreate", "--retry-ollama"]
    assert main([*argv, "--debug"]) == ExitCode.OK
    only, options = seen.calls[0][1], seen.calls[0][3]
    assert only == ("embed",)
    assert options == Options(
        wait_timeout_s=90, stall_timeout_s=5.5, force_recreate=True, retry_ollama=True, debug=True
    )


def test_no_model_named_means_all_of_them(verb: Put, seen: Seen, capsys: Capture) -> None:
    verb("up", lambda *_: VERIFIED)
    main(["up", "--remove-orphans"])
    assert seen.calls[0][1] == ()


@pytest.mark.parametrize(
    "argv",
    [
        ["-f", "a.yaml", "--format", "json", "check"],
        ["check", "--file", "a.yaml", "--format=json"],
        ["--file", "b.yaml", "--format", "table", "check", "-f", "a.yaml", "--format", "json"],
        ["--file=a.yaml", "check", "--format", "json", "lfm2.5"],
    ],
)
def test_options_stand_before_or_after_the_verb_and_after_it_win(
    argv: list[str], verb: Put, seen: Seen, capsys: Capture
) -> None:
    verb("check", lambda *_: VERIFIED)
    assert main(argv) == ExitCode.OK
    assert (seen.commons[0].file, seen.commons[0].format) == (Path("a.yaml"), Format.JSON)
    assert json.loads(capsys.readouterr().out)["stack"] == "nuc"


def test_f_follows_after_logs_and_names_the_file_before_it(verb: Put, seen: Seen, capsys: Capture) -> None:
    verb("logs", lambda *_, write, **__: write("embed", "line"))
    assert main(["-f", "a.yaml", "logs", "-f", "-n", "7", "embed"]) == ExitCode.OK
    assert seen.commons[0].file == Path("a.yaml")
    named = seen.calls[0][-1]
    assert isinstance(named, dict)
    assert (named["follow"], named["tail"]) == (True, 7)
    assert capsys.readouterr().out == "line\n"


def test_logs_of_several_models_stand_behind_their_names(verb: Put, capsys: Capture) -> None:
    def act(*_: object, write: Callable[[str, str], None], **__: object) -> None:
        write("embed", "ready")
        write("lfm2.5", "✔ loading")

    verb("logs", act)
    assert main(["logs"]) == ExitCode.OK
    assert capsys.readouterr().out == "embed  | ready\nlfm2.5 | ✔ loading\n"


def test_logs_have_no_json_form(verb: Put, capsys: Capture) -> None:
    verb("logs", lambda *_, **__: None)
    assert main(["logs", "--format", "json"]) == ExitCode.USAGE
    assert json.loads(capsys.readouterr().out)["errors"][0]["id"] == "usage"


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (EngineUnreachable("no engine answers", hint="Start it."), 3),
        (Locked("another homellm is at work"), 4),
        (EngineRefused("no", original="500 no"), 4),
        (Interrupted("interrupted"), 130),
        (HomellmError("odd"), 1),
    ],
)
def test_an_error_of_a_verb_is_told_once_with_its_exit_code(
    error: HomellmError, code: int, verb: Put, capsys: Capture
) -> None:
    verb("up", fails(error))
    assert main(["up"]) == code
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count(str(error)) == 1
    assert "Traceback" not in err
    assert main(["up", "--format", "json"]) == code
    out, err = capsys.readouterr()
    document = json.loads(out)
    assert (document["stack"], document["models"]) == ("nuc", [])
    assert document["errors"][0]["message"] == str(error)
    assert err == ""


def test_the_engines_own_words_stand_under_debug_alone(verb: Put, capsys: Capture) -> None:
    verb("up", fails(EngineRefused("the port is taken", original="driver failed programming external connectivity")))
    main(["up"])
    assert "driver failed" not in capsys.readouterr().err
    main(["--debug", "up"])
    assert "the engine said: driver failed" in capsys.readouterr().err


def test_an_unexpected_exception_is_a_fault_of_homellm(verb: Put, capsys: Capture) -> None:
    verb("up", fails(KeyError("x")))
    assert main(["up"]) == ExitCode.FAULT
    err = capsys.readouterr().err
    assert err.startswith("error: a fault of homellm, not of your stack: KeyError: 'x'\n")
    assert "Traceback" not in err
    assert main(["up", "--debug"]) == ExitCode.FAULT
    assert "Traceback" in capsys.readouterr().err
    assert main(["up", "--format", "json"]) == ExitCode.FAULT
    assert json.loads(capsys.readouterr().out)["errors"][0]["id"] == "fault"


def test_a_limit_of_open_files_is_no_fault_of_homellm(verb: Put, capsys: Capture) -> None:
    wrapped = RuntimeError("a library's own")
    wrapped.__cause__ = OSError(errno.EMFILE, "Too many open files")
    for error in (OSError(errno.EMFILE, "Too many open files", "/proc/1/stat"), wrapped):
        verb("up", fails(error))
        assert main(["up"]) == ExitCode.REFUSED
        err = capsys.readouterr().err
        assert err.startswith("error: Too many open files")
        assert "ulimit -n 1024" in err


def test_every_problem_of_a_stack_file_is_told(
    verb: Put, seen: Seen, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    problems = (
        Problem("unknown-key", "unknown key paralel", "parallel?", "a.yaml", 3, 5, "    paralel: 3\n    ^"),
        Problem("missing-key", "source is missing", file="a.yaml", line=2, column=3),
    )
    verb("check", lambda *_: VERIFIED)
    monkeypatch.setattr("homellm.cli.wiring.load_stack", fails(StackFileError("two", problems=problems)))
    assert main(["check"]) == ExitCode.USAGE
    assert capsys.readouterr().err == (
        "error: a.yaml:3:5: unknown key paralel\n"
        "        paralel: 3\n"
        "        ^\n"
        "  parallel?\n"
        "error: a.yaml:2:3: source is missing\n"
    )
    assert main(["check", "--format", "json"]) == ExitCode.USAGE
    document = json.loads(capsys.readouterr().out)
    assert [(error["line"], error["column"]) for error in document["errors"]] == [(3, 5), (2, 3)]
    assert (document["stack"], document["models"]) == (None, [])
    assert seen.connected == 0


def test_unknown_models_are_told_with_the_nearest_before_the_engine_is_asked(
    verb: Put, seen: Seen, capsys: Capture
) -> None:
    verb("up", lambda *_: VERIFIED)
    assert main(["up", "embde", "whatever", "embed"]) == ExitCode.USAGE
    assert capsys.readouterr().err == (
        "error: the stack nuc has no model embde\n"
        "  Did you mean embed?\n"
        "error: the stack nuc has no model whatever\n"
        "  It has: lfm2.5, embed.\n"
    )
    assert (seen.connected, seen.calls) == (0, [])


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["sweep"], "sweep is known, not in this version"),
        (["sweep", "x", "--parallel", "3"], "sweep is known, not in this version"),
        (["chekc"], "there is no verb chekc"),
        (["up", "--nonsense"], "--nonsense"),
        (["up", "--wait-timeout", "soon"], "--wait-timeout"),
        (["up", "--wait-timeout", "0"], "--wait-timeout"),
        (["up", "--stall-timeout", "inf"], "--stall-timeout"),
        (["--format", "yaml", "up"], "yaml"),
        (["--file"], "--file"),
        (["plan", "--dry-run"], "--dry-run"),
    ],
)
def test_a_command_line_that_is_wrong(argv: list[str], words: str, seen: Seen, capsys: Capture) -> None:
    assert main(argv) == ExitCode.USAGE
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("error: ")
    assert words in err
    assert main([*argv, "--format", "json"]) == ExitCode.USAGE
    document = json.loads(capsys.readouterr().out)
    assert (document["stack"], document["models"], len(document["errors"])) == (None, [], 1)


def test_the_nearest_verb(capsys: Capture) -> None:
    main(["chekc"])
    assert "Did you mean check?" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("typed", "meant"),
    [("stop", "down"), ("validate", "config"), ("list", "ps"), ("ls", "ps"), ("status", "ps"), ("start", "up")],
)
def test_a_verb_of_other_programs_leads_to_ours(typed: str, meant: str, capsys: Capture) -> None:
    assert main([typed]) == ExitCode.USAGE
    assert f"Did you mean {meant}?" in capsys.readouterr().err


def test_the_exit_code_is_the_reports_and_problems_of_the_stack_go_to_stderr(verb: Put, capsys: Capture) -> None:
    degraded = replace(VERIFIED.models[0], state=State.DEGRADED)
    verb("up", lambda *_: replace(VERIFIED, models=(degraded,)))
    assert main(["up"]) == ExitCode.DEGRADED
    capsys.readouterr()
    problem = Problem("interrupted", "interrupted", exit_code=ExitCode.INTERRUPTED)
    verb("up", lambda *_: replace(VERIFIED, models=(degraded,), problems=(problem,)))
    assert main(["up"]) == ExitCode.INTERRUPTED
    out, err = capsys.readouterr()
    assert "interrupted" not in out
    assert err == "error: interrupted\n"


def test_plan_and_dry_run_print_the_same_and_only_plan_can_end_with_6(verb: Put, capsys: Capture) -> None:
    report = PlanReport("nuc", (RemoveContainer(target="nuc-x", cause="stray"),))
    verb("plan", lambda *_: report)
    outputs = []
    for argv in (["plan"], ["up", "--dry-run"]):
        assert main(argv) == ExitCode.OK
        outputs.append(capsys.readouterr().out)
        assert main([*argv, "--format", "json"]) == ExitCode.OK
        outputs.append(capsys.readouterr().out)
    assert outputs[:2] == outputs[2:]
    assert json.loads(outputs[1])["changes"] is True
    assert main(["plan", "--detailed-exitcode"]) == ExitCode.CHANGES
    verb("plan", lambda *_: PlanReport("nuc"))
    assert main(["plan", "--detailed-exitcode"]) == ExitCode.OK
    verb("plan", lambda *_: replace(report, problems=(Problem("port-taken", "port 80 is taken"),)))
    assert main(["plan", "--detailed-exitcode"]) == ExitCode.REFUSED
    assert "port 80 is taken" in capsys.readouterr().err


def test_a_dry_run_has_the_options_of_up(verb: Put, seen: Seen, capsys: Capture) -> None:
    verb("plan", lambda *_: PlanReport("nuc"))
    assert main(["up", "--dry-run", "--force-recreate", "--remove-orphans"]) == ExitCode.OK
    assert seen.calls[0][3] == Options(force_recreate=True, remove_orphans=True)


@pytest.mark.parametrize("name", ["check", "restart", "pull"])
def test_verbs_for_models(name: str, verb: Put, seen: Seen, capsys: Capture) -> None:
    verb(name, lambda *_: VERIFIED)
    assert main([name, "embed"]) == ExitCode.OK
    assert seen.calls[0][1] == ("embed",)
    assert "embed" in capsys.readouterr().out


def test_down_asks_for_the_stack_by_its_name(verb: Put, seen: Seen, capsys: Capture) -> None:
    verb("down", lambda *_: StackReport("nuc", removed=("nuc-embed",)))
    assert main(["down"]) == ExitCode.OK
    assert seen.calls[0][0] == "nuc"
    assert capsys.readouterr().out == "nuc  1 removed\n– nuc-embed\n"


def test_ps(verb: Put, capsys: Capture) -> None:
    verb("ps", lambda *_: StackReport("nuc", (ModelReport("embed", State.ABSENT),)))
    assert main(["ps"]) == ExitCode.OK
    assert capsys.readouterr().out == "– embed   absent\n"


def test_json_is_one_document_and_events_are_not_shown(verb: Put, capsys: Capture) -> None:
    def act(*args: object) -> object:
        emit = args[-1]
        assert callable(emit)
        emit(StackOpened("nuc", ("embed",)))
        return VERIFIED

    verb("up", act)
    assert main(["up", "--format", "json"]) == ExitCode.OK
    out, err = capsys.readouterr()
    assert [model["name"] for model in json.loads(out)["models"]] == ["lfm2.5", "embed"]
    assert err == ""


def test_a_fault_of_what_is_shown_ends_the_verb_only_afterwards(verb: Put, capsys: Capture) -> None:
    done: list[str] = []

    def act(*args: object) -> object:
        emit = args[-1]
        assert callable(emit)
        emit(StackOpened("nuc", 3))  # type: ignore[arg-type]  # what no verb sends: the sink fails on it
        done.append("swapped")
        return VERIFIED

    verb("up", act)
    assert main(["up"]) == ExitCode.FAULT
    assert done == ["swapped"]
    assert "a fault of homellm" in capsys.readouterr().err


def test_version(capsys: Capture) -> None:
    for argv in (["version"], ["--version"]):
        assert main(argv) == ExitCode.OK
        assert capsys.readouterr().out == f"homellm {version('homellm')}\n"
    assert main(["version", "--format", "json"]) == ExitCode.OK
    assert json.loads(capsys.readouterr().out)["version"] == version("homellm")


def test_without_a_verb_there_is_help(capsys: Capture) -> None:
    assert main([]) == ExitCode.OK
    assert "Usage: homellm" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("argv", "verb"),
    [
        (["up"], "up"),
        (["-f", "up", "check", "m"], "check"),
        (["--file=x", "--format", "json", "--debug", "ps", "-h"], "ps"),
        (["--format=json", "logs", "-f"], "logs"),
        (["-f"], None),
        (["--help", "up"], None),
        (["-h"], None),
        (["--version"], None),
        (["--install-completion", "up"], None),
        (["-fup", "check"], None),
        (["sweep"], None),
        ([], None),
    ],
)
def test_the_verb_is_told_by_one_look_where_that_is_safe(argv: list[str], verb: str | None) -> None:
    assert verb_in(argv) == verb


@pytest.mark.parametrize("form", ["table", "json"])
def test_a_check_tells_on_stderr_what_it_waits_for(form: str, verb: Put, capsys: Capture) -> None:
    def act(*arguments: object) -> object:
        emit = arguments[-1]
        assert callable(emit)
        emit(Progress("embed", "verifying"))
        for text in (
            "asking for one token",
            "asking for one token",
            "asking for one token, busy: all 3 slots are serving",
        ):
            emit(Progress("embed", "verifying", text))
        return VERIFIED

    verb("check", act)
    main(["check", "--format", form])
    told = [
        "embed  verifying, asking for one token",
        "embed  verifying, asking for one token, busy: all 3 slots are serving",
        "",
    ]
    captured = capsys.readouterr()
    assert captured.err.splitlines() == (told if form == "table" else [])
    assert "asking" not in captured.out


def test_down_of_one_model_says_which_names_the_file_declares(
    verb: Put, seen: Seen, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    verb("down", lambda *_: VERIFIED)
    # A variable that is not set: of the file only names count.
    (tmp_path / "homellm.yaml").write_text("stack: ${NAME}\nmodels:\n  chat: {}\n  helper: {}\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("HOMELLM_FILE", raising=False)
    assert main(["down", "chat"]) == ExitCode.OK
    assert seen.calls[-1][-2:] == (("chat",), ("chat", "helper"))

"""What people read when they slip: in our words, with the file that they named, and once."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from homellm.cli import streams, wiring
from homellm.cli.main import main
from homellm.cli.options import Common
from homellm.cli.typed import commands
from homellm.cli.verbs import NAMES
from homellm.cli.wiring import load_stack
from homellm.cli.wrong_words import in_our_words
from homellm.domain.reports import ModelReport, StackReport
from homellm.domain.verdicts import State
from homellm.errors import EngineUnreachable, ExitCode, Locked, Problem, StackFileError
from tests.unit.cli.conftest import Seen

Put = Callable[[str, Callable[..., object]], None]
Capture = pytest.CaptureFixture[str]
NO_KEY = "stack: nuc\nmodels:\n  m:\n    source: gguf:/m.gguf\n    api_key: ${MYKEY}\n    paralel: 3\n"


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["fit", "--ctx", "4k"], "--ctx: it must be a whole number"),
        (["fit", "--ctx", "0"], "--ctx: it must be at least 1"),
        (["up", "--wait-timeout", "soon"], "--wait-timeout: it must be a number"),
        (["up", "--stall-timeout", "inf"], "--stall-timeout: it must be at most 604800"),
        (["endpoints", "--client", "foo"], "--client: 'foo' is not one of 'open-webui', 'hermes'."),
        (["render", "foo"], "FORM: 'foo' is not one of 'run', 'compose'."),
        (["render"], "Missing argument 'FORM'. Choose from: run, compose"),
        (["logs", "--tail", "x"], "--tail: it must be a whole number"),
    ],
)
def test_a_wrong_command_line_is_told_in_our_words(argv: list[str], said: str, capsys: Capture) -> None:
    assert main(argv) == ExitCode.USAGE
    assert capsys.readouterr().err.splitlines()[0] == f"error: {said}"


def test_what_the_framework_may_say_later_is_ours_too() -> None:
    assert in_our_words("Invalid value for '--x': Input should be a valid UUID") == "--x: it must be a valid UUID"


@pytest.mark.parametrize("name", NAMES)
def test_help_names_no_type_of_python(name: str, capsys: Capture) -> None:
    assert main([name, "--help"]) == 0
    out = capsys.readouterr().out
    assert not [word for word in ("<list", "<path>", "<str>", "[[") if word in out]


@pytest.mark.parametrize(
    ("file", "environ", "named"),
    [
        ("two.yaml", {}, "two.yaml"),
        (None, {}, None),
        (None, {"HOMELLM_FILE": "two.yaml"}, None),
        ("homellm.yaml", {}, None),
        ("./homellm.yaml", {}, None),
        ("homellm.yaml", {"HOMELLM_FILE": "two.yaml"}, "homellm.yaml"),
        ("two.yaml", {"HOMELLM_FILE": "two.yaml"}, None),
    ],
)
def test_a_file_is_named_where_the_command_would_not_find_it(
    file: str | None, environ: dict[str, str], named: str | None
) -> None:
    assert commands(Common(file=Path(file) if file else None), environ).file == named


@pytest.mark.parametrize("form", ["table", "json"])
def test_hints_name_the_file_of_the_command_line(form: str, verb: Put, capsys: Capture) -> None:
    problem = Problem("not-running", "it does not run", "Read its log: homellm logs embed")
    verb("check", lambda *_: StackReport("nuc", (ModelReport("embed", State.FAILED, problems=(problem,)),)))
    main(["check", "-f", "two.yaml", "--format", form])
    assert "homellm -f two.yaml logs embed" in capsys.readouterr().out
    main(["check", "--format", form])
    assert "Read its log: homellm logs embed" in capsys.readouterr().out


def test_hints_of_an_error_name_it_as_well(verb: Put, capsys: Capture) -> None:
    def act(*_: object) -> object:
        raise Locked("another homellm is at work", hint="Wait, then run homellm ps.")

    verb("up", act)
    main(["-f", "two.yaml", "up"])
    assert "homellm -f two.yaml ps" in capsys.readouterr().err


def test_after_logs_f_follows(seen: Seen, tmp_path: Path, capsys: Capture) -> None:
    file = tmp_path / "two.yaml"
    file.write_text("stack: two\n")
    assert main(["logs", "-f", str(file), "embed"]) == ExitCode.USAGE
    err = capsys.readouterr().err
    assert "after logs, -f follows" in err
    assert f"homellm --file {file} logs -f embed" in err
    assert main(["logs", str(file)]) == ExitCode.USAGE
    assert "the stack nuc has no model" in capsys.readouterr().err


def test_after_logs_f_follows_also_where_there_is_no_stack_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("HOMELLM_FILE", raising=False)
    Path("two.yaml").write_text("stack: two\n")
    assert main(["logs", "-f", "two.yaml"]) == ExitCode.USAGE
    assert "homellm --file two.yaml logs -f" in capsys.readouterr().err


def test_a_file_that_is_wrong_still_tells_whose_containers_go(tmp_path: Path) -> None:
    file = tmp_path / "homellm.yaml"
    file.write_text(NO_KEY)
    given = Common(file=file)
    with pytest.raises(StackFileError) as caught:
        load_stack(given, {})
    (unset, unknown) = caught.value.problems
    assert (unset.id, unset.hint) == ("variable-unset", "Set it: export MYKEY=…")
    assert unknown.id == "unknown-key"
    stack = load_stack(replace(given, by_name=True), {})
    assert (stack.name, stack.models, stack.file) == ("nuc", (), file)


@pytest.mark.parametrize(
    "text",
    [
        "stack: ${NAME}\nmodels: {}\n",
        "stack: nuc\nstack: other\nmodels: {}\n",
        "stack: a b\n",
        "models: {}\n",
        "stack: nuc\nmodels: [\n",
    ],
)
def test_a_name_that_is_not_sure_takes_nothing_away(text: str, tmp_path: Path) -> None:
    file = tmp_path / "homellm.yaml"
    file.write_text(text)
    with pytest.raises(StackFileError):
        load_stack(Common(file=file, by_name=True), {})


def test_notes_of_a_client_stand_once_on_a_terminal(
    seen: Seen, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    def away(*_: object) -> object:
        raise EngineUnreachable("no engine answers")

    monkeypatch.setattr(wiring, "connect", away)
    assert main(["endpoints", "--client", "hermes", "lfm2.5"]) == ExitCode.OK
    out, err = capsys.readouterr()
    notes = [line.removeprefix("note: ") for line in err.splitlines()]
    assert notes
    assert all(note.split()[0] in out for note in notes)
    monkeypatch.setattr(streams, "screen_width", lambda *_: 80)
    assert main(["endpoints", "--client", "hermes", "lfm2.5"]) == ExitCode.OK
    on_terminal = capsys.readouterr()
    assert (on_terminal.out, on_terminal.err) == (out, "")


def test_json_of_an_error_names_the_file_as_well(verb: Put, capsys: Capture) -> None:
    def act(*_: object) -> object:
        raise Locked("another homellm is at work", hint="homellm ps")

    verb("up", act)
    main(["-f", "two.yaml", "up", "--format", "json"])
    assert json.loads(capsys.readouterr().out)["errors"][0]["hint"] == "homellm -f two.yaml ps"

"""The tables, held against goldens and against what they must never do."""

from __future__ import annotations

from dataclasses import replace

import pytest

from homellm.domain.reports import ModelReport, StackReport
from homellm.domain.verdicts import State, Verdict
from homellm.errors import ExitCode, Problem
from homellm.report.check_table import check_table
from homellm.report.json_report import stack_document
from homellm.report.layout import cell_width
from homellm.report.tables import down_text, headline, ps_table, pull_table, up_table
from tests.unit.report.examples import CHECKS, CUT_SHORT, EMBED, FACTS, MOVED, golden, stack

DEGRADED = replace(MOVED, state=State.DEGRADED, fallback=None, checks=CHECKS)
UNCHANGED = replace(EMBED, changed=False, ready_s=None)
STOPPED = ModelReport(name="embed", state=State.STOPPED, notes=("nuc-embed is stopped",))
ALL = stack(DEGRADED, STOPPED, ModelReport(name="日本", state=State.ABSENT), replace(CUT_SHORT, name="cut"))


def test_up_of_a_model_that_moved() -> None:
    assert headline("nuc", 2, FACTS) + "\n" + up_table(stack(MOVED, EMBED)) == golden("up-moved.txt")


def test_a_failure_says_what_happened_what_serves_now_and_what_to_type() -> None:
    assert up_table(stack(CUT_SHORT, EMBED)) == golden("up-failed.txt")


def test_a_degraded_model_says_why_below_the_table_and_an_unchanged_one_says_so() -> None:
    assert up_table(stack(DEGRADED, UNCHANGED)) == golden("up-degraded.txt")


def test_a_second_up_with_nothing_to_do_says_so() -> None:
    assert up_table(stack(UNCHANGED)).endswith("\n\nNothing to do: everything runs as declared.\n")
    assert "Nothing to do" not in up_table(stack(UNCHANGED, MOVED))
    assert "Nothing to do" not in up_table(stack(replace(UNCHANGED, state=State.DEGRADED)))
    assert "Nothing to do" not in up_table(stack(UNCHANGED), tell_unchanged=False)


def test_a_gate_that_failed_is_the_cause_when_there_is_no_other() -> None:
    verdicts = (
        Verdict("slots", 3, 1, "fail", "/props", "The architecture refuses.", gate=True),
        Verdict("ctx", 2048, None, "unknown", "", gate=True),
        Verdict("cpus", "0", None, "unknown", ""),
    )
    report = stack(ModelReport(name="m", state=State.FAILED, checks=verdicts))
    assert up_table(report) == (
        "✘ m   slots: asked 3, observed 1 (/props). The architecture refuses.\n      ctx: asked 2048, not seen.\n"
    )
    assert report.exit_code is ExitCode.REFUSED


def test_a_problem_that_only_repeats_a_gate_is_told_once() -> None:
    gate = Verdict("mlock", True, False, "fail", "process 7", "Add memory.", gate=True)
    problems = (Problem("gate-mlock", "mlock: asked True, observed False"), Problem("x", "something else"))
    model = ModelReport(name="m", state=State.FAILED, checks=(gate,), problems=problems, notes=("The old one serves",))
    assert up_table(stack(model)) == (
        "✘ m   something else. The old one serves.\n      mlock: asked yes, observed no (process 7). Add memory.\n"
    )
    assert "asked True" not in check_table(stack(model))
    assert "m  something else." in check_table(stack(model))
    only = replace(model, problems=problems[:1])
    assert up_table(stack(only)) == "✘ m   mlock: asked yes, observed no (process 7). The old one serves. Add memory.\n"


def test_check() -> None:
    assert check_table(stack(DEGRADED, STOPPED)) == golden("check.txt")


def test_what_is_to_be_known_before_a_table_stands_above_it_once() -> None:
    note = "The stack file changed since this container was started; homellm up applies it."
    verdict = Verdict("slots", 3, 1, "fail", "/props", hint=note, gate=True)
    problem = Problem("gate-slots", "slots: asked 3, observed 1 (/props)", note)
    model = ModelReport("m", State.FAILED, checks=(verdict,), problems=(problem,), notes=(note,))
    assert [line.strip() for line in check_table(stack(model)).splitlines()] == [
        f"m  {note}",
        "",
        "m         asked   observed   where",
        "✘ slots   3       1          /props",
        note,
    ]


def test_ps_says_why_one_failed_and_that_one_is_about_to_serve() -> None:
    verdict = Verdict("ready", True, False, "fail", "/health", hint="Read its log.", gate=True)
    problem = Problem("gate-ready", "ready: asked True, observed False (/health)", "Read its log.")
    why = {"checks": (verdict,), "problems": (problem,), "notes": ("homellm check m looks anew.",)}
    note = "homellm up is at work, or was cut off: homellm up goes on."
    models = (ModelReport("m", State.FAILED, **why), ModelReport("n", State.STARTING, notes=(note,)))
    assert [line for line in ps_table(stack(*models)).splitlines() if line][2:] == [
        "m  ready: asked yes, observed no (/health). homellm check m looks anew. Read its log.",
        f"n  {note}",
    ]


def test_numbers_of_bytes_have_their_unit_and_other_numbers_have_none() -> None:
    checks = (
        Verdict("memory", 96576768, 1717986918, "pass", "log"),
        Verdict("ctx", 1048576, 1048576, "pass", "/props"),
    )
    text = check_table(stack(ModelReport("m", State.VERIFIED, checks=checks)))
    assert [line.split() for line in text.splitlines()[1:]] == [
        ["✔", "memory", "92.1", "MiB", "1.6", "GiB", "log"],
        ["✔", "ctx", "1048576", "1048576", "/props"],
    ]


def test_what_a_check_has_for_people_stands_in_the_table_and_not_in_the_document() -> None:
    verdict = Verdict("limits", 1 << 30, 0, "fail", "inspect", text="memory none", asked_text="memory 1.0 GiB")
    report = stack(ModelReport("m", State.DEGRADED, checks=(verdict,)))
    row = check_table(report).splitlines()[1]
    assert row == "✘ limits   memory 1.0 GiB   memory none   inspect"
    (check,) = stack_document(report)["models"][0]["checks"]  # type: ignore[index]
    assert (check["asked"], check["observed"]) == (1 << 30, 0)


def test_a_model_on_the_cpu_says_so() -> None:
    assert "   CPU   " in up_table(stack(replace(EMBED, device="cpu")))


def test_check_of_a_model_without_checks_says_its_state_or_its_problem() -> None:
    assert check_table(stack(ModelReport(name="m", state=State.ABSENT))) == "– m  absent.\n"
    assert check_table(stack(CUT_SHORT)).startswith("✘ lfm2.5  model file is cut short (98 of 1597 MB).")


def test_ps() -> None:
    assert ps_table(ALL) == golden("ps.txt")
    assert ps_table(stack()) == "nuc  no models\n"


def test_ps_drops_the_container_first_where_a_terminal_is_narrow() -> None:
    whole = ps_table(ALL)
    width = max(len(line) for line in whole.splitlines() if line[:1] in "✔✘–!?")
    assert ps_table(ALL, width=width).splitlines()[0] == whole.splitlines()[0]
    narrow = ps_table(ALL, width=width - 1).splitlines()
    assert ALL.models[0].container
    assert narrow[0] == whole.splitlines()[0].removesuffix(ALL.models[0].container).rstrip()


def test_down() -> None:
    report = StackReport(stack="nuc", removed=("nuc-embed", "nuc-embed.prev-1", "homellm-nuc"))
    assert down_text(report) == "nuc  3 removed\n– nuc-embed\n– nuc-embed.prev-1\n– homellm-nuc\n"
    assert down_text(stack()) == "nuc  nothing to remove\n"
    assert down_text(StackReport(stack="nuc", problems=(Problem("x", "no"),))) == ""


def test_pull() -> None:
    here = ModelReport(name="embed", state=State.UNVERIFIED)
    assert pull_table(stack(here, replace(CUT_SHORT, notes=()))) == (
        "✔ embed    its image is here.\n✘ lfm2.5   model file is cut short (98 of 1597 MB). Next: homellm pull lfm2.5\n"
    )


def test_a_hint_is_a_sentence_or_a_command_and_the_place_in_the_file_is_told() -> None:
    problem = Problem("flag-unknown", "it does not know --bogus.", "Did you mean --verbose?", "nuc.yaml", 7, 5)
    text = up_table(stack(ModelReport(name="m", state=State.FAILED, problems=(problem,))))
    assert text == "✘ m   it does not know --bogus (nuc.yaml:7). Did you mean --verbose?\n"


def test_the_lines_of_a_hint_stay_apart() -> None:
    problem = Problem("no-toolkit", "no NVIDIA toolkit", "sudo apt install x\nsudo systemctl restart docker")
    text = up_table(stack(ModelReport(name="m", state=State.FAILED, problems=(problem,))))
    assert text == "✘ m   no NVIDIA toolkit. Next: sudo apt install x\n      sudo systemctl restart docker\n"


@pytest.mark.parametrize("width", [20, 30, 50, 80, 100, 120])
def test_no_line_is_wider_than_the_screen_but_for_a_word_that_is(width: int) -> None:
    for text in (up_table(ALL, width=width), check_table(ALL, width=width), ps_table(ALL, width=width)):
        for line in text.splitlines():
            assert cell_width(line) <= width or " " not in line.strip()
            assert line == line.rstrip()


def test_a_narrow_screen_loses_nothing() -> None:
    wide, narrow = (up_table(stack(MOVED, EMBED), width=width) for width in (None, 40))
    assert sorted(wide.split()) == sorted(narrow.split())


def test_columns_stay_aligned_behind_wide_and_combining_characters() -> None:
    names = ("日本語モデル", "e\u0301mbed", "plain-name-here")
    lines = up_table(stack(*(replace(EMBED, name=name) for name in names))).splitlines()
    assert {cell_width(line.split("llama-server")[0]) for line in lines} == {2 + 15 + 3}


def test_nothing_from_outside_moves_the_cursor() -> None:
    evil = "\x1b[2J\x1b]0;title\x07bad\r\nname\x9b31m\u202e"
    model = ModelReport(
        name=evil,
        state=State.FAILED,
        problems=(Problem("x", evil, evil),),
        checks=(Verdict("slots", evil, evil, "fail", evil, evil, gate=True, text=evil),),
        notes=(evil,),
        device=evil,
        container=evil,
        endpoint=evil,
    )
    report = StackReport(stack=evil, models=(model, replace(model, name="b", state=State.DEGRADED)), removed=(evil,))
    for text in (up_table(report), check_table(report), ps_table(report), down_text(report), pull_table(report)):
        assert not set("\x1b\x07\r\x9b\u202e") & set(text)
        assert "bad" in text


def test_ps_tells_of_containers_whose_model_the_file_has_not_any_more() -> None:
    absent = ModelReport(name="talk", state=State.ABSENT)
    told = ps_table(StackReport(stack="nuc", models=(absent,), orphans=("nuc-chat",)))
    line = "not in the stack file any more:  nuc-chat. homellm up --remove-orphans removes it.\n"
    assert told.endswith(f"\n\n{line}")
    assert ps_table(StackReport(stack="nuc", orphans=("a", "b"))).endswith(
        "a, b. homellm up --remove-orphans removes them.\n"
    )
    assert "remove-orphans" not in ps_table(StackReport(stack="nuc", models=(absent,), orphans=()))

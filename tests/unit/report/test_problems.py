"""Errors as people read them."""

from __future__ import annotations

from homellm.errors import Problem
from homellm.report.problems import problem_text, problems_text


def test_a_problem_of_the_stack_file_shows_the_place() -> None:
    problem = Problem(
        "unknown-key",
        "unknown key paralel",
        "Did you mean parallel?",
        file="nuc.yaml",
        line=12,
        column=5,
        excerpt="    paralel: 3\n    ^",
    )
    assert problem_text(problem) == (
        "error: nuc.yaml:12:5: unknown key paralel\n        paralel: 3\n        ^\n  Did you mean parallel?\n"
    )


def test_the_caret_stands_below_its_place_behind_wide_characters_and_tabs() -> None:
    excerpt = "\t日本: x\n" + " " * 5 + "^"
    lines = problem_text(Problem("x", "m", excerpt=excerpt)).splitlines()
    assert lines[1] == "     日本: x"
    assert lines[2] == "    " + " " * 7 + "^"


def test_a_problem_of_one_model_and_one_without_a_place() -> None:
    assert problem_text(Problem("x", "it broke", model="m")) == "error: m: it broke\n"
    assert problems_text((Problem("x", "a"), Problem("y", "b", "c\nd"))) == "error: a\nerror: b\n  c\n  d\n"
    assert problems_text(()) == ""


def test_a_message_of_several_lines_and_a_narrow_screen() -> None:
    assert problem_text(Problem("x", "one\ntwo")) == "error: one\n  two\n"
    assert problem_text(Problem("x", "one two three"), width=14) == "error: one two\n  three\n"


def test_an_empty_message_still_says_something() -> None:
    assert problem_text(Problem("port-taken", "")) == "error: port-taken\n"

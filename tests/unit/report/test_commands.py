"""Commands in messages name the stack file that the command line named; nothing else changes."""

from __future__ import annotations

import pytest

from homellm.domain.events import Event, Note, Progress
from homellm.domain.reports import ModelReport, StackReport
from homellm.domain.steps import StopContainer
from homellm.domain.verdicts import State, Verdict
from homellm.errors import Problem
from homellm.report.commands import Commands

TWO = Commands("two.yaml")


@pytest.mark.parametrize(
    ("said", "typed"),
    [
        ("homellm logs smol", "homellm -f two.yaml logs smol"),
        ("look at its log: homellm logs; homellm up starts it.", None),
        ("Run homellm up --remove-orphans to remove it.", "Run homellm -f two.yaml up --remove-orphans to remove it."),
        ("Next: homellm\n  up", "Next: homellm -f two.yaml\n  up"),
        ("homellm -f two.yaml logs smol", "homellm -f two.yaml logs smol"),
        ("homellm fit --file https://… reckons a file", "homellm fit --file https://… reckons a file"),
        ("docker logs x 2>&1 | homellm explain", "docker logs x 2>&1 | homellm explain"),
        ("homellm up --help; homellm --help; homellm version", "homellm up --help; homellm --help; homellm version"),
        ("/opt/homellm up, homellm-nuc, homellm upper", "/opt/homellm up, homellm-nuc, homellm upper"),
    ],
)
def test_commands_that_read_a_stack_file_name_it(said: str, typed: str | None) -> None:
    expected = typed or "look at its log: homellm -f two.yaml logs; homellm -f two.yaml up starts it."
    assert TWO.text(said) == expected
    assert TWO.text(expected) == expected
    assert Commands().text(said) == said


def test_a_file_is_quoted_as_a_shell_wants_it() -> None:
    assert Commands("my stacks/a.yaml").text("homellm ps") == "homellm -f 'my stacks/a.yaml' ps"


def test_all_messages_of_a_report_are_reached_and_no_data() -> None:
    failed = Verdict("api", "homellm up", None, "fail", "API", hint="Look: homellm logs.", gate=True)
    problem = Problem("x", "as homellm check says", "homellm logs smol", excerpt="# homellm up")
    report = StackReport(
        "t",
        (ModelReport("smol", State.FAILED, checks=(failed,), problems=(problem,), notes=("homellm up starts it.",)),),
        problems=(problem,),
    )
    (model,) = (told := TWO.of(report)).models
    assert model.checks[0].hint == "Look: homellm -f two.yaml logs."
    assert model.checks[0].asked == "homellm up"
    assert model.notes == ("homellm -f two.yaml up starts it.",)
    for one in (*model.problems, *told.problems):
        assert (one.hint, one.excerpt) == ("homellm -f two.yaml logs smol", "# homellm up")
        assert one.message == "as homellm -f two.yaml check says"
    assert Commands().of(report) is report


def test_events_on_their_way_are_written_too() -> None:
    seen: list[Event] = []
    emit = TWO.emit(seen.append)
    emit(Note("homellm up --remove-orphans removes it.", warning=True))
    emit(Progress("smol", "loading"))
    assert seen == [
        Note("homellm -f two.yaml up --remove-orphans removes it.", warning=True),
        Progress("smol", "loading"),
    ]
    step = StopContainer(target="t-smol", cause="asked for by homellm restart")
    assert TWO.of(step) == step

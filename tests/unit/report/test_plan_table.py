"""The plan as people read it."""

from __future__ import annotations

from homellm.domain.reports import PlanReport, PlanSummary
from homellm.domain.spec import ContainerSpec
from homellm.domain.steps import CreateContainer, PullImage, RemoveContainer, StartContainer, StopContainer
from homellm.errors import Problem
from homellm.report.plan_table import plan_table
from tests.unit.report.examples import golden

STEPS = (
    PullImage(target="ghcr.io/x:1", cause="the image is not here", model="lfm2.5"),
    CreateContainer(
        target="nuc-lfm2.5.next",
        cause="ctx changed",
        model="lfm2.5",
        spec=ContainerSpec(name="nuc-lfm2.5", image="ghcr.io/x:1"),
        undo=(RemoveContainer(target="nuc-lfm2.5.next", cause="undo"),),
    ),
    StopContainer(
        target="nuc-lfm2.5",
        cause="its successor takes the port",
        model="lfm2.5",
        undo=(StartContainer(target="nuc-lfm2.5", cause="undo"),),
    ),
    RemoveContainer(target="nuc-old", cause="no model of that name"),
)


def test_steps_with_cause_and_undo() -> None:
    assert plan_table(PlanReport("nuc", STEPS, assumed=("lfm2.5",))) == golden("plan.txt")


def test_what_it_comes_to_for_each_model_stands_above_the_steps() -> None:
    summaries = (
        PlanSummary("chat", "start", "nothing serves this model yet"),
        PlanSummary("helper", "replace", "ctx 2048 → 4096"),
        PlanSummary("embed", "keep"),
    )
    notes = (("chat", "ctx 100: the server rounds up, so each slot has 256 tokens"),)
    lines = plan_table(PlanReport("nuc", STEPS[:2], summaries=summaries, notes=notes)).splitlines()
    assert lines[:5] == [
        "nuc  2 steps",
        "chat: start, because nothing serves this model yet",
        "helper: replace, because ctx 2048 → 4096",
        "embed: keep",
        "",
    ]
    assert lines[5].startswith("lfm2.5   pull ghcr.io/x:1")
    assert lines[-2:] == ["", "chat: ctx 100: the server rounds up, so each slot has 256 tokens."]


def test_nothing_to_do() -> None:
    assert plan_table(PlanReport("nuc")) == "nuc  nothing to do: what runs was made from this file.\n"


def test_a_plan_that_could_not_be_made_says_nothing_false() -> None:
    assert plan_table(PlanReport("nuc", problems=(Problem("port-taken", "port 80 is taken"),))) == ""


def test_a_narrow_screen() -> None:
    lines = plan_table(PlanReport("nuc", STEPS[:2]), width=60).splitlines()
    assert max(map(len, lines)) <= 60
    assert lines[0] == "nuc  2 steps"

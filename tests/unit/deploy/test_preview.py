"""What a plan says of each model before its steps."""

from __future__ import annotations

import pytest

from homellm.deploy.preview import plan
from homellm.domain.reports import PlanSummary
from tests.unit.deploy.lab import NAME, Lab, model


@pytest.fixture
def lab():
    return Lab()


def summaries(lab, **changes):
    return plan(lab.stack(model(**changes)), (), lab.ports(), lab.options).summaries


def test_a_first_start(lab):
    assert summaries(lab) == (PlanSummary("smol", "start", "nothing serves this model yet"),)


def test_a_replacement_names_what_changed(lab):
    lab.up(model(section="smol:\n  ctx: 2048\n", ctx=2048))
    assert summaries(lab, section="smol:\n  ctx: 4096\n", ctx=4096) == (
        PlanSummary("smol", "replace", "ctx 2048 → 4096"),
    )


def test_what_runs_as_declared_is_kept_and_what_was_stopped_is_started_again(lab):
    lab.up()
    assert summaries(lab) == (PlanSummary("smol", "keep"),)
    lab.ports().engine.kill(NAME, "SIGKILL")
    assert summaries(lab) == (PlanSummary("smol", "start again", "it does not run (exit code 137)"),)


def test_one_that_cannot_be_made_is_told_by_its_problem_alone(lab):
    report = plan(lab.stack(model(cpuset="0-99")), (), lab.ports(), lab.options)
    assert report.summaries == ()
    assert [one.id for one in report.problems] == ["cpus-unavailable"]


def test_a_rounded_context_is_a_note_of_the_plan(lab):
    report = plan(lab.stack(model(ctx=100, parallel=3)), (), lab.ports(), lab.options)
    assert report.notes == (("smol", "ctx 100: the server rounds up, so each slot has 256 tokens."),)

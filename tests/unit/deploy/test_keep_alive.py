"""Models that Ollama keeps for a short time, or for which others have to leave: both are looked at, and told."""

from __future__ import annotations

from dataclasses import replace

import pytest

from homellm.deploy.check import check
from homellm.deploy.scope import Scope
from homellm.domain.stack import Source
from homellm.domain.verdicts import State
from tests.unit.deploy.ollama_lab import OllamaLab, hybrid

ONE = hybrid(parallel=1, fallback="none")
OTHER = hybrid(name="plain", source=Source("ollama", "plain"), parallel=1, port=None)


def lab_with(**server):
    lab = OllamaLab()
    lab.server = replace(lab.server, **server)
    return lab


def checked(lab, *models, only=()):
    return check(lab.stack(*models), only, lab.ports(), lab.options, Scope(), lambda _event: None).models


def in_memory(lab):
    return [one.name for memory in lab.ollamas.in_memory.values() for one in memory.values()]


@pytest.mark.parametrize("nothing", [0, "0s"])
def test_one_that_is_kept_for_no_time_is_proved_and_leaves_at_once(nothing):
    lab = lab_with(keep_alive=nothing)
    for _ in range(2):
        (report,) = lab.up(ONE).models
        assert (report.state, report.problems) == (State.VERIFIED, ())
        assert in_memory(lab) == []
    (found,) = checked(lab, ONE)
    assert (found.state, in_memory(lab)) == (State.VERIFIED, [])


def test_one_that_is_kept_for_a_moment_is_given_the_declared_time_once_it_is_proved():
    lab = lab_with(keep_alive="200ms")
    assert lab.up(ONE).models[0].state is State.VERIFIED
    assert lab.ollamas.kept == {"hybrid:latest": "200ms"}
    assert lab.loads() == ["hybrid:latest"]


@pytest.mark.parametrize("declared", [-1, "30m", 600])
def test_a_longer_time_is_asked_for_as_it_is_declared(declared):
    lab = lab_with(keep_alive=declared)
    assert lab.up(ONE).models[0].state is State.VERIFIED
    assert lab.ollamas.kept == {"hybrid:latest": declared}


def test_check_tells_which_model_had_to_leave_for_the_one_that_it_loaded():
    lab = lab_with(max_loaded_models=1)
    assert {one.state for one in lab.up(ONE, OTHER).models} == {State.VERIFIED}
    (there,) = in_memory(lab)
    absent = "plain" if there.startswith("hybrid") else "hybrid"
    (report,) = checked(lab, ONE, OTHER, only=(absent,))
    assert report.state is State.VERIFIED
    assert any(f"Out of memory since: {there} " in note for note in report.notes)
    (again,) = checked(lab, ONE, OTHER, only=(absent,))
    assert again.notes == ()

"""`fallback: none` for a model that has moved: who serves it then, in every verb."""

from __future__ import annotations

import pytest

from homellm.deploy.check import check
from homellm.deploy.ps import ps
from homellm.deploy.scope import Scope
from homellm.domain.verdicts import State
from homellm.errors import ExitCode
from homellm.report.tables import up_table
from tests.unit.deploy.ollama_lab import MOVED, SERVER, declared, hybrid, lab_on


@pytest.fixture(params=["llama-server", "bundled"])
def lab(request):
    """A machine on which the hybrid has moved."""
    lab = lab_on(request.param)
    assert lab.up(declared(request.param)).models[0].fallback.rung == request.param
    return lab


def checked(lab, model):
    return check(lab.stack(model), (), lab.ports(), lab.options, Scope(), lambda _event: None).models[0]


def test_ollama_is_said_to_serve_it_once_it_does(lab):
    report = lab.up(hybrid(fallback="none"))
    (found,) = report.models
    assert lab.state.names() == {SERVER: "running"}
    assert (found.runner, found.slots, found.fallback.rung) == ("ollama", 1, "ollama")
    assert "Stays on Ollama; 1 slot proved." in up_table(report)
    assert "own llama-server" not in up_table(report)
    assert ps(lab.stack(hybrid(fallback="none")), lab.ports()).models[0].fallback.rung == "ollama"


def test_up_and_check_judge_it_alike(lab):
    model = hybrid(fallback="none")
    for _ in range(2):
        report = lab.up(model).models[0]
        assert (report.state, report.exit_code) == (State.DEGRADED, ExitCode.DEGRADED)
        looked = checked(lab, model)
        assert (looked.state, looked.exit_code, looked.fallback) == (report.state, report.exit_code, report.fallback)


def test_before_it_is_applied_check_says_what_up_does(lab):
    report = checked(lab, hybrid(fallback="none"))
    assert report.container == MOVED
    assert "fallback: none is declared, and it has moved; homellm up brings it back." in report.notes


def test_one_whose_container_somebody_removed_is_not_as_declared(lab):
    """The ladder is not forbidden, so that fewer slots are not what is to be: `up` moves it again."""
    lab.state.vanish(MOVED)
    report = checked(lab, hybrid())
    assert (report.state, report.exit_code) == (State.ABSENT, ExitCode.REFUSED)
    assert [problem.hint for problem in report.problems] == ["Start it: homellm up hybrid"]

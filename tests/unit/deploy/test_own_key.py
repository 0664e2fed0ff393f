"""A server is asked with its own key: that the file has another one, or none, by now is no fault of the server."""

from __future__ import annotations

from dataclasses import replace

import pytest

from homellm.deploy.check import check
from homellm.deploy.restart import restart
from homellm.deploy.scope import Scope
from homellm.domain.secret import Secret
from homellm.domain.verdicts import State
from homellm.errors import ExitCode
from tests.unit.deploy.lab import NAME, Lab, model

CHANGED = "The stack file changed since this container was started; homellm up applies it."
OTHERS = [{"api_key": Secret("another")}, {}]


@pytest.fixture
def lab():
    lab = Lab()
    assert lab.up(model(api_key=Secret("s3cret"))).models[0].state is State.VERIFIED
    return lab


def run(verb, lab, *models, **options):
    asked = replace(lab.options, **options)
    (report,) = verb(lab.stack(*models), (), lab.ports(), asked, Scope(), lambda _event: None).models
    return report


@pytest.mark.parametrize("verb", [check, restart])
@pytest.mark.parametrize("now", OTHERS, ids=["another key", "no key"])
def test_another_key_in_the_file_is_not_applied_and_not_broken(lab, verb, now):
    report = run(verb, lab, model(**now))
    assert (report.state, report.exit_code, report.problems) == (State.DEGRADED, ExitCode.DEGRADED, ())
    assert report.notes == (CHANGED,)
    failed = {verdict.id for verdict in report.checks if verdict.verdict == "fail"}
    assert failed == ({"declaration"} if now else {"exposure", "declaration"})
    assert "s3cret" not in str(report)


@pytest.mark.parametrize("verb", [check, restart])
def test_a_key_that_the_server_was_not_given_is_not_sent_to_it(verb):
    lab = Lab()
    lab.up(model())
    sent = []
    usual = lab.http._answer
    lab.http._answer = lambda url, api_key: sent.append(api_key) or usual(url, api_key)
    report = run(verb, lab, model(api_key=Secret("another")))
    assert report.state is State.DEGRADED
    assert set(sent) == {None}


def test_a_gate_that_fails_is_told_with_the_file_that_changed(lab):
    report = run(restart, lab, model(api_key=Secret("another"), parallel=3))
    assert (report.state, [(one.id, one.hint) for one in report.problems]) == (State.FAILED, [("gate-slots", CHANGED)])


def test_an_overlap_is_measured_with_the_key_of_the_server(lab):
    report = run(check, lab, model(), concurrency=True)
    (verdict,) = (one for one in report.checks if one.id == "concurrency")
    assert verdict.verdict != "fail"
    assert lab.state.names() == {NAME: "running"}

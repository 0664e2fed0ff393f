"""Ctrl-C in the middle of `up` and `restart`: what was begun is gone, and every model says what became of it."""

import pytest

from homellm.deploy.restart import restart
from homellm.deploy.scope import Scope
from homellm.domain.verdicts import State
from homellm.errors import ExitCode
from tests.unit.deploy.lab import NAME, Lab, bad, model
from tests.unit.deploy.ollama_lab import SERVER, OllamaLab, hybrid

TWO = (model(parallel=1), model(name="embed", port=8082))


def interrupting(scope, method, ref=""):
    """Ctrl-C at a call of the engine."""

    def before(call):
        if call.method == method and call.args[0].startswith(ref):
            scope.cancel()

    return before


def stopped(lab, method, *models, ref=""):
    scope = Scope()
    return lab.up(*models, scope=scope, ports=lab.ports(before=interrupting(scope, method, ref)))


def restarted(lab, method, *models, ref=""):
    scope = Scope()
    ports = lab.ports(before=interrupting(scope, method, ref))
    return restart(lab.stack(*models), (), ports, lab.options, scope, lab.events.append)


@pytest.mark.parametrize("method", ["create", "start", "logs"])
def test_a_first_up_leaves_nothing_at_all(method):
    lab = Lab()
    report = stopped(lab, method, model(parallel=3))
    assert report.exit_code is ExitCode.INTERRUPTED
    assert lab.state.names() == {}
    assert "homellm-nuc" not in lab.state.networks


def test_a_later_one_leaves_what_ran_before_and_an_older_failure():
    lab = Lab(behave=bad)
    lab.up(model(parallel=1))
    lab.up(model(parallel=3))
    before = lab.state.by_name(f"{NAME}.failed").id
    assert stopped(lab, "start", model(parallel=2), ref=f"{NAME}.next").exit_code is ExitCode.INTERRUPTED
    assert lab.state.names() == {NAME: "running", f"{NAME}.failed": "exited"}
    assert lab.state.by_name(f"{NAME}.failed").id == before
    assert lab.slots() == 1


def test_a_restart_says_what_became_of_each():
    lab = Lab()
    lab.up(*TWO)
    report = restarted(lab, "start", *TWO)
    assert report.exit_code is ExitCode.INTERRUPTED
    assert [p.id for p in report.problems] == ["interrupted"]
    assert {m.name for m in report.models} == {"smol", "embed"}
    first, second = sorted(report.models, key=lambda m: "not touched" in m.notes[0])  # they wait for one device
    again = f"{first.container} was started again and is not proved yet: homellm check {first.name} looks at it."
    assert first.notes == (again,)
    assert second.notes == (f"{second.container} was not touched and runs on.",)
    assert lab.state.names() == {NAME: "running", "nuc-embed": "running"}


def test_a_restart_of_ollama_stops_nothing_further_and_starts_what_it_stopped():
    lab, asked = OllamaLab(), hybrid(parallel=1, fallback="none")
    lab.up(asked)
    report = restarted(lab, "kill", asked)
    (told,) = report.models
    assert (report.exit_code, told.state) == (ExitCode.INTERRUPTED, State.FAILED)
    assert told.notes == ("It is not proved yet: homellm check hybrid looks at it.",)
    assert lab.state.names() == {SERVER: "running"}

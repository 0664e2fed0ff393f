"""`check` on the fake engine: what is not there, or does not run, is not as declared."""

from homellm.deploy.check import check
from homellm.deploy.scope import Scope
from homellm.domain.verdicts import State
from homellm.errors import ExitCode
from tests.unit.deploy.lab import NAME, Lab, model


def checked(lab):
    (report,) = check(lab.stack(model()), (), lab.ports(), lab.options, Scope(), lambda _event: None).models
    return report


def test_a_model_without_a_container_is_no_pass():
    report = checked(Lab())
    assert (report.state, report.exit_code) == (State.ABSENT, ExitCode.REFUSED)
    (problem,) = report.problems
    assert (problem.id, problem.model, problem.hint) == ("not-running", "smol", "Start it: homellm up smol")


def test_one_that_runs_is_checked_and_one_that_stopped_is_not_as_declared():
    lab = Lab()
    lab.up(model())
    assert checked(lab).exit_code is ExitCode.OK
    lab.engine.set_restart_policy(NAME, "no")
    lab.state.crash(NAME, 1)
    stopped = checked(lab)
    assert (stopped.state, stopped.exit_code) == (State.FAILED, ExitCode.REFUSED)
    assert stopped.problems[0].hint == "homellm up smol starts it; homellm logs smol shows its log."

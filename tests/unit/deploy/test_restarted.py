"""`up` on what runs as declared and was started anew by somebody, on the fake engine."""

from homellm.domain.events import StepStarted
from homellm.domain.verdicts import State
from homellm.errors import ExitCode
from tests.fakes.behaviour import Behaviour
from tests.unit.deploy.lab import NAME, Lab, good_lines, model


def only(report):
    (found,) = report.models
    return found


def test_a_server_that_was_started_anew_and_still_loads_is_waited_for():
    """After a boot, say: it runs as declared, so there is nothing to do but to wait and to prove it."""
    lab = Lab()
    lab.up()
    lab.state.behave = lambda image, args, env: Behaviour(
        lines=tuple((30.0, t) for _, t in good_lines(args)), ready_at_s=30
    )
    lab.state.daemon_restart()
    lab.events.clear()
    began_s = lab.state.clock.monotonic()
    report = only(lab.up())
    assert not any(isinstance(event, StepStarted) for event in lab.events)
    assert (report.state, report.changed, report.ready_s is not None) == (State.VERIFIED, False, True)
    assert lab.state.clock.monotonic() - began_s >= 30


def test_a_server_that_was_started_anew_and_dies_while_it_loads():
    lab = Lab()
    lab.up(model(restart="no"))
    lab.state.behave = lambda image, args, env: Behaviour(
        lines=((1.0, "0.01.000.000 E error: invalid argument: --gone\n"),), exit_at_s=20, exit_code=1, ready_at_s=None
    )
    lab.state.crash(NAME, 0)
    lab.engine.start(NAME)
    report = only(lab.up(model(restart="no")))
    assert (report.state, report.exit_code) == (State.FAILED, ExitCode.REFUSED)
    assert [problem.id for problem in report.problems] == ["flag-unknown"]

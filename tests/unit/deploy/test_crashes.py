"""Servers that ended and were started again: told apart by whether they came back."""

import pytest

from homellm.deploy.check import check
from homellm.deploy.ps import ps
from homellm.deploy.restart import restart
from homellm.deploy.scope import Scope
from homellm.domain.verdicts import State
from homellm.errors import ExitCode
from tests.fakes.behaviour import Behaviour
from tests.unit.deploy.lab import NAME, Lab, good_lines, model

GONE = "gguf_init_from_file: failed to open GGUF file '/models/smol.gguf' (No such file or directory)"


def listed(lab):
    return ps(lab.stack(), lab.ports()).models[0]


def checked(lab):
    return check(lab.stack(), (), lab.ports(), lab.options, Scope(), lambda _event: None).models[0]


def verdict(report, name):
    return next(v for v in report.checks if v.id == name)


def later(lab, seconds):
    lab.state.clock.advance(seconds)
    lab.state.settle()


def loses_its_file(image, args, env):
    """A server whose file is gone since: it says so and ends after 0.1 s."""
    first, second, *_ = good_lines(args)
    return Behaviour(
        lines=(first, second, (0.05, f"0.00.050.892 E {GONE}\n")), exit_at_s=0.1, exit_code=1, ready_at_s=None
    )


@pytest.fixture
def lab():
    lab = Lab()
    lab.up()
    return lab


@pytest.fixture
def came_back(lab):
    """Killed once, an hour ago; the engine started it again and it has served since."""
    lab.state.crash(NAME, 137)
    later(lab, 3600)
    assert lab.state.by_name(NAME).status == "running"
    return lab


@pytest.fixture
def looping(lab):
    """It ends again and again; the next start comes in less than a minute."""
    lab.state.behave = loses_its_file
    lab.state.crash(NAME, 1)
    later(lab, 5)
    assert lab.state.by_name(NAME).restart_count >= 3
    return lab


def test_one_that_came_back_is_not_called_failed(came_back):
    report = listed(came_back)
    assert (report.state, report.exit_code, report.problems) == (State.UNVERIFIED, ExitCode.OK, ())
    assert "It ended and was started again once, last at 20" in report.notes[0]
    assert "homellm restart smol clears the count" in report.notes[0]


def test_a_check_of_one_that_came_back_is_advice_that_says_when_and_what_clears_it(came_back):
    report = checked(came_back)
    assert (report.state, report.exit_code) == (State.DEGRADED, ExitCode.DEGRADED)
    found = verdict(report, "restarts")
    assert (found.observed, found.verdict, found.gate) == (1, "fail", False)
    finished = came_back.state.by_name(NAME).finished_at
    assert f"last at {finished[:10]} {finished[11:19]} UTC" in found.hint
    assert "it serves now" in found.hint
    assert "homellm restart smol clears the count" in found.hint
    assert "again and again" not in found.hint
    assert listed(came_back).state is State.DEGRADED
    again = came_back.up().models[0]
    assert (again.state, "again and again" in verdict(again, "restarts").hint) == (State.DEGRADED, False)


def test_a_restart_clears_it(came_back):
    ports = came_back.ports()
    report = restart(came_back.stack(), (), ports, came_back.options, Scope(), lambda _event: None).models[0]
    assert (report.state, verdict(report, "restarts").observed) == (State.VERIFIED, 0)
    assert checked(came_back).state is State.VERIFIED


def test_just_after_one_crash_it_is_not_called_a_loop(lab):
    lab.state.crash(NAME, 137)
    report = listed(lab)
    assert (report.state, report.problems[0].message) == (
        State.FAILED,
        f"{NAME} crashed and is being started again, last exit code 137: the server was killed (SIGKILL, exit 137), and"
        " not by its container's memory limit",
    )
    later(lab, 1)
    assert listed(lab).state is State.UNVERIFIED


def test_after_several_it_has_to_run_for_a_while_or_to_be_healthy_or_proved(lab):
    for _ in range(2):
        lab.state.crash(NAME, 139)
        later(lab, 1)
    assert listed(lab).state is State.FAILED
    lab.state.by_name(NAME).health = "healthy"
    assert listed(lab).state is State.UNVERIFIED
    lab.state.by_name(NAME).health = ""
    later(lab, 61)
    assert listed(lab).state is State.UNVERIFIED
    lab.state.crash(NAME, 139)
    later(lab, 1)
    assert checked(lab).state is State.DEGRADED
    assert listed(lab).state is State.DEGRADED


def test_one_that_loads_after_its_first_crash_is_loading(lab):
    lab.state.behave = lambda image, args, env: Behaviour(
        lines=tuple((30.0, text) for _, text in good_lines(args)), ready_at_s=30
    )
    lab.state.crash(NAME, 137)
    later(lab, 1)
    report = checked(lab)
    assert (report.state, report.exit_code) == (State.STARTING, ExitCode.REFUSED)
    assert report.problems[0].message == f"{NAME} crashed, was started again, and is still loading its model"


def test_a_loop_is_told_with_its_reason_whichever_moment_it_is_seen_in(looping):
    for _ in range(60):
        status = looping.state.by_name(NAME).status
        for report in (listed(looping), checked(looping), looping.up().models[0]):
            assert (report.state, report.exit_code) == (State.FAILED, ExitCode.REFUSED), status
        later(looping, 0.11)


def test_a_check_of_a_loop_names_the_reason_and_not_the_port(looping):
    seen = set()
    for _ in range(400):
        container = looping.state.by_name(NAME)
        seen.add(container.status)
        (problem,) = checked(looping).problems
        assert "crashes again and again" in problem.message
        assert GONE in problem.message
        assert "There is no file /models/smol.gguf" in problem.hint
        assert problem.hint.endswith(". Once that is mended, homellm restart smol starts it at once.")
        assert ("last exit code 1" in problem.message) is (container.status == "restarting")
        later(looping, 0.09)
    assert seen == {"restarting", "running"}


def test_the_reason_is_that_of_the_run_that_ended_and_not_hidden_by_the_next(looping):
    """The next run may begin between the look at the container and at its log, and starts another load there."""
    while looping.state.by_name(NAME).status != "restarting":
        later(looping, 0.05)
    container = looping.state.by_name(NAME)
    next_us = looping.state.clock.elapsed_us + 200_000
    container.log += [(next_us, text.encode()) for _, text in good_lines(container.words)[:2]]
    (problem,) = checked(looping).problems
    assert GONE in problem.message


def test_one_crash_of_a_model_is_none_of_another(lab):
    assert lab.up(model(), model(name="other", port=None)).exit_code is ExitCode.OK
    lab.state.crash(NAME, 137)
    later(lab, 3600)
    first, second = ps(lab.stack(model(), model(name="other", port=None)), lab.ports()).models
    assert (first.state, second.state) == (State.UNVERIFIED, State.VERIFIED)

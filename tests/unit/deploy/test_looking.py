"""`check`, and an `up` that finds nothing to do: Ctrl-C while a request is under way, and a server that still loads."""

import threading

import pytest

from homellm.deploy.check import check
from homellm.deploy.ps import ps
from homellm.deploy.scope import Scope
from homellm.domain.verdicts import State
from homellm.errors import ExitCode, Interrupted
from homellm.ports import HttpReply
from tests.fakes.behaviour import Behaviour
from tests.fakes.ollama import FakeApi
from tests.unit.deploy.lab import NAME, Lab, good_lines, model
from tests.unit.deploy.ollama_lab import OllamaLab, hybrid

RECORD = "/.homellm.json"
#: Longer than any test waits; a request that nobody lets go ends all the same.
HELD_S = 10.0


class Held:
    """A server that takes a request and does not answer it; Ctrl-C comes while it thinks."""

    def __init__(self, lab, scope):
        self._lab, self._scope, self._go, self.answered = lab, scope, threading.Event(), False
        lab.http.post = self._post

    def _post(self, url, body, *, timeout_s, api_key=None):
        threading.Thread(target=self._scope.cancel, daemon=True).start()
        self._go.wait(HELD_S)
        self.answered = True
        return HttpReply(0, error="timed out")

    def let_go(self):
        self._go.set()


@pytest.fixture
def scope():
    return Scope()


def checked(lab, *models, scope=None):
    found = check(lab.stack(*models), (), lab.ports(), lab.options, scope or Scope(), lambda _event: None)
    return found.models[0]


@pytest.mark.parametrize(
    ("make", "declared"), [(Lab, model()), (OllamaLab, hybrid(parallel=1, fallback="none"))], ids=["llama", "ollama"]
)
def test_ctrl_c_does_not_wait_for_the_request_of_a_check(make, declared, scope):
    lab = make()
    lab.up(declared)
    held = Held(lab, scope)
    with pytest.raises(Interrupted):
        checked(lab, declared, scope=scope)
    assert not held.answered
    held.let_go()


def test_ctrl_c_does_not_wait_for_an_ollama_that_hangs(scope, monkeypatch):
    lab, declared = OllamaLab(), hybrid(parallel=1, fallback="none")
    lab.up(declared)
    go, answered = threading.Event(), []
    shown = FakeApi.show

    def show(api, name):
        threading.Thread(target=scope.cancel, daemon=True).start()
        go.wait(HELD_S)
        answered.append(name)
        return shown(api, name)

    monkeypatch.setattr(FakeApi, "show", show)
    with pytest.raises(Interrupted):
        checked(lab, declared, scope=scope)
    assert not answered
    go.set()


def test_ctrl_c_does_not_wait_for_the_request_of_an_up_without_a_step(scope):
    lab = Lab()
    lab.up()
    lab.state.daemon_restart()  # the record is of another run now
    held = Held(lab, scope)
    report = lab.up(scope=scope)
    assert (report.exit_code, held.answered) == (ExitCode.INTERRUPTED, False)
    assert lab.state.names() == {NAME: "running"}
    held.let_go()


def loading(image, args, env):
    """A server that is ready after half a minute."""
    first, *rest = good_lines(args)
    return Behaviour(lines=(first, *((30.0, text) for _, text in rest)), ready_at_s=30)


def restarted():
    """A verified server that somebody started anew, and that loads."""
    lab = Lab()
    lab.up()
    lab.state.behave = loading
    lab.state.daemon_restart()
    return lab


def test_a_check_of_a_server_that_loads_says_so_and_keeps_nothing():
    lab = restarted()
    before = lab.engine.get_file(NAME, RECORD)
    report = checked(lab)
    assert (report.state, report.exit_code, report.checks) == (State.STARTING, ExitCode.REFUSED, ())
    (problem,) = report.problems
    assert (problem.id, problem.message) == ("starting", f"{NAME} is still loading its model")
    assert lab.engine.get_file(NAME, RECORD) == before
    assert ps(lab.stack(), lab.ports()).models[0].state is State.UNVERIFIED


def test_once_it_is_ready_a_check_and_an_up_are_right_again():
    lab = restarted()
    checked(lab)
    lab.state.clock.advance(31)
    assert checked(lab).state is State.VERIFIED
    lab = restarted()
    checked(lab)
    report = lab.up()
    assert (report.models[0].state, report.models[0].changed, report.exit_code) == (
        State.VERIFIED,
        False,
        ExitCode.OK,
    )


def test_one_that_loads_and_does_not_listen_yet_is_told_by_its_log():
    lab = restarted()
    lab.http.twist = lambda container, path, reply: HttpReply(0, error="connection refused")
    loads = good_lines(tuple(lab.state.by_name(NAME).words))[:2]
    lab.state.behave = lambda image, args, env: Behaviour(lines=loads, ready_at_s=None)
    lab.state.daemon_restart()
    report = checked(lab)
    assert (report.state, [p.id for p in report.problems]) == (State.STARTING, ["starting"])


def test_one_that_was_ready_in_this_run_and_serves_no_more_has_failed_and_that_is_kept():
    lab = Lab()
    lab.up()
    lab.http.twist = lambda container, path, reply: HttpReply(503, b"{}")
    assert checked(lab).state is State.FAILED
    assert ps(lab.stack(), lab.ports()).models[0].state is State.FAILED


def test_one_that_crashes_while_it_loads_is_not_called_loading():
    lab = restarted()
    lab.state.by_name(NAME).restart_count = 3
    report = checked(lab)
    assert (report.state, [p.id for p in report.problems]) == (State.FAILED, ["not-running"])
    assert "crashes again and again: 3 restarts" in report.problems[0].message


def test_a_loading_server_of_another_declaration_is_told_with_that():
    lab = restarted()
    report = checked(lab, model(parallel=3))
    assert report.state is State.STARTING
    assert report.notes == ("The stack file changed since this container was started; homellm up applies it.",)

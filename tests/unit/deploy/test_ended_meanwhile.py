"""A server that ends, or starts anew, while its witnesses are asked: that is told, and no gate that failed by it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from homellm.deploy.check import check
from homellm.deploy.scope import Scope
from homellm.domain.stack import Source
from homellm.domain.verdicts import State
from homellm.errors import OllamaUnreachable
from homellm.ports import HttpReply
from tests.fakes.ollama import FakeApi, FakeLoad, stored
from tests.unit.deploy.lab import NAME, Lab, model
from tests.unit.deploy.ollama_lab import MOVED, SERVER, OllamaLab, hybrid, lab_on

RESET = HttpReply(0, error="connection reset by peer")


def only(report):
    (one,) = report.models
    return one


def at_first_props(happens):
    """A twist of HTTP: something happens to the container the first time that its /props are asked for."""
    seen = []

    def twist(container, path, reply):
        if path != "/props" or seen:
            return reply
        seen.append(path)
        happens(container)
        return RESET

    return twist


@pytest.mark.parametrize(("signal", "problem"), [("SIGTERM", "stopped"), ("SIGKILL", "killed")])
def test_who_ended_it_is_told(signal, problem):
    lab = Lab()
    lab.http.twist = at_first_props(lambda container: lab.engine.kill(container.id, signal))
    report = only(lab.up(model()))
    assert (report.state, report.problems[0].id) == (State.FAILED, problem)
    assert report.checks == ()


def test_one_that_was_started_anew_is_asked_anew():
    lab = Lab()

    def restart(container):
        lab.state.daemon_restart()
        lab.engine.start(container.id)

    lab.http.twist = at_first_props(restart)
    assert only(lab.up(model())).state is State.VERIFIED
    assert lab.state.names() == {NAME: "running"}


def test_gates_that_fail_of_a_server_that_goes_on_are_told():
    lab = Lab()
    lab.http.twist = at_first_props(lambda container: None)
    assert only(lab.up(model())).problems[0].id == "gate-api"


# --- the Ollama server


@pytest.mark.parametrize(
    ("happens", "problem", "words"),
    [
        (lambda lab: lab.ports().engine.kill(SERVER, "SIGKILL"), "server-ended", "ended in the middle (exited,"),
        (lambda lab: lab.state.daemon_restart(), "server-ended", "ended in the middle and was started again"),
        (lambda lab: lab.state.vanish(SERVER), "container-gone", "was removed in the middle"),
    ],
)
def test_an_ollama_that_ends_while_it_loads_or_takes_a_file_is_told(happens, problem, words, monkeypatch):
    """The request says no more than that its connection broke."""
    lab = lab_on("llama-server")

    def cut(*_):
        happens(lab)
        raise OllamaUnreachable("nobody answers")

    monkeypatch.setattr(FakeLoad, "run", cut)
    found = only(lab.up(hybrid()))
    assert (found.state, [one.id for one in found.problems]) == (State.FAILED, [problem])
    assert f"{SERVER}, the Ollama server of hybrid, {words}" in found.problems[0].message
    monkeypatch.setattr(FakeApi, "show", cut)
    assert [one.id for one in only(lab.up(hybrid())).problems] == [problem]


def test_an_ollama_that_ends_while_it_is_asked_for_its_token_is_told():
    """`up` and `check` alike; the request itself only had no answer."""
    lab, plain = OllamaLab(), hybrid(name="plain", source=Source("ollama", "plain"))

    def twist(container, path, reply):
        if container.name != SERVER or path != "/v1/chat/completions":
            return reply
        lab.engine.kill(container.id, "SIGKILL")
        return RESET

    lab.http.twist = twist
    found = only(lab.up(plain))
    assert (found.state, [one.id for one in found.problems]) == (State.FAILED, ["server-ended"])
    lab.http.twist = lambda container, path, reply: reply
    assert only(lab.up(plain)).state is State.VERIFIED
    lab.http.twist = twist
    seen = only(check(lab.stack(plain), (), lab.ports(), lab.options, Scope(), lambda _event: None))
    assert (seen.state, [one.id for one in seen.problems]) == (State.FAILED, ["server-ended"])


def test_one_that_runs_on_and_does_not_answer_is_told_as_that(monkeypatch):
    lab = lab_on("llama-server")

    def cut(*_):
        raise OllamaUnreachable("nobody answers")

    monkeypatch.setattr(FakeLoad, "run", cut)
    assert "nobody answers" in only(lab.up(hybrid())).problems[0].message


# --- what the ladder remembers of it


def test_a_gate_that_nobody_could_see_is_tried_again():
    lab = lab_on("llama-server")
    lab.http.twist = lambda container, path, reply: RESET if path == "/props" else reply
    assert only(lab.up(hybrid())).state is State.DEGRADED
    lab.http.twist = lambda container, path, reply: reply
    assert (only(lab.up(hybrid())).state, lab.made()) == (State.VERIFIED, [f"{MOVED}.next"])


def test_a_gate_that_was_seen_to_fail_is_not():
    lab = lab_on("llama-server")
    lab.http.twist = lambda container, path, reply: (
        HttpReply(500, b'{"error":{"message":"template"}}')
        if container.name.startswith(MOVED) and path == "/v1/chat/completions"
        else reply
    )
    assert only(lab.up(hybrid())).state is State.DEGRADED
    lab.http.twist = lambda container, path, reply: reply
    assert (only(lab.up(hybrid())).state, lab.made()) == (State.DEGRADED, [])


@pytest.mark.parametrize(("restarted", "state"), [(True, State.VERIFIED), (False, State.DEGRADED)])
def test_a_kill_under_a_memory_limit_is_the_daemons_if_that_restarted(restarted, state):
    """Engine 20.10 does not always say that memory ended it, and a daemon kills what does not leave in time."""
    lab = OllamaLab()
    lab.ollamas.models = (stored("hybrid", "a", "lfm2"),)
    limited = replace(hybrid(), memory_bytes=10**9)

    def killed(container):
        lab.engine.kill(container.id, "SIGKILL")
        if restarted:
            lab.state.daemon_restart()

    lab.http.twist = at_first_props(killed)
    assert only(lab.up(limited)).state is State.DEGRADED
    assert only(lab.up(limited)).state is state

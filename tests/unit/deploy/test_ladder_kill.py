"""An abort, or a restart of the daemon, at every call of the engine while a model climbs: `up` again ends the same."""

import itertools

import pytest

from homellm.domain.verdicts import State
from homellm.ports import HttpReply
from tests.fakes.engine import Kill, Killed
from tests.unit.deploy.ollama_lab import MOVED, SERVER, declared, lab_on

FEWEST_CALLS = 40
FEWEST_REQUESTS = 3


def killed_up(rung, n, when):
    """A machine on which the first `up` died at its n-th call; None when it had come to its end before."""
    lab = lab_on(rung)
    try:
        lab.up(declared(rung), kill=Kill(n, when))
    except Killed:
        return lab
    return None


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("rung", ["llama-server", "source", "ollama"])
def test_the_next_up_ends_where_an_undisturbed_one_does(rung, when):
    for n in itertools.count(1):
        lab = killed_up(rung, n, when)
        if lab is None:
            break
        settled(lab, rung, n)
    assert n > FEWEST_CALLS, f"only {n} calls were killed"


@pytest.mark.parametrize("rung", ["llama-server", "source"])
def test_a_daemon_restart_in_the_middle(rung):
    """Before every call: whatever that `up` made of it, the next one ends where it should."""
    for n in itertools.count(1):
        lab, calls = lab_on(rung), itertools.count(1)

        def restart(_call, lab=lab, calls=calls, n=n):
            if next(calls) == n:
                lab.state.daemon_restart()

        lab.up(declared(rung), ports=lab.ports(before=restart))
        if next(calls) <= n:
            break
        (report,) = lab.up(declared(rung)).models
        assert (report.state, report.slots, report.runner) == (State.VERIFIED, 3, "llama-server"), n
        assert lab.state.names() == {SERVER: "running", MOVED: "running"}, n
    assert n > FEWEST_CALLS, f"only {n} calls were hit"


@pytest.mark.parametrize("answered", [True, False])
@pytest.mark.parametrize("rung", ["llama-server", "source"])
def test_a_daemon_restart_while_a_server_is_asked(rung, answered):
    """At every request to a server of ours, before or after its answer: no rung is remembered as one that failed."""
    for n in itertools.count(1):
        lab, asked = lab_on(rung), itertools.count(1)

        def restart(_container, _path, reply, lab=lab, asked=asked, n=n):
            if next(asked) != n:
                return reply
            lab.state.daemon_restart()
            return reply if answered else HttpReply(0, error="connection reset by peer")

        lab.http.twist = restart
        lab.up(declared(rung))
        if next(asked) <= n:
            break
        (report,) = lab.up(declared(rung)).models
        assert (report.state, report.slots, report.fallback.rung) == (State.VERIFIED, 3, rung), n
        assert lab.state.names() == {SERVER: "running", MOVED: "running"}, n
    assert n > FEWEST_REQUESTS, f"only {n} requests were hit"


def settled(lab, rung, n):
    """One more `up`: verified on its rung, and nothing beside it."""
    (report,) = lab.up(declared(rung)).models
    assert report.state is (State.DEGRADED if rung == "ollama" else State.VERIFIED), (n, report)
    assert report.fallback.rung == rung, n
    kept = {SERVER: "running"} | ({} if rung == "ollama" else {MOVED: "running"})
    assert lab.state.names() == kept, n
    assert all(lab.state.by_name(name).policy == "unless-stopped" for name in kept), n
    assert lab.made().count(f"{MOVED}.next") <= 3, n

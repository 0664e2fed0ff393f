"""An abort, or a restart of the daemon, at every call of the engine while a model climbs: `up` again ends the same."""

import itertools

import pytest

from homellm.domain.verdicts import State
from tests.fakes.engine import Kill, Killed
from tests.unit.deploy.ollama_lab import MOVED, SERVER, declared, lab_on

FEWEST_CALLS = 40


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
    """Before every third call: whatever that `up` made of it, the next one ends where it should."""
    for n in itertools.count(1, 3):
        lab, calls = lab_on(rung), itertools.count(1)

        def restart(_call, lab=lab, calls=calls, n=n):
            if next(calls) == n:
                lab.state.daemon_restart()

        lab.up(declared(rung), ports=lab.ports(before=restart))
        if next(calls) <= n:
            break
        # What ends the successor while its witnesses are asked looks like a fault of that rung: the next one serves.
        (report,) = lab.up(declared(rung)).models
        assert (report.state, report.slots, report.runner) == (State.VERIFIED, 3, "llama-server"), n
        assert lab.state.names() == {SERVER: "running", MOVED: "running"}, n
    assert n > FEWEST_CALLS, f"only {n} calls were hit"


def settled(lab, rung, n):
    """One more `up`: verified on its rung, and nothing beside it."""
    (report,) = lab.up(declared(rung)).models
    assert report.state is (State.DEGRADED if rung == "ollama" else State.VERIFIED), (n, report)
    assert report.fallback.rung == rung, n
    kept = {SERVER: "running"} | ({} if rung == "ollama" else {MOVED: "running"})
    assert lab.state.names() == kept, n
    assert all(lab.state.by_name(name).policy == "unless-stopped" for name in kept), n
    assert lab.made().count(f"{MOVED}.next") <= 3, n

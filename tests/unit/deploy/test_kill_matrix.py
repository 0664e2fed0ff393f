"""An abort before and after every call of the engine, then `up` again: always the right container under its name.

The process that dies is a whole `up` with a new declaration over an old one that serves. After it comes an `up` with
the new file or with the old one; what serves then is what that file declares, or, with a successor that cannot work,
the old one. Nothing is left but what design rule 7 keeps.
"""

import itertools
from dataclasses import replace

import pytest

from homellm.domain.verdicts import State
from homellm.domain.world import Listener
from tests.fakes.engine import Kill, Killed
from tests.unit.deploy.lab import NAME, Lab, bad, good, model

OLD, NEW = {"parallel": 1}, {"parallel": 3}
#: Calls that change something in a swap: create, two policies, stop, start, three renames; reads come on top.
FEWEST_CALLS = 20
ALLOWED = {NAME, f"{NAME}.failed", *(f"{NAME}.prev-{n}" for n in (1, 2, 3))}


def killed_up(behave, n, when):
    """A machine on which the second `up` died at its n-th call; None when it had come to its end before."""
    lab = Lab(behave=behave)
    lab.up(model(**OLD))
    try:
        lab.up(model(**NEW), kill=Kill(n, when))
    except Killed:
        return lab
    return None


def every_kill(behave, when):
    """(n, machine) for every call of a whole `up`, found by trying: reads of the log's thread come as they come."""
    for n in itertools.count(1):
        lab = killed_up(behave, n, when)
        if lab is None:
            break
        yield n, lab
    assert n > FEWEST_CALLS, f"only {n} calls were killed"


def settled(lab, n):
    names = lab.state.names()
    assert set(names) <= ALLOWED, (n, names)
    assert names[NAME] == "running", (n, names)
    assert [name for name, status in names.items() if status == "running"] == [NAME]
    assert {lab.state.by_name(n).policy for n in names if n != NAME} <= {"no"}
    assert lab.state.by_name(NAME).policy == "unless-stopped"


def case(*values):
    return [pytest.param(value, id=getattr(value, "__name__", value)) for value in values]


@pytest.mark.parametrize("behave", case(good, bad))
@pytest.mark.parametrize("when", case("before", "after"))
def test_up_with_the_new_file(behave, when):
    for n, lab in every_kill(behave, when):
        (report,) = lab.up(model(**NEW)).models
        settled(lab, n)
        assert lab.slots() == (3 if behave is good else 1), n
        assert report.state is (State.VERIFIED if behave is good else State.FAILED), n


@pytest.mark.parametrize("behave", case(good, bad))
@pytest.mark.parametrize("when", case("before", "after"))
def test_up_with_the_old_file(behave, when):
    for n, lab in every_kill(behave, when):
        (report,) = lab.up(model(**OLD)).models
        settled(lab, n)
        assert lab.slots() == 1, n
        assert report.state is State.VERIFIED, n


@pytest.mark.parametrize("when", case("before", "after"))
def test_up_with_a_file_that_cannot_even_begin(when):
    """Something else holds the port that it asks for now: what the killed run had stopped serves again."""
    brought_back = 0
    for n, lab in every_kill(good, when):
        before = {name: lab.state.by_name(name).policy for name in lab.state.names()}
        lab.host.host = replace(lab.host.host, listeners=(Listener("127.0.0.1", 9999, 7, "nginx"),))
        (report,) = lab.up(model(**NEW, port=9999)).models
        assert [problem.id for problem in report.problems] == ["port-taken"], n
        if before.get(f"{NAME}.next") == "unless-stopped":  # proved: it serves, and lacks nothing but its renames
            assert lab.state.names()[f"{NAME}.next"] == "running", n
            continue
        assert lab.state.names()[NAME] == "running", (n, before)
        assert lab.state.by_name(NAME).policy == "unless-stopped", (n, before)
        assert f"{NAME}.next" not in lab.state.names() or before[NAME] == "unless-stopped", (n, before)
        brought_back += report.notes == ("The server that ran before serves again, verified.",)
    assert brought_back


def stopped_by_a_killed_up():
    """A machine on which an `up` died after it had stopped the old one."""
    lab = Lab()
    lab.up(model(**OLD))
    with pytest.raises(Killed):
        lab.up(model(**NEW), kill=Kill(1, "before", frozenset({"start"})))
    assert lab.state.names() == {NAME: "exited", f"{NAME}.next": "created"}
    return lab


def test_it_comes_back_also_where_the_image_cannot_be_pulled():
    lab = stopped_by_a_killed_up()
    (report,) = lab.up(model(**NEW, image="example/nowhere:tag")).models
    assert report.state is State.FAILED
    assert report.notes == ("The server that ran before serves again, verified.",)
    assert lab.state.names() == {NAME: "running"}


def test_not_where_another_homellm_is_at_work_on_it():
    lab = stopped_by_a_killed_up()
    lab.host.host = replace(lab.host.host, listeners=(Listener("127.0.0.1", 9999, 7, "nginx"),))
    elsewhere = replace(lab.ports(), maker="another network namespace")
    (report,) = lab.up(model(**NEW, port=9999), ports=elsewhere).models
    assert {problem.id for problem in report.problems} == {"port-taken", "locked"}
    assert lab.state.names() == {NAME: "exited", f"{NAME}.next": "created"}

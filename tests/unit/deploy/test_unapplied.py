"""`check` and `ps` after the stack file was edited and not applied, and of a server that was proved again."""

from dataclasses import replace

import pytest

from homellm.deploy.check import check
from homellm.deploy.ps import ps
from homellm.deploy.scope import Scope
from homellm.domain.secret import Secret
from homellm.domain.verdicts import State
from homellm.domain.world import Image
from homellm.errors import ExitCode
from tests.fakes.engine import Kill, Killed
from tests.unit.deploy.lab import IMAGE, NAME, Lab, bad, model
from tests.unit.deploy.ollama_lab import OllamaLab, hybrid

CHANGED = "The stack file changed since this container was started; homellm up applies it."
EDITED = "The stack file changed since it was started: homellm plan smol tells what homellm up would do."
UNDER_WAY = "homellm up is at work, or was cut off: homellm up goes on."


def checked(lab, *models):
    (report,) = check(lab.stack(*models), (), lab.ports(), lab.options, Scope(), lambda _event: None).models
    return report


def listed(lab, *models):
    (report,) = ps(lab.stack(*models), lab.ports()).models
    return report


@pytest.fixture
def lab():
    lab = Lab()
    lab.up(model(parallel=1))
    return lab


def test_an_edited_file_is_the_reason_for_what_differs(lab):
    report = checked(lab, model(parallel=3))
    assert (report.state, report.exit_code, report.notes) == (State.FAILED, ExitCode.REFUSED, (CHANGED,))
    slots = next(verdict for verdict in report.checks if verdict.id == "slots")
    assert (slots.asked, slots.observed, slots.verdict, slots.hint) == (3, 1, "fail", CHANGED)
    assert [(problem.id, problem.hint) for problem in report.problems] == [("gate-slots", CHANGED)]
    memory = next(verdict for verdict in report.checks if verdict.id == "memory")
    assert (memory.verdict, memory.asked, memory.hint) == ("not-applicable", None, "")


def test_an_edit_that_no_witness_sees_is_told_all_the_same(lab):
    report = checked(lab, model(parallel=1, labels={"a": "b"}))
    assert (report.state, report.exit_code, report.notes) == (State.DEGRADED, ExitCode.DEGRADED, (CHANGED,))
    last = report.checks[-1]
    assert (last.id, last.asked, last.observed, last.verdict) == ("declaration", True, False, "fail")
    assert "homellm plan smol" in last.hint


@pytest.mark.parametrize(
    ("before", "now", "failed"),
    [
        ({"bind": "0.0.0.0"}, {"bind": "0.0.0.0", "api_key": Secret("abcdef")}, {"exposure", "declaration"}),
        ({"bind": "0.0.0.0"}, {"port": None}, {"port", "exposure", "declaration"}),
        ({}, {"bind": "127.0.0.2"}, {"exposure", "declaration"}),
        ({}, {"port": 24402}, {"port", "declaration"}),
    ],
    ids=["a key", "no port", "another address", "another port"],
)
def test_what_is_published_is_the_container_s_and_not_the_file_s(before, now, failed):
    lab = Lab()
    lab.up(model(**before))
    report = checked(lab, model(**now))
    assert {v.id for v in report.checks if v.verdict == "fail"} == failed
    assert report.exit_code is ExitCode.DEGRADED
    assert report.endpoint == "http://127.0.0.1:8081/v1"
    hints = {v.id: v.hint for v in report.checks if v.id in ("port", "exposure") and v.verdict == "fail"}
    assert all("homellm up applies it" in hint and "Set api_key" not in hint for hint in hints.values())


def test_what_is_declared_is_judged_with_its_own_hints_and_its_memory(lab):
    report = checked(lab, model(parallel=1))
    assert (report.state, report.notes) == (State.VERIFIED, ())
    assert next(v.verdict for v in report.checks if v.id == "memory") != "not-applicable"


def test_an_image_that_moved_is_no_edit(lab):
    lab.state.arrived(Image("sha256:another", entrypoint=("/server",)), IMAGE)
    report = checked(lab, model(parallel=1))
    assert report.state is State.DEGRADED
    assert report.notes == (f"The image {IMAGE} changed since this container was started; homellm up applies it.",)
    assert next(v.verdict for v in report.checks if v.id == "memory") == "not-applicable"


def test_a_check_with_an_edited_file_leaves_the_record_alone(lab):
    checked(lab, model(parallel=3))
    assert listed(lab, model(parallel=1)).state is State.VERIFIED
    assert lab.up(model(parallel=1)).models[0].state is State.VERIFIED


def test_ps_says_why_a_server_failed_and_what_to_type(lab):
    lab.http.twist = lambda container, path, reply: replace(
        reply, body=reply.body.replace(b'"total_slots": 1', b'"total_slots": 2')
    )
    assert checked(lab, model(parallel=1)).state is State.FAILED
    report = listed(lab, model(parallel=1))
    assert (report.state, [p.id for p in report.problems]) == (State.FAILED, ["gate-slots"])
    assert report.problems[0].message == "slots: asked 1, observed 2 (/props)"
    assert [(v.id, v.asked, v.observed) for v in report.checks] == [("slots", 1, 2)]
    assert report.notes == ("That was found at 2026-11-30T12:00:00+00:00; homellm check smol looks anew.",)


@pytest.mark.parametrize(
    ("now", "edited"),
    [
        ({}, False),
        ({"port": 24402}, True),
        ({"port": None}, True),
        ({"bind": "0.0.0.0"}, True),
        ({"api_key": Secret("abcdef")}, True),
        ({"mlock": True}, True),
        ({"section": "smol:\n  parallel: '1'\n"}, False),
    ],
)
def test_ps_tells_where_it_is_and_that_the_file_says_something_else(lab, now, edited):
    report = listed(lab, model(parallel=1, **now))
    assert (report.endpoint, report.edited) == ("http://127.0.0.1:8081/v1", edited)
    assert report.state is (State.UNVERIFIED if edited else State.VERIFIED)
    assert report.notes == ((EDITED,) if edited else ())


def test_ps_of_an_ollama_server_tells_its_own_port():
    lab = OllamaLab()
    asked = hybrid(parallel=1, fallback="none")
    lab.up(asked)
    assert listed(lab, asked).edited is False
    lab.server = replace(lab.server, port=11999)
    report = listed(lab, asked)
    assert (report.endpoint, report.edited, report.state) == ("http://127.0.0.1:11434/v1", True, State.UNVERIFIED)
    looked = checked(lab, asked)
    assert {v.id for v in looked.checks if v.verdict == "fail"} == {"port", "declaration"}
    assert looked.endpoint == "http://127.0.0.1:11434/v1"


def test_ps_names_what_the_file_has_not_any_more(lab):
    renamed = ps(lab.stack(model(name="talk")), lab.ports())
    assert (renamed.models[0].state, renamed.orphans) == (State.ABSENT, (NAME,))
    assert ps(lab.stack(model(parallel=1)), lab.ports()).orphans == ()


def test_what_ran_before_is_verified_again_after_an_undo():
    lab = Lab(behave=bad)
    lab.up(model(parallel=1))
    assert lab.up(model(parallel=3)).models[0].state is State.FAILED
    report = listed(lab, model(parallel=1))
    assert (report.state, report.container, report.slots) == (State.VERIFIED, NAME, 1)
    report = listed(lab, model(parallel=3))
    assert (report.state, report.container, report.slots, report.edited) == (State.UNVERIFIED, NAME, 1, True)


def cut_off(lab, again):
    """An `up` that was killed while its successor ran and was not yet committed."""
    with pytest.raises(Killed):
        lab.up(again, kill=Kill(2, "before", frozenset({"set_restart_policy"})))
    assert lab.state.by_name(f"{NAME}.next").status == "running"


@pytest.mark.parametrize("before", [True, False])
def test_an_up_at_work_is_starting_and_not_stopped(before):
    lab = Lab()
    if before:
        lab.up(model(parallel=1))
        cut_off(lab, model(parallel=3))
    else:
        with pytest.raises(Killed):
            lab.up(model(parallel=3), kill=Kill(1, "before", frozenset({"set_restart_policy"})))
    report = listed(lab, model(parallel=3))
    assert (report.state, report.container, report.notes) == (State.STARTING, f"{NAME}.next", (UNDER_WAY,))
    looked = checked(lab, model(parallel=3))
    assert (looked.state, looked.exit_code) == (State.STARTING, ExitCode.REFUSED)
    assert [(p.id, p.message) for p in looked.problems] == [("starting", UNDER_WAY)]
    assert lab.up(model(parallel=3)).models[0].state is State.VERIFIED


def test_one_that_was_cut_off_before_its_successor_ran_is_stopped_and_says_what_goes_on(lab):
    with pytest.raises(Killed):
        lab.up(model(parallel=3), kill=Kill(1, "before", frozenset({"start"})))
    assert lab.state.names() == {NAME: "exited", f"{NAME}.next": "created"}
    report = listed(lab, model(parallel=3))
    assert (report.state, report.notes) == (State.STOPPED, (UNDER_WAY, EDITED))
    assert UNDER_WAY in checked(lab, model(parallel=3)).notes


def test_an_ollama_server_of_another_declaration():
    lab = OllamaLab()
    asked = hybrid(parallel=1, fallback="none")
    assert lab.up(asked).models[0].state is State.VERIFIED
    assert checked(lab, asked).notes == ()
    lab.server = replace(lab.server, labels={"a": "b"})
    report = checked(lab, replace(asked, parallel=3))
    assert report.notes[0] == CHANGED
    assert {v.id: v.hint for v in report.checks if v.verdict == "fail" and v.id != "declaration"} == {"slots": CHANGED}
    assert report.checks[-1].id == "declaration"


def test_an_ollama_server_that_an_up_is_making():
    lab = OllamaLab()
    asked = hybrid(parallel=1, fallback="none")
    with pytest.raises(Killed):
        lab.up(asked, kill=Kill(1, "before", frozenset({"set_restart_policy"})))
    assert (listed(lab, asked).state, listed(lab, asked).notes) == (State.STARTING, (UNDER_WAY,))
    assert [p.message for p in checked(lab, asked).problems] == [UNDER_WAY]

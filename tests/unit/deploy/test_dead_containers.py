"""What a removal has left that the engine could not end: every verb takes it for gone, and `up` and `down` clear it."""

from __future__ import annotations

import pytest

from homellm.deploy.check import check
from homellm.deploy.down import down
from homellm.deploy.logs import logs
from homellm.deploy.preview import plan
from homellm.deploy.ps import ps
from homellm.deploy.restart import restart
from homellm.deploy.scope import Scope
from homellm.deploy.session import Options
from homellm.domain.events import Note
from homellm.domain.verdicts import State
from homellm.errors import ExitCode, Refused
from tests.fakes.behaviour import Behaviour
from tests.unit.deploy.lab import IMAGE, NAME, Lab, bad, good, model

FOR_EVER = 10**6
LEFT = f"The removal of {NAME} was begun and not ended: homellm up and homellm down end it."


def all_of_a_unit():
    """One that serves, two predecessors and a failure."""
    lab = Lab()
    for parallel in (3, 2, 1):
        assert lab.up(model(parallel=parallel)).exit_code is ExitCode.OK
    lab.state.behave = bad  # one slot works, four do not
    assert lab.up(model(parallel=4)).exit_code is ExitCode.REFUSED
    assert set(lab.state.names()) == {NAME, f"{NAME}.prev-1", f"{NAME}.prev-2", f"{NAME}.failed"}
    lab.state.behave = good
    return lab


def warnings(lab):
    return [event.text for event in lab.events if isinstance(event, Note) and event.warning]


@pytest.mark.parametrize("parallel", [1, 2], ids=["same-file", "new-file"])
@pytest.mark.parametrize("part", ["", ".failed", ".prev-1", ".prev-2"])
def test_up_clears_it_whatever_part_it_played(part, parallel):
    lab = all_of_a_unit()
    lab.state.vanish_half(NAME + part)
    report = lab.up(model(parallel=parallel))
    assert (report.exit_code, report.models[0].state) == (ExitCode.OK, State.VERIFIED)
    assert lab.slots() == parallel
    assert "dead" not in lab.state.names().values()
    assert warnings(lab) == []


def test_up_clears_a_successor_that_was_left_so():
    lab = Lab()
    lab.up()
    lab.engine.create(f"{NAME}.next", dict(lab.state.must_find(NAME).body))
    lab.state.vanish_half(f"{NAME}.next")
    assert lab.up(model(parallel=2)).exit_code is ExitCode.OK
    assert (lab.slots(), lab.state.names()) == (2, {NAME: "running", f"{NAME}.prev-1": "exited"})


def test_a_plan_says_that_it_is_removed_and_made_anew():
    lab = Lab()
    lab.up()
    lab.state.vanish_half(NAME)
    shown = plan(lab.stack(), (), lab.ports(), lab.options)
    titles = [step.title for step in shown.steps]
    assert titles[:2] == [f"remove {NAME}", f"create {NAME}.next"]


def test_ps_and_check_and_restart_take_it_for_gone_and_say_how_to_end_it():
    lab = Lab()
    lab.up()
    lab.state.vanish_half(NAME)
    shown = ps(lab.stack(), lab.ports()).models[0]
    assert (shown.state, shown.notes) == (State.ABSENT, (LEFT,))
    checked = check(lab.stack(), (), lab.ports(), lab.options, Scope(), lambda _event: None).models[0]
    assert (checked.state, checked.exit_code, checked.notes) == (State.ABSENT, ExitCode.REFUSED, (LEFT,))
    again = restart(lab.stack(), (), lab.ports(), lab.options, Scope(), lambda _event: None).models[0]
    assert (again.state, again.problems[0].hint) == (State.ABSENT, "Start it: homellm up smol")
    with pytest.raises(Refused) as caught:
        logs(lab.stack(), (), lab.ports(), Scope(), follow=False, tail=None, write=lambda *_: None)
    assert caught.value.problems[0].id == "no-log"


def test_ps_tells_of_one_beside_what_serves():
    lab = all_of_a_unit()
    lab.state.vanish_half(f"{NAME}.failed")
    shown = ps(lab.stack(model(parallel=1)), lab.ports()).models[0]
    assert shown.state is not State.ABSENT
    assert any(f"The removal of {NAME}.failed was begun" in note for note in shown.notes)


def test_down_ends_a_removal_that_fails_at_first():
    lab = all_of_a_unit()
    lab.state.vanish_half(f"{NAME}.prev-1")
    lab.state.removals_fail = {NAME: 2, f"{NAME}.prev-1": 1}
    report = down("nuc", lab.ports(), lab.options, Scope(), lab.events.append)
    assert (report.exit_code, report.problems) == (ExitCode.OK, ())
    assert lab.state.names() == {}
    assert "homellm-nuc" in report.removed


def test_down_says_what_it_could_not_remove_and_removes_the_rest():
    lab = all_of_a_unit()
    lab.state.removals_fail = {f"{NAME}.prev-2": FOR_EVER}
    report = down("nuc", lab.ports(), lab.options, Scope(), lab.events.append)
    (problem,) = report.problems
    assert (report.exit_code, problem.id) == (ExitCode.REFUSED, "not-removed")
    assert f"What is left of {NAME}.prev-2 is dead" in problem.message
    assert f"docker rm {NAME}.prev-2" in problem.hint
    assert lab.state.names() == {f"{NAME}.prev-2": "dead"}
    assert {NAME, f"{NAME}.prev-1", f"{NAME}.failed", "homellm-nuc"} == set(report.removed)


def test_up_stops_nothing_where_a_name_that_it_needs_stays_taken():
    lab = Lab()
    lab.up()
    lab.engine.create(f"{NAME}.next", dict(lab.state.must_find(NAME).body))
    lab.state.removals_fail = {f"{NAME}.next": FOR_EVER}
    started = lab.state.must_find(NAME).started_at
    report = lab.up(model(parallel=2))
    (problem,) = report.models[0].problems
    assert (report.exit_code, problem.id) == (ExitCode.REFUSED, "not-removed")
    assert f"docker rm {NAME}.next" in problem.hint
    assert (lab.slots(), lab.state.must_find(NAME).started_at) == (1, started)


def test_what_nobody_needs_is_told_and_the_proved_successor_stays():
    """The failure of an earlier run goes last, after the commit: that it will not go undoes nothing."""
    lab = all_of_a_unit()
    lab.state.removals_fail = {f"{NAME}.failed": FOR_EVER}
    report = lab.up(model(parallel=2))
    assert (report.exit_code, report.models[0].state) == (ExitCode.OK, State.VERIFIED)
    assert lab.slots() == 2
    (warning,) = warnings(lab)
    assert f"left of {NAME}.failed is dead" in warning
    assert f"docker rm {NAME}.failed" in warning


def test_an_orphan_that_will_not_go_keeps_nothing_from_being_made():
    lab = Lab()
    lab.up(model(), model(name="gone", port=None))
    lab.state.removals_fail = {"nuc-gone": FOR_EVER}
    options = Options(engine_return_s=0.0, remove_orphans=True)
    report = lab.up(model(parallel=2), options=options)
    assert (report.exit_code, report.removed, lab.slots()) == (ExitCode.OK, (), 2)
    assert any("left of nuc-gone is dead" in text for text in warnings(lab))


def test_a_question_to_an_image_is_answered_though_its_container_will_not_go():
    lab = Lab()

    def stuck(call):
        if call.method == "start":
            lab.state.removals_fail[call.args[0]] = FOR_EVER

    engine = lab.ports(before=stuck).engine
    lab.state.behave = lambda *_: Behaviour(lines=((0.0, "help\n"),), exit_at_s=0.1)
    answer = engine.probe(IMAGE, ("--help",), {})
    assert (answer.exit_code, answer.output) == (0, "help\n")
    (name,) = lab.state.names()
    assert lab.state.names()[name] == "dead"


def test_a_successor_that_somebody_removes_by_half_is_cleared_and_no_failure():
    """What ran before serves again, and the log of an older failure stays."""
    lab = all_of_a_unit()
    failed = lab.state.must_find(f"{NAME}.failed").id

    def removed(call):
        if call.method == "logs" and lab.state.by_name(f"{NAME}.next"):
            lab.state.vanish_half(f"{NAME}.next")

    report = lab.up(model(parallel=2), ports=lab.ports(before=removed))
    assert [problem.id for problem in report.models[0].problems] == ["container-gone"]
    assert (lab.slots(), lab.state.names()[NAME]) == (1, "running")
    assert lab.state.must_find(f"{NAME}.failed").id == failed
    assert "dead" not in lab.state.names().values()

"""`restart`: looks before it stops what works, and tells what the file says by now."""

from pathlib import Path

import pytest

from homellm.deploy.restart import restart
from homellm.deploy.scope import Scope
from homellm.domain.events import StepStarted
from homellm.domain.stack import Volume
from homellm.domain.verdicts import State
from homellm.domain.world import ModelFile
from homellm.errors import ExitCode
from tests.fakes.behaviour import Behaviour
from tests.unit.deploy.lab import NAME, Lab, good_lines, model

CHANGED = "The stack file changed since this container was started; homellm up applies it."
WEIGHTS = "/models/smol.gguf"


def again(lab, *models):
    lab.events.clear()
    found = restart(lab.stack(*models), (), lab.ports(), lab.options, Scope(), lab.events.append)
    return found.models[0]


def steps(lab):
    return [event.step.kind for event in lab.events if isinstance(event, StepStarted)]


@pytest.fixture
def lab():
    lab = Lab()
    lab.up()
    return lab


def test_what_is_there_is_stopped_started_and_proved(lab):
    report = again(lab)
    assert (report.state, report.exit_code, report.notes) == (State.VERIFIED, ExitCode.OK, ())
    assert steps(lab) == ["stop", "start", "verify"]


def test_that_the_file_changed_is_told_and_what_was_declared_then_is_not_blamed():
    lab = Lab()
    lab.up(model(bind="0.0.0.0"))
    report = again(lab)
    assert (report.state, report.exit_code, report.notes) == (State.DEGRADED, ExitCode.DEGRADED, (CHANGED,))
    hints = {v.id: v.hint for v in report.checks if v.verdict == "fail"}
    assert set(hints) == {"exposure", "declaration"}
    assert "homellm up applies it" in hints["exposure"]
    assert "Set api_key" not in hints["exposure"]


def test_with_nothing_there_it_says_what_to_type():
    report = again(Lab())
    assert (report.state, report.exit_code) == (State.ABSENT, ExitCode.REFUSED)
    (problem,) = report.problems
    assert (problem.id, problem.message) == ("not-running", "there is no container of smol to restart")
    assert problem.hint == "Start it: homellm up smol"


@pytest.mark.parametrize("state", ["missing", "dangling"])
@pytest.mark.parametrize("edited", [False, True])
def test_a_server_whose_file_is_gone_is_not_stopped(lab, edited, state):
    lab.files.states[WEIGHTS] = ModelFile(WEIGHTS, state)
    report = again(lab, model(labels={"a": "b"}) if edited else model())
    assert (report.state, report.exit_code, [p.id for p in report.problems]) == (
        State.FAILED,
        ExitCode.REFUSED,
        ["model-missing"],
    )
    assert report.notes == (f"It was not stopped, and still serves: {NAME}.",)
    assert steps(lab) == []
    assert lab.state.by_name(NAME).status == "running"


@pytest.mark.parametrize("edited", [False, True])
@pytest.mark.parametrize("key", ["mmproj", "chat_template_file"])
def test_a_server_whose_projector_or_template_is_gone_is_not_stopped(lab, edited, key):
    beside = f"/models/{key}"
    lab.files.contents |= {WEIGHTS: b"GGUF", beside: b"more"}
    lab.files.states[beside] = ModelFile(beside, "ok", 4, 4, 4, "clip")
    declared = model(**{key: Path(beside)})
    assert lab.up(declared).models[0].state in (State.VERIFIED, State.DEGRADED)
    lab.events.clear()
    lab.files.states[beside] = ModelFile(beside, "missing")
    report = again(lab, model(labels={"a": "b"}) if edited else declared)
    assert (report.state, report.exit_code) == (State.FAILED, ExitCode.REFUSED)
    assert beside in report.problems[0].message
    assert report.notes == (f"It was not stopped, and still serves: {NAME}.",)
    assert steps(lab) == []


@pytest.mark.parametrize("edited", [False, True])
def test_a_server_one_of_whose_mounts_is_gone_is_not_stopped(lab, edited):
    """The engine starts nothing whose folder it cannot mount."""
    declared = model(volumes=(Volume("/srv/data", "/data"),))
    lab.up(declared)
    lab.files.states["/srv/data"] = ModelFile("/srv/data", "missing")
    report = again(lab, model(labels={"a": "b"}) if edited else declared)
    assert (report.state, report.exit_code, [p.id for p in report.problems]) == (
        State.FAILED,
        ExitCode.REFUSED,
        ["mount-missing"],
    )
    assert report.problems[0].model == "smol"
    assert report.notes == (f"It was not stopped, and still serves: {NAME}.",)
    assert steps(lab) == []


def test_the_file_that_counts_is_the_container_s_own(lab):
    """The stack file names another folder by now, and nothing is there."""
    elsewhere = "/other/smol.gguf"
    lab.files.states[elsewhere] = ModelFile(elsewhere, "missing")
    moved = model(source=type(model().source)("gguf", "", type(model().source.path)(elsewhere)))
    report = again(lab, moved)
    assert steps(lab) == ["stop", "start", "verify"]
    assert (report.state, report.notes) == (State.DEGRADED, (CHANGED,))


def test_a_file_that_this_user_may_not_read_is_no_reason(lab):
    lab.files.states[WEIGHTS] = ModelFile(WEIGHTS, "unreadable", reason="Permission denied")
    assert again(lab).state is State.VERIFIED


def test_what_stands_in_the_way_of_what_is_declared_stands_in_its_way_too(lab):
    lab.up(model(cpuset="0-3"))
    lab.host.host = type(lab.host.host)(readable=True, online_cpus=(0, 1), listeners=())
    report = again(lab, model(cpuset="0-3"))
    assert ([p.id for p in report.problems], steps(lab)) == (["cpus-unavailable"], [])


def test_one_that_does_not_come_up_again_is_not_said_to_serve(lab):
    first, second, *_ = good_lines(tuple(lab.state.by_name(NAME).words))
    gone = (
        "0.00.050.892 E gguf_init_from_file: failed to open GGUF file '/models/smol.gguf' (No such file or directory)\n"
    )
    lab.state.behave = lambda image, args, env: Behaviour(
        lines=(first, second, (0.0, gone)), exit_at_s=0.1, exit_code=1
    )
    report = again(lab)
    assert (report.state, [p.id for p in report.problems]) == (State.FAILED, ["model-missing"])
    assert report.notes == (f"{NAME} does not serve now: homellm logs smol shows its log.",)
    assert (report.container, report.endpoint) == (None, None)


def test_one_that_answers_and_is_not_as_declared_is_said_to_answer(lab):
    lab.state.behave = lambda image, args, env: Behaviour(
        lines=tuple((s, t.replace("n_slots = 1", "n_slots = 2")) for s, t in good_lines(args))
    )
    lab.http.twist = lambda container, path, reply: type(reply)(
        reply.status, reply.body.replace(b'"total_slots": 1', b'"total_slots": 2')
    )
    report = again(lab)
    assert (report.state, [p.id for p in report.problems]) == (State.FAILED, ["gate-slots"])
    assert report.notes == (f"{NAME} answers, and is not as declared: homellm check smol looks at it.",)
    assert report.endpoint == "http://127.0.0.1:8081/v1"


def test_a_gate_that_fails_by_the_edit_alone_is_not_blamed_on_the_server():
    """It has the 4096 tokens that it was made with; that the server cut them, or lacks memory, would be untrue."""
    lab = Lab()
    lab.up(model())
    report = again(lab, model(ctx=8192))
    assert (report.state, report.exit_code) == (State.FAILED, ExitCode.REFUSED)
    (problem,) = report.problems
    assert (problem.id, problem.hint) == ("gate-ctx", CHANGED)
    assert [(check.id, check.hint) for check in report.checks] == [("ctx", CHANGED)]
    assert report.notes == (f"{NAME} answers, and is not as declared: homellm check smol looks at it.",)

"""Models that are to have each other's ports: all of them move, or all of them are as they were."""

import itertools
from dataclasses import replace
from pathlib import Path

import pytest

from homellm.deploy.preview import plan
from homellm.deploy.scope import Scope
from homellm.domain.steps import StartContainer, StopContainer
from homellm.domain.verdicts import State
from homellm.domain.world import ModelFile
from homellm.errors import EngineRefused, ExitCode
from tests.fakes.engine import Kill, Killed
from tests.unit.deploy.lab import Lab, bad, good, model
from tests.unit.deploy.ollama_lab import OllamaLab, hybrid

OLD = {"a": 8081, "b": 8082}
SWAPPED = {"a": 8082, "b": 8081}
CIRCLE = {"a": 8082, "b": 8083, "c": 8081}


def models(ports, **changed):
    """Models on these ports; `changed` are further keys by name."""
    return tuple(model(**({"name": name, "port": port} | changed.get(name, {}))) for name, port in ports.items())


def running(lab):
    """The ports that are really published, by container."""
    return {name: port for _, port, name in lab.state.published()}


def serving(ports):
    return {f"nuc-{name}": port for name, port in ports.items()}


def told(report):
    return {one.name: [problem.id for problem in one.problems] for one in report.models}


def states(report):
    return {one.name: one.state for one in report.models}


@pytest.mark.parametrize(
    ("before", "after"),
    [(OLD, SWAPPED), (dict(zip("abc", (8081, 8082, 8083), strict=True)), CIRCLE)],
    ids=["two", "three in a circle"],
)
def test_they_move_in_one_up(before, after):
    lab = Lab()
    lab.up(*models(before))
    report = lab.up(*models(after))
    assert report.exit_code is ExitCode.OK, told(report)
    assert set(states(report).values()) == {State.VERIFIED}
    assert running(lab) == serving(after)
    assert lab.state.names() == dict.fromkeys(serving(after), "running") | {
        f"nuc-{name}.prev-1": "exited" for name in after
    }
    assert {lab.state.by_name(name).policy for name in serving(after)} == {"unless-stopped"}
    assert all(not one.changed for one in lab.up(*models(after)).models)


def test_the_plan_has_all_stopped_before_one_is_started_and_is_what_up_does():
    lab = Lab()
    lab.up(*models(OLD))
    planned = plan(lab.stack(*models(SWAPPED)), (), lab.ports(), lab.options)
    assert planned.problems == ()
    assert [step.target for step in planned.steps if isinstance(step, StopContainer | StartContainer)] == [
        "nuc-a",
        "nuc-b",
        "nuc-a.next",
        "nuc-b.next",
    ]
    assert {one.name: one.action for one in planned.summaries} == {"a": "replace", "b": "replace"}
    lab.events.clear()
    lab.up(*models(SWAPPED))
    done = [event.step.title for event in lab.events if type(event).__name__ == "StepFinished"]
    assert done == [step.title for step in planned.steps]


def test_others_go_their_way_beside_a_circle():
    lab = Lab()
    lab.up(*models(OLD), model(name="c", port=8083))
    # a and b swap; what c leaves is for d.
    after = SWAPPED | {"c": 8093, "d": 8083}
    assert lab.up(*models(after)).exit_code is ExitCode.OK
    assert running(lab) == serving(after)


def test_an_up_of_one_of_them_names_the_command_that_moves_all_and_it_works():
    lab = Lab()
    lab.up(*models(OLD))
    report = lab.up(*models(SWAPPED), only=("a",))
    ((problem,),) = [one.problems for one in report.models]
    assert problem.id == "port-taken"
    assert problem.hint == "a and b are to have each other's ports, so they move together: homellm up a b"
    assert running(lab) == serving(OLD)
    (planned,) = plan(lab.stack(*models(SWAPPED)), ("a",), lab.ports(), lab.options).problems
    assert planned.hint == problem.hint
    assert lab.up(*models(SWAPPED), only=("a", "b")).exit_code is ExitCode.OK
    assert running(lab) == serving(SWAPPED)


@pytest.mark.parametrize("broken", ["a", "b"])
def test_one_that_fails_takes_all_back(broken):
    lab = Lab(behave=bad)
    lab.up(*models(OLD))
    ids = {name: lab.state.by_name(f"nuc-{name}").id for name in OLD}
    report = lab.up(*models(SWAPPED, **{broken: {"parallel": 3}}))
    (other,) = set(OLD) - {broken}
    assert report.exit_code is ExitCode.REFUSED
    assert told(report) == {broken: ["model-corrupt"], other: ["held-back"]}
    assert running(lab) == serving(OLD)
    assert {name: lab.state.by_name(f"nuc-{name}").id for name in OLD} == ids
    assert {lab.state.by_name(name).policy for name in serving(OLD)} == {"unless-stopped"}
    # What failed is kept for its log; what did not is no failure.
    assert set(lab.state.names()) == {"nuc-a", "nuc-b", f"nuc-{broken}.failed"}
    for one in report.models:
        assert one.notes == ("The server that ran before serves again, verified.",), one.name
        assert one.container == f"nuc-{one.name}"


def test_one_that_cannot_even_begin_holds_the_others_back_and_nothing_is_stopped():
    lab = Lab()
    lab.up(*models(OLD))
    path = "/models/gone.gguf"
    lab.files.states[path] = ModelFile(path, "missing")
    gone = replace(model().source, path=Path(path))
    report = lab.up(*models(SWAPPED, b={"source": gone}))
    assert told(report) == {"a": ["held-back"], "b": ["model-missing"]}
    assert "a and b are to move together, and b cannot: model file /models/gone.gguf does not exist" in [
        problem.message for one in report.models for problem in one.problems
    ]
    assert running(lab) == serving(OLD)
    assert not any(call.method in ("create", "kill") for call in lab.engine.calls)
    planned = plan(lab.stack(*models(SWAPPED, b={"source": gone})), (), lab.ports(), lab.options)
    assert [problem.id for problem in planned.problems] == ["held-back", "model-missing"]
    assert not planned.steps


@pytest.mark.parametrize(
    ("method", "ref"),
    [
        ("create", "nuc-a.next"),
        ("create", "nuc-b.next"),
        ("kill", "nuc-a"),
        ("kill", "nuc-b"),
        ("start", "nuc-a.next"),
        ("logs", ""),
        ("start", "nuc-b.next"),
    ],
)
def test_ctrl_c_brings_all_back(method, ref):
    lab = Lab()
    lab.up(*models(OLD))
    scope = Scope()

    def before(call):
        if call.method == method and ref in ("", call.args[0]):
            scope.cancel()

    report = lab.up(*models(SWAPPED), scope=scope, ports=lab.ports(before=before))
    assert report.exit_code is ExitCode.INTERRUPTED
    assert running(lab) == serving(OLD)
    assert set(lab.state.names()) == {"nuc-a", "nuc-b"}
    assert {lab.state.by_name(name).policy for name in serving(OLD)} == {"unless-stopped"}
    assert lab.up(*models(SWAPPED)).exit_code is ExitCode.OK
    assert running(lab) == serving(SWAPPED)


@pytest.mark.parametrize(
    ("method", "ref"),
    [
        ("set_restart_policy", "nuc-a.next"),
        ("set_restart_policy", "nuc-b.next"),
        ("rename", "nuc-a"),
        ("rename", "nuc-b"),
    ],
)
def test_ctrl_c_after_the_last_proof_finishes_what_is_proved(method, ref):
    lab = Lab()
    lab.up(*models(OLD))
    scope = Scope()

    def before(call):
        if (call.method, *call.args[:1]) == (method, ref):
            scope.cancel()

    report = lab.up(*models(SWAPPED), scope=scope, ports=lab.ports(before=before))
    assert report.exit_code is ExitCode.INTERRUPTED
    assert running(lab) == serving(SWAPPED)
    assert {lab.state.by_name(name).policy for name in serving(SWAPPED)} == {"unless-stopped"}


def test_a_rename_that_fails_is_finished_by_the_next_up():
    lab = Lab()
    lab.up(*models(OLD))

    def refuse(call):
        if call.method == "rename" and call.args == ("nuc-b.next", "nuc-b"):
            raise EngineRefused("the disk is full")

    report = lab.up(*models(SWAPPED), ports=lab.ports(before=refuse))
    assert states(report)["a"] is State.VERIFIED
    assert states(report)["b"] is State.FAILED
    assert set(running(lab).values()) == {8081, 8082}
    assert lab.up(*models(SWAPPED)).exit_code is ExitCode.OK
    assert running(lab) == serving(SWAPPED)


def killed(behave, changed, n, when):
    lab = Lab(behave=behave)
    lab.up(*models(OLD))
    try:
        lab.up(*models(SWAPPED, **changed), kill=Kill(n, when))
    except Killed:
        return lab
    return None


def every_kill(behave, changed, when):
    for n in itertools.count(1):
        lab = killed(behave, changed, n, when)
        if lab is None:
            break
        yield n, lab
    assert n > 40, f"only {n} calls were killed"


def settled(lab, ports, n, *, begun=False):
    """`begun`: a successor that was made and never started may still be there."""
    names = lab.state.names()
    assert running(lab) == serving(ports), (n, names)
    kept = {f"nuc-{name}{part}" for name in ports for part in ("", ".failed", ".prev-1", ".prev-2", ".prev-3")}
    rest = {name for name, status in names.items() if name not in kept}
    assert {names[name] for name in rest} <= ({"created"} if begun else set()), (n, names)
    assert {lab.state.by_name(one).policy for one in serving(ports)} == {"unless-stopped"}, n
    assert {lab.state.by_name(one).policy for one in names if one not in serving(ports)} <= {"no"}, n


@pytest.mark.parametrize("when", ["before", "after"])
def test_after_a_kill_at_any_call_the_next_up_moves_them(when):
    for n, lab in every_kill(good, {}, when):
        report = lab.up(*models(SWAPPED))
        assert report.exit_code is ExitCode.OK, (n, told(report))
        settled(lab, SWAPPED, n)


@pytest.mark.parametrize("when", ["before", "after"])
def test_after_a_kill_at_any_call_the_old_file_brings_them_back(when):
    for n, lab in every_kill(good, {}, when):
        report = lab.up(*models(OLD))
        assert report.exit_code is ExitCode.OK, (n, told(report))
        settled(lab, OLD, n)


@pytest.mark.parametrize("broken", ["a", "b"])
@pytest.mark.parametrize("when", ["before", "after"])
def test_after_a_kill_at_any_call_old_ones_come_back_where_a_successor_cannot_work(when, broken):
    changed = {broken: {"parallel": 3}}
    for n, lab in every_kill(bad, changed, when):
        report = lab.up(*models(SWAPPED, **changed))
        assert report.exit_code is ExitCode.REFUSED, n
        settled(lab, OLD, n)


@pytest.mark.parametrize("when", ["before", "after"])
def test_after_a_kill_at_any_call_old_ones_come_back_where_one_cannot_even_begin(when):
    gone = replace(model().source, path=Path("/models/gone.gguf"))
    for n, lab in every_kill(good, {}, when):
        before = {name: lab.state.by_name(name).policy for name in lab.state.names()}
        lab.files.states["/models/gone.gguf"] = ModelFile("/models/gone.gguf", "missing")
        report = lab.up(*models(SWAPPED, b={"source": gone}))
        assert told(report)["b"] == ["model-missing"], n
        if any(policy == "unless-stopped" for name, policy in before.items() if name.endswith(".next")):
            assert set(running(lab).values()) == {8081, 8082}, (n, before)  # proved already: they serve
        elif "nuc-b.prev-1" not in before and "nuc-a.prev-1" not in before:
            settled(lab, OLD, n, begun=True)


def test_what_another_homellm_is_at_work_on_is_left_to_it():
    lab = Lab()
    lab.up(*models(OLD))
    with pytest.raises(Killed):
        lab.up(*models(SWAPPED), kill=Kill(1, "before", frozenset({"start"})))
    before = lab.state.names()
    elsewhere = replace(lab.ports(), maker="another network namespace")
    report = lab.up(*models(SWAPPED), ports=elsewhere)
    assert {problem for problems in told(report).values() for problem in problems} == {"locked"}
    assert lab.state.names() == before


def test_with_an_ollama_server_in_the_circle_all_are_named_with_the_way_out():
    lab, asked = OllamaLab(), hybrid(parallel=1, fallback="none", port=None)
    lab.server = replace(lab.server, port=8083)
    lab.up(asked, *models(OLD))
    lab.server = replace(lab.server, port=8081)
    after = models({"a": 8082, "b": 8083})
    report = lab.up(asked, *after)
    hints = {one.name: one.problems[0].hint for one in report.models}
    assert hints["a"] == (
        "a, main and b wait for each other's ports in a circle, so none can move first. Stop one of them, then all "
        "move: docker stop nuc-b && homellm up"
    )
    lab.engine.kill("nuc-b", "SIGKILL")
    lab.engine.wait("nuc-b", 10)
    assert lab.up(asked, *after).exit_code is ExitCode.OK

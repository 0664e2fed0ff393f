"""`up` on the fake engine: what serves afterwards, and what is told."""

from dataclasses import replace
from threading import Event

import pytest

from homellm.deploy.check import check
from homellm.deploy.preview import plan
from homellm.deploy.ps import ps
from homellm.deploy.scope import Scope
from homellm.deploy.session import Options
from homellm.domain.events import Note, StepStarted
from homellm.domain.verdicts import State
from homellm.domain.world import Image, Listener
from homellm.errors import EngineRefused, ExitCode, UsageError
from homellm.ports import HttpReply
from homellm.runners.recognise import recognise
from tests.fakes.behaviour import Behaviour
from tests.fakes.engine import FakeEngine
from tests.unit.deploy.lab import IMAGE, NAME, PORT, Lab, bad, good, good_lines, model


def titles(lab):
    return [e.step.title.replace(NAME, "X") for e in lab.events if isinstance(e, StepStarted)]


def only(report):
    (found,) = report.models
    return found


def test_first_up_is_verified():
    lab = Lab()
    report = only(lab.up(model(parallel=3, ctx=2048)))
    assert (report.state, report.exit_code) == (State.VERIFIED, ExitCode.OK)
    assert (report.slots, report.ctx, report.container) == (3, 2048, NAME)
    assert report.endpoint == "http://127.0.0.1:8081/v1"
    assert {c.id: c.verdict for c in report.checks if c.gate} == {
        "ready": "pass",
        "slots": "pass",
        "ctx": "pass",
        "api": "pass",
    }
    assert lab.state.names() == {NAME: "running"}
    assert lab.state.by_name(NAME).policy == "unless-stopped"


def test_second_up_carries_out_no_step():
    lab = Lab()
    lab.up()
    lab.events.clear()
    report = only(lab.up())
    assert titles(lab) == []
    assert (report.state, report.changed) == (State.VERIFIED, False)


def test_the_engine_is_not_asked_for_a_record_that_can_be_read_on_the_spot():
    lab = Lab()
    lab.up()
    lab.host.inside = FakeEngine(lab.state).get_file
    report = only(lab.up())
    assert (report.state, report.changed) == (State.VERIFIED, False)
    asked = {call.method for call in lab.engine.calls}
    assert "find_container" in asked
    assert not asked & {"get_file", "put_file", "logs"}


def test_a_changed_declaration_swaps_and_keeps_the_old_one():
    lab = Lab()
    lab.up(model(parallel=1))
    report = only(lab.up(model(parallel=3)))
    assert report.state is State.VERIFIED
    assert lab.slots() == 3
    assert lab.state.names() == {NAME: "running", f"{NAME}.prev-1": "exited"}
    assert lab.state.by_name(f"{NAME}.prev-1").policy == "no"


def test_a_bad_successor_is_undone():
    lab = Lab(behave=bad)
    lab.up(model(parallel=1))
    report = only(lab.up(model(parallel=3)))
    assert (report.state, report.exit_code) == (State.FAILED, ExitCode.REFUSED)
    assert report.problems[0].id == "model-corrupt"
    assert lab.slots() == 1
    assert lab.state.names() == {NAME: "running", f"{NAME}.failed": "exited"}
    assert lab.state.by_name(NAME).policy == "unless-stopped"
    assert report.container == NAME
    assert any("serves again, verified" in note for note in report.notes)


def test_a_success_removes_the_failure():
    lab = Lab(behave=bad)
    lab.up(model(parallel=1))
    lab.up(model(parallel=3))
    lab.up(model(parallel=1, ctx=1024))
    assert lab.state.names() == {NAME: "running", f"{NAME}.prev-1": "exited"}


def test_wrong_slots_fail_the_gate_and_are_undone():
    """Everything answers 200, and one slot is there where three were asked."""
    lab = Lab()
    lab.up(model(parallel=1))

    def one_slot(container, path, reply):
        return replace(reply, body=reply.body.replace(b'"total_slots": 3', b'"total_slots": 1'))

    lab.http.twist = one_slot
    report = only(lab.up(model(parallel=3)))
    assert report.state is State.FAILED
    (check,) = report.checks
    assert (check.id, check.asked, check.observed, check.verdict) == ("slots", 3, 1, "fail")
    assert lab.slots() == 1


def test_another_server_on_the_port_is_not_taken_for_ours():
    lab = Lab()

    def stranger(container, path, reply):
        return replace(reply, body=reply.body.replace(b'"model_alias": "smol"', b'"model_alias": "other"'))

    lab.http.twist = stranger
    report = only(lab.up())
    assert report.state is State.FAILED
    assert [c.id for c in report.checks] == ["api"]


def test_one_models_fault_does_not_stop_the_others():
    lab = Lab(behave=bad)
    report = lab.up(model(parallel=3), model(name="embed", port=8082))
    assert [(m.name, m.state) for m in report.models] == [("smol", State.FAILED), ("embed", State.VERIFIED)]
    assert report.exit_code is ExitCode.REFUSED


def test_an_image_of_several_models_is_asked_for_once():
    asked = []
    for number in (1, 3):
        lab = Lab()
        lab.up(*(model(name=f"m{n}", port=8082 + n) for n in range(number)))
        asked.append(sum(call.method == "find_image" for call in lab.engine.calls))
    assert asked[0] == asked[1] > 0


def test_a_start_that_the_engine_refuses_leaves_nothing_behind():
    lab = Lab()
    lab.up(model(parallel=1))
    ports = lab.ports()
    lab.engine.fail("start", EngineRefused("port 8081 is taken", id="port-taken"), ref=f"{NAME}.next")
    report = only(lab.up(model(parallel=3), ports=ports))
    assert report.problems[0].id == "port-taken"
    assert lab.state.names() == {NAME: "running"}
    assert lab.slots() == 1


def test_a_creation_that_is_refused_costs_no_downtime():
    lab = Lab()
    lab.up(model(parallel=1))
    ports = lab.ports()
    lab.engine.fail("create", EngineRefused("no such device", id="device-missing"))
    lab.up(model(parallel=3), ports=ports)
    assert not [call for call in lab.engine.calls if call.method in ("kill", "rename", "set_restart_policy")]
    assert lab.state.names() == {NAME: "running"}


def test_stalled():
    """No log line, no growth, never ready: given up after the stall timeout of the clock."""
    lab = Lab(behave=lambda image, args, env: Behaviour(ready_at_s=None))
    lab.state.clock.tick_s = 5.0
    report = only(lab.up(options=Options(stall_timeout_s=60, wait_timeout_s=600, engine_return_s=0)))
    assert report.problems[0].id == "stalled"
    assert lab.state.names() == {f"{NAME}.failed": "exited"}


def test_wait_timeout_is_the_total():
    def slow(image, args, env):
        return Behaviour(ready_at_s=None, growth_bytes_s=1e6)

    lab = Lab(behave=slow)
    lab.host.process = lambda container: None  # growth is then told by the engine's own statistics
    lab.state.clock.tick_s = 5.0
    report = only(lab.up(options=Options(stall_timeout_s=50, wait_timeout_s=200, engine_return_s=0)))
    assert report.problems[0].id == "timeout"


def test_the_predecessor_has_a_time_of_its_own_to_be_proved():
    """Its successor used up all of --wait-timeout, and that says nothing about the one that serves again."""

    def behave(image, args, env):
        one = recognise(args).parallel == 1
        return good(image, args, env) if one else Behaviour(ready_at_s=None, growth_bytes_s=1e6)

    lab = Lab(behave=behave)
    lab.up(model(parallel=1))
    lab.host.process = lambda container: None  # growth is then told by the engine's own statistics
    lab.state.clock.tick_s = 5.0
    options = Options(stall_timeout_s=300, wait_timeout_s=400, engine_return_s=0)
    report = only(lab.up(model(parallel=3), options=options))
    assert report.problems[0].id == "timeout"
    assert any("serves again, verified" in note for note in report.notes)


def test_a_paused_server_serves_nobody():
    lab = Lab()
    lab.up()
    lab.state.by_name(NAME).status = "paused"
    stack = lab.stack()
    looks = [
        lab.up(),
        check(stack, (), lab.ports(), lab.options, Scope(), lab.events.append),
        ps(stack, lab.ports()),
    ]
    for report in looks:
        assert (only(report).state, [p.id for p in only(report).problems]) == (State.FAILED, ["paused"])
        assert only(report).notes == ()
    assert f"docker unpause {NAME}" in only(looks[0]).problems[0].hint


def test_removed_by_hand_while_it_loads():
    lab = Lab()
    lab.up(model(parallel=1))
    lab.state.behave = lambda image, args, env: Behaviour(
        lines=good_lines(args) if "1" in args else ((0.0, "0.00.1 I srv  llama_server: initializing ...\n"),),
        ready_at_s=0.0 if "1" in args else None,
    )

    def vanish(call):
        if call.method == "logs" and lab.state.by_name(f"{NAME}.next"):
            lab.state.vanish(f"{NAME}.next")

    report = only(lab.up(model(parallel=3), ports=lab.ports(before=vanish)))
    assert report.problems[0].id == "container-gone"
    assert lab.state.names() == {NAME: "running"}
    assert lab.slots() == 1


def test_an_orphan_is_told_and_removed_on_request():
    lab = Lab()
    lab.up(model(), model(name="embed", port=8082))
    lab.events.clear()
    lab.up(model())
    assert any(isinstance(e, Note) and "nuc-embed" in e.text for e in lab.events)
    assert "nuc-embed" in lab.state.names()
    report = lab.up(model(), options=Options(remove_orphans=True))
    assert report.removed == ("nuc-embed",)
    assert lab.state.names() == {NAME: "running"}


def test_a_model_that_was_renamed_takes_over_the_port_of_the_orphan():
    lab = Lab()
    lab.up(model(name="old"))
    refused = only(lab.up(model()))
    assert [p.id for p in refused.problems] == ["port-taken"]
    assert lab.state.names() == {"nuc-old": "running"}
    options = replace(lab.options, remove_orphans=True)
    nobody = lab.host.host
    lab.host.host = replace(nobody, listeners=(Listener("127.0.0.1", PORT, 9, "docker-proxy"),))
    planned = plan(lab.stack(), (), lab.ports(), options)
    assert ([s.title for s in planned.steps][:1], planned.problems) == (["remove nuc-old"], ())
    lab.host.host = nobody
    report = lab.up(model(), options=options)
    assert (only(report).state, report.removed) == (State.VERIFIED, ("nuc-old",))
    assert lab.state.names() == {NAME: "running"}


@pytest.mark.parametrize("part", [".prev-1", ".failed", ".next"])
def test_a_name_of_the_swap_that_somebody_else_bears_stops_it_before_it_begins(part):
    lab = Lab()
    lab.up(model(parallel=1))
    lab.engine.create(f"{NAME}{part}", {"Image": IMAGE})
    lab.events.clear()
    planned = plan(lab.stack(model(parallel=3)), (), lab.ports(), lab.options)
    report = only(lab.up(model(parallel=3)))
    for problems in (planned.problems, report.problems):
        assert [(p.id, p.model) for p in problems] == [("name-taken", "smol")]
        assert f"{NAME}{part} is taken by a container that homellm did not make" in problems[0].message
    assert (planned.steps, titles(lab)) == ((), [])
    assert (report.state, report.container, lab.slots()) == (State.FAILED, NAME, 1)
    assert lab.state.names() == {NAME: "running", f"{NAME}{part}": "created"}
    assert only(lab.up(model(parallel=1))).state is State.VERIFIED


@pytest.mark.parametrize("path", ["/props", "/v1/chat/completions"])
def test_an_answer_that_is_nested_without_end_is_no_answer(path):
    lab = Lab()
    lab.up(model(parallel=1))
    deep = b'{"a":' * 100_000
    lab.http.twist = lambda c, p, r: replace(r, body=deep) if (c.name, p) == (f"{NAME}.next", path) else r
    report = only(lab.up(model(parallel=3)))
    assert [p.id for p in report.problems] == ["gate-api"]
    assert (report.state, lab.slots()) == (State.FAILED, 1)


def test_a_record_that_is_nested_without_end_is_none():
    lab = Lab()
    lab.up()
    lab.engine.put_file(NAME, "/.homellm.json", b"[" * 100_000)
    assert only(lab.up()).state is State.VERIFIED


def test_ctrl_c_does_not_wait_for_the_answer_to_the_one_request():
    lab = Lab()
    lab.up(model(parallel=1))
    scope, answer, answered = Scope(), Event(), []
    usual = lab.http.post

    def silent(url, body, **more):
        if f"{NAME}.next" not in lab.state.names():
            return usual(url, body, **more)
        scope.cancel()
        answer.wait(60)
        answered.append(url)
        return HttpReply(0, error="nothing came")

    lab.http.post = silent
    report = lab.up(model(parallel=3), scope=scope)
    assert answered == []
    answer.set()
    assert report.exit_code is ExitCode.INTERRUPTED
    assert (lab.slots(), lab.state.names()[NAME]) == (1, "running")


def test_a_fault_of_homellm_itself_leaves_no_server_stopped():
    """One model meets it; its old server serves again, and the other model's swap is finished."""
    lab = Lab()
    others = {one: model(name="embed", port=8082, parallel=one) for one in (1, 2)}
    lab.up(model(parallel=1), others[1])
    ports = lab.ports()
    usual = lab.engine.logs

    def logs(ref, **more):
        if lab.state.find(ref).name == f"{NAME}.next":
            raise ZeroDivisionError("a fault")
        return usual(ref, **more)

    lab.engine.logs = logs
    with pytest.raises(ZeroDivisionError):
        lab.up(model(parallel=3), others[2], ports=ports)
    assert (lab.slots(), lab.slots("nuc-embed")) == (1, 2)
    assert lab.state.names()[NAME] == lab.state.names()["nuc-embed"] == "running"
    assert lab.state.by_name(NAME).policy == "unless-stopped"


def test_an_unknown_model_name_has_a_near_one():
    with pytest.raises(UsageError) as error:
        Lab().up(only=("smoll",))
    assert "smol?" in error.value.hint


def test_a_crash_loop_is_told_by_the_next_up():
    lab = Lab()
    lab.up()
    lab.state.by_name(NAME).behaviour = Behaviour(exit_at_s=0.0, exit_code=139)
    lab.state.behave = lambda image, args, env: Behaviour(exit_at_s=0.0, exit_code=139)
    lab.state.crash(NAME, 139)
    lab.state.clock.advance(1)  # it was started again, and ended again
    report = only(lab.up())
    assert report.state is State.FAILED
    assert report.exit_code is ExitCode.REFUSED
    assert "crashes again and again" in report.problems[0].message


def test_the_engine_s_warnings_are_told():
    lab = Lab()
    ports = lab.ports()
    create = lab.engine.create
    lab.engine.create = lambda name, body: replace(create(name, body), warnings=("Memory limit was discarded",))
    lab.up(ports=ports)
    assert any(isinstance(e, Note) and "Memory limit was discarded" in e.text and e.warning for e in lab.events)


def test_a_young_successor_of_another_namespace_stops_us():
    lab = Lab()
    lab.up(ports=replace(lab.ports(), maker="elsewhere"))
    lab.state.by_name(NAME).name = f"{NAME}.next"
    lab.state.by_name(f"{NAME}.next").policy = "no"
    report = only(lab.up())
    assert report.problems[0].id == "locked"
    assert lab.state.names() == {f"{NAME}.next": "running"}


def test_a_template_that_claims_tools_is_given_one():
    """One chat and one tool call, where the declaration makes the template a matter (jinja)."""
    lab = Lab()

    def with_tools(container, path, reply):
        caps = b'"chat_template_caps": {"supports_tools": true}'
        return replace(reply, body=reply.body.replace(b'"chat_template_caps": {}', caps))

    lab.http.twist = with_tools
    report = only(lab.up(model(jinja=True)))
    (check,) = [c for c in report.checks if c.id == "template"]
    assert (check.verdict, check.text) == ("pass", "a chat came through, and one that offers a tool")
    assert lab.http.asked.count(f"{NAME}.next /v1/chat/completions") == 2


def test_a_tool_that_was_called_is_told_and_remembered():
    lab = Lab()

    def calling(container, path, reply):
        if path == "/props":
            caps = b'"chat_template_caps": {"supports_tools": true}'
            return replace(reply, body=reply.body.replace(b'"chat_template_caps": {}', caps))
        call = b'"choices": [{"message": {"tool_calls": [{"function": {"name": "now", "arguments": "{}"}}]}}]'
        return replace(reply, body=reply.body.replace(b'"choices": [{}]', call))

    lab.http.twist = calling
    for _ in range(2):
        (check,) = [c for c in only(lab.up(model(jinja=True))).checks if c.id == "template"]
        assert (check.verdict, check.text) == ("pass", "a chat and a tool call came through")


def test_a_tool_call_that_fails_is_advice():
    lab = Lab()

    def broken(container, path, reply):
        if path == "/props":
            caps = b'"chat_template_caps": {"supports_tools": true}'
            return replace(reply, body=reply.body.replace(b'"chat_template_caps": {}', caps))
        chats = lab.http.asked.count(f"{container.name} /v1/chat/completions")
        return replace(reply, status=500, body=b'{"error":{"message":"no tools"}}') if chats > 1 else reply

    lab.http.twist = broken
    report = only(lab.up(model(jinja=True)))
    assert (report.state, report.exit_code) == (State.DEGRADED, ExitCode.DEGRADED)
    assert lab.state.names() == {NAME: "running"}
    again = only(lab.up(model(jinja=True)))
    assert (again.state, again.changed) == (State.DEGRADED, False)


def test_nothing_is_pulled_for_a_model_that_something_stops_already():
    """A port that is taken is told before gigabytes come; the other model's image is pulled all the same."""
    lab = Lab()
    lab.state.images.clear()
    lab.state.registry[IMAGE] = Image(id="sha256:new", tags=(IMAGE,), entrypoint=("/server",))
    lab.host.host = replace(lab.host.host, listeners=(Listener("127.0.0.1", 8081, 7, "nginx"),))
    report = lab.up(model(), model(name="embed", port=8082, image="example/other:tag"))
    assert next(p.id for m in report.models for p in m.problems) == "port-taken"
    pulled = [call.args[0] for call in lab.engine.calls if call.method == "pull"]
    assert pulled == ["example/other:tag"]


def test_no_network_is_made_for_models_that_all_are_stopped():
    lab = Lab()
    lab.host.host = replace(lab.host.host, listeners=(Listener("127.0.0.1", 8081, 7, "nginx"),))
    lab.up()
    assert not [call for call in lab.engine.calls if call.method == "create_network"]

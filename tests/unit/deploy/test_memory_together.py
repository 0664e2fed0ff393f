"""Two models that do not fit beside each other: `up`, `plan`, `doctor` and `fit` say the same."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from homellm.deploy.doctor import doctor
from homellm.deploy.fit import Asked, fit
from homellm.deploy.preview import plan
from homellm.domain.events import Note
from homellm.domain.stack import Source
from homellm.domain.verdicts import State
from homellm.domain.world import ModelFile
from homellm.errors import ExitCode
from tests.unit.deploy.lab import Lab, model
from tests.unit.deploy.ollama_lab import OllamaLab, hybrid
from tests.unit.sizing.headers import MIB, QWEN25_7B

GIB = 1024 * MIB


@pytest.fixture
def lab():
    """A machine of 24 GiB, 23 of them free, with two files of Qwen 2.5 7B."""
    lab = Lab()
    lab.host.host = replace(lab.host.host, memory_bytes=24 * GIB, available_bytes=23 * GIB)
    for name in ("chat", "helper"):
        path = f"/models/{name}.gguf"
        lab.files.states[path] = ModelFile(
            path, "ok", QWEN25_7B.weights_bytes, weights_bytes=QWEN25_7B.weights_bytes, header=QWEN25_7B
        )
    return lab


def qwen(name, parallel, port):
    path = f"/models/{name}.gguf"
    return model(name=name, source=Source("gguf", path, Path(path)), ctx=8192, parallel=parallel, port=port)


def both(parallel=30):
    return qwen("chat", parallel, 8081), qwen("helper", parallel, 8082)


def states(report):
    return {one.name: one.state for one in report.models}


def test_up_refuses_both_and_makes_nothing(lab):
    report = lab.up(*both())
    assert states(report) == {"chat": State.FAILED, "helper": State.FAILED}
    assert report.exit_code is ExitCode.REFUSED
    assert all("together" in one.problems[0].message for one in report.models)
    assert lab.state.containers == {}
    assert [network.name for network in lab.engine.list_networks({})] == ["bridge"]


def test_plan_and_doctor_say_the_same_and_fit_too(lab):
    stack = lab.stack(*both())
    planned = plan(stack, (), lab.ports(), lab.options)
    assert [one.id for one in planned.problems] == ["does-not-fit", "does-not-fit"]
    told = doctor(stack, lab.ports(), lab.options).problems
    assert [one.message for one in told if one.id == "does-not-fit"] == [one.message for one in planned.problems]
    reckoned = fit(stack, (), lab.files, lab.host.host, lambda _: None, Asked())
    assert [one.fits for one in reckoned.models] == [False, False]
    assert reckoned.slots_each == 14
    assert "parallel: 14 for chat and helper" in planned.problems[0].hint


def test_what_was_advised_goes_up_and_fits(lab):
    stack = lab.stack(*both(14))
    assert plan(stack, (), lab.ports(), lab.options).problems == ()
    assert all(one.fits for one in fit(stack, (), lab.files, lab.host.host, lambda _: None, Asked()).models)
    assert lab.up(*both(14)).exit_code is ExitCode.OK


def test_one_that_runs_as_declared_is_kept_when_the_other_does_not_fit_beside_it(lab):
    chat, helper = both()
    assert lab.up(chat, helper, only=("chat",)).exit_code is ExitCode.OK
    report = lab.up(chat, helper)
    assert states(report) == {"chat": State.VERIFIED, "helper": State.FAILED}
    assert lab.slots("nuc-chat") == 30


def test_one_alone_is_judged_beside_what_runs_and_not_beside_what_is_only_declared(lab):
    chat, helper = both()
    assert plan(lab.stack(chat, helper), ("helper",), lab.ports(), lab.options).problems == ()
    assert lab.up(chat, helper, only=("chat",)).exit_code is ExitCode.OK
    (found,) = plan(lab.stack(chat, helper), ("helper",), lab.ports(), lab.options).problems
    # 24576 MiB less 18080 of the other one and 4460 of weights: four slots of 448 MiB and 244 for buffers
    assert found.hint == "chat and helper fit together with parallel: 4 for helper."


def test_who_insists_gets_both(lab):
    report = lab.up(*both(), options=replace(lab.options, fit=False))
    assert report.exit_code is ExitCode.OK


class TestWithOllama:
    """A machine of 24 GiB with a llama-server and an Ollama, whose store has two models of Qwen's size."""

    @pytest.fixture
    def lab(self):
        lab = OllamaLab()
        lab.host.host = replace(lab.host.host, memory_bytes=24 * GIB, available_bytes=23 * GIB)
        for path in ("/models/chat.gguf", *(f"/srv/ollama/models/blobs/sha256-{one * 64}" for one in "ab")):
            lab.files.states[path] = ModelFile(
                path, "ok", QWEN25_7B.weights_bytes, weights_bytes=QWEN25_7B.weights_bytes, header=QWEN25_7B
            )
        return lab

    def test_up_plan_and_doctor_refuse_what_leaves_ollama_no_room(self, lab):
        crowd = (qwen("chat", 30, 8081), plain(20))
        report = lab.up(*crowd)
        assert states(report) == {"chat": State.FAILED, "plain": State.VERIFIED}
        message = report.models[0].problems[0].message
        assert re.fullmatch(r"chat needs \d+ MiB of system memory and plain \d+ MiB: together .*", message), message
        problem = plan(lab.stack(*crowd), (), lab.ports(), lab.options).problems[0]
        assert (problem.id, problem.model) == ("does-not-fit", "chat")
        told = doctor(lab.stack(*crowd), lab.ports(), lab.options).problems
        assert [one.message for one in told if one.id == "does-not-fit"] == [problem.message]
        insisting = replace(lab.options, fit=False)
        assert lab.up(*crowd, options=insisting).models[0].state is State.VERIFIED

    def test_models_that_only_fit_in_turns_are_told_and_served(self, lab):
        crowd = (plain(20), plain(20, "hybrid", fallback="none"))
        planned = plan(lab.stack(*crowd), (), lab.ports(), lab.options)
        (told,) = [note for name, note in planned.notes if name == "main"]
        assert told.startswith("the models that Ollama may have in memory at once need plain")
        assert [one.id for one in doctor(lab.stack(*crowd), lab.ports(), lab.options).problems] == ["fits-in-turns"]
        assert states(lab.up(*crowd)) == {"plain": State.VERIFIED, "hybrid": State.DEGRADED}
        assert notes(lab) == [told]
        lab.up(*crowd)
        assert notes(lab) == []  # nothing was done to the server, and none of its models is new

    def test_one_that_is_new_on_a_server_that_runs_says_so(self, lab):
        lab.up(plain(20))
        assert notes(lab) == []
        lab.up(plain(20), plain(20, "hybrid", fallback="none"))
        assert len(notes(lab)) == 1

    def test_what_is_not_pulled_is_not_known(self, lab):
        crowd = (plain(20), plain(20, "tiny"))
        problems = doctor(lab.stack(*crowd), lab.ports(), lab.options).problems
        (unknown,) = [one for one in problems if one.id == "memory-unknown"]
        assert unknown.message == "how much memory is needed is not known, and not judged, of tiny (it is not here yet)"


def plain(parallel, name="plain", **changes):
    keys = {"name": name, "source": Source("ollama", name), "port": None, "parallel": parallel, "ctx": 8192}
    return hybrid(**(keys | changes))


def notes(lab):
    """What the last `up` told of the Ollama server's memory."""
    found = [event.text for event in lab.events if isinstance(event, Note) and event.model == "main"]
    lab.events.clear()
    return found

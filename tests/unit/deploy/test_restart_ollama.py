"""`restart` of Ollama servers and of what moved from them: looked at before anything stops, and nothing applied."""

from __future__ import annotations

from dataclasses import replace

import pytest

from homellm.deploy.restart import restart
from homellm.deploy.scope import Scope
from homellm.domain.events import StepStarted
from homellm.domain.stack import Source
from homellm.domain.verdicts import State
from homellm.domain.world import ModelFile
from homellm.errors import ExitCode
from tests.fakes.behaviour import Behaviour
from tests.unit.deploy.lab import IMAGE
from tests.unit.deploy.ollama_lab import MOVED, SERVER, hybrid, lab_on

HYBRID = hybrid(image=IMAGE)
PLAIN = hybrid(name="plain", source=Source("ollama", "plain"), port=None)
CHANGED = "The stack file changed since this container was started; homellm up applies it."
STORE = "/srv/ollama"
BLOB = f"{STORE}/models/blobs/sha256-{'a' * 64}"


def again(lab, *models, only=()):
    lab.events.clear()
    found = restart(lab.stack(*(models or (HYBRID, PLAIN))), only, lab.ports(), lab.options, Scope(), lab.events.append)
    return {model.name: model for model in found.models}


def touched(lab):
    """What was done to which container."""
    return [(event.step.kind, event.step.target) for event in lab.events if isinstance(event, StepStarted)]


def of(target):
    return [("stop", target), ("start", target), ("verify", target)]


@pytest.fixture
def lab():
    lab = lab_on("llama-server")
    lab.up(HYBRID, PLAIN)
    return lab


def test_all_of_it_is_stopped_started_and_proved(lab):
    loads = len(lab.loads())
    found = again(lab)
    assert {name: (one.state, one.runner, one.exit_code) for name, one in found.items()} == {
        "hybrid": (State.VERIFIED, "llama-server", ExitCode.OK),
        "plain": (State.VERIFIED, "ollama", ExitCode.OK),
    }
    assert touched(lab) == [*of(SERVER), *of(MOVED)]
    assert lab.loads()[loads:] == ["plain:latest"]  # nobody asks Ollama again of what has moved
    assert (found["plain"].notes, found["plain"].changed) == ((), True)
    assert found["hybrid"].fallback.rung == "llama-server"


def test_one_that_has_moved_leaves_its_ollama_and_the_others_alone(lab):
    began = lab.state.by_name(SERVER).started_at
    assert again(lab, only=("hybrid",))["hybrid"].state is State.VERIFIED
    assert (touched(lab), lab.state.by_name(SERVER).started_at) == (of(MOVED), began)


def test_a_changed_file_is_told_and_not_applied(lab):
    made = lab.state.by_name(MOVED).id
    found = again(lab, replace(HYBRID, labels={"a": "b"}), PLAIN)["hybrid"]
    assert (found.state, found.exit_code, found.notes) == (State.DEGRADED, ExitCode.DEGRADED, (CHANGED,))
    assert lab.state.by_name(MOVED).id == made


def test_another_server_than_the_declared_one_is_told(lab):
    lab.server = replace(lab.server, keep_alive=5)
    found = again(lab)["plain"]
    assert (found.state, found.notes) == (State.DEGRADED, (CHANGED,))


def test_the_blob_of_one_that_has_moved_is_gone(lab):
    lab.files.states[BLOB] = ModelFile(BLOB, "missing")
    found = again(lab, only=("hybrid",))["hybrid"]
    assert (found.state, found.exit_code, [p.id for p in found.problems]) == (
        State.FAILED,
        ExitCode.REFUSED,
        ["model-missing"],
    )
    assert found.notes == (f"It was not stopped, and still serves: {MOVED}.",)
    assert touched(lab) == []


def test_the_folder_of_the_store_is_gone(lab):
    lab.files.states[STORE] = ModelFile(STORE, "missing")
    found = again(lab)
    assert (found["plain"].state, [p.id for p in found["plain"].problems]) == (State.FAILED, ["mount-missing"])
    assert found["plain"].notes == ("Its Ollama server main was not stopped: homellm check looks at it.",)
    assert not any(target == SERVER for _, target in touched(lab))
    assert lab.state.by_name(SERVER).status == "running"


def test_a_model_that_serves_from_memory_alone_keeps_its_server_running(lab):
    lost = replace(lab.ollamas.find("plain"), state="blob-missing", reason="a blob of plain is gone")
    lab.ollamas.models = (*(one for one in lab.ollamas.models if one.name != lost.name), lost)
    found = again(lab, only=("plain",))["plain"]
    assert ([p.id for p in found.problems], found.exit_code) == (["model-blob-missing"], ExitCode.REFUSED)
    assert touched(lab) == []


def test_what_stands_in_the_way_of_the_declaration_stands_in_its_way_too():
    lab = lab_on("llama-server")
    lab.server = replace(lab.server, cpuset="0-3")
    lab.up(HYBRID, PLAIN)
    lab.host.host = replace(lab.host.host, online_cpus=(0, 1))
    found = again(lab, only=("plain",))["plain"]
    assert ([p.id for p in found.problems], touched(lab)) == (["cpus-unavailable"], [])


def test_a_server_that_does_not_come_up_again_is_told_and_the_others_are_restarted(lab):
    usual = lab.state.behave
    gone = Behaviour(lines=((0.0, "Error: listen tcp :11434: bind: address in use\n"),), exit_at_s=0.0, exit_code=1)
    lab.state.behave = lambda image, args, env: gone if args == ("serve",) else usual(image, args, env)
    found = again(lab)
    assert (found["plain"].state, found["plain"].exit_code) == (State.FAILED, ExitCode.REFUSED)
    assert found["hybrid"].state is State.FAILED
    assert found["hybrid"].notes == (f"{MOVED} was not touched and runs on.",)


def test_with_nothing_there_it_says_what_to_type():
    lab = lab_on("llama-server")
    found = again(lab)["plain"]
    assert (found.state, found.exit_code) == (State.ABSENT, ExitCode.REFUSED)
    assert found.problems[0].hint == "Start it: homellm up plain"

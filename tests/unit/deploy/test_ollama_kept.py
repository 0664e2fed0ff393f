"""What homellm made in a store is known again after `down`, which removes the container with its record."""

from __future__ import annotations

from dataclasses import replace

import pytest

from homellm.deploy.down import down
from homellm.deploy.scope import Scope
from homellm.domain.stack import OllamaServer, Volume
from homellm.domain.verdicts import State
from tests.unit.deploy.ollama_lab import OLLAMA, SERVER, hybrid
from tests.unit.deploy.test_ollama_made import FILE, NEW, digest, kept, made_lab, of_file, only, write

NAMED = OllamaServer("main", OLLAMA, port=11434, store=Volume("nuc-main", "/root/.ollama", named=True))


def taken_down(*models, server=None):
    """A stack that was up and is not any more, with its store as it was."""
    lab = made_lab()
    lab.server = server or lab.server
    lab.up(*models or (of_file(),))
    down("nuc", lab.ports(), lab.options, Scope(), lambda _event: None)
    assert lab.state.names() == {}
    return lab


@pytest.mark.parametrize("server", [None, NAMED], ids=["folder", "volume"])
def test_it_comes_up_again_without_an_upload(server):
    lab = taken_down(server=server)
    made, known = lab.ollamas.calls.copy(), lab.files.hashed.copy()
    for _ in range(2):
        assert only(lab.up(of_file())).state is State.VERIFIED
    assert (lab.ollamas.calls, lab.files.hashed) == (made, known)
    assert kept(lab).path == FILE


def test_a_file_that_changed_meanwhile_is_made_anew():
    lab = taken_down()
    write(lab, NEW)
    assert only(lab.up(of_file())).state is State.VERIFIED
    assert lab.ollamas.calls[-1] == "create smol:latest"
    assert lab.ollamas.created[-1] == {"smol.gguf": digest(NEW)}


def test_every_model_of_a_server_is_known_again():
    lab = made_lab()
    models = (of_file(), hybrid(name="second", source=of_file().source, port=None))
    lab.up(*models)
    down("nuc", lab.ports(), lab.options, Scope(), lambda _event: None)
    calls = lab.ollamas.calls.copy()
    assert [model.state for model in lab.up(*models).models] == [State.VERIFIED] * 2
    assert lab.ollamas.calls == calls


def test_a_model_that_somebody_put_there_meanwhile_is_left_alone():
    """The same name, and another manifest than that which homellm made."""
    lab = taken_down()
    (theirs,) = (replace(model, digest="e" * 64) for model in lab.ollamas.models)
    lab.ollamas.models = (theirs,)
    report = only(lab.up(of_file()))
    assert (report.state, [problem.id for problem in report.problems]) == (State.FAILED, ["name-in-store"])
    assert lab.ollamas.models == (theirs,)


def test_where_nothing_is_known_the_way_out_can_be_typed():
    """The state folder is lost, or another user's: the host may have no `ollama`, and the container has."""
    lab = taken_down()
    lab.kept.kept.clear()
    (problem,) = only(lab.up(of_file())).problems
    assert problem.message == "the store has another model named smol:latest, and nothing tells that homellm made it"
    assert problem.hint.endswith(f"or remove that one: docker exec {SERVER} ollama rm smol:latest")

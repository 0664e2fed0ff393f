"""Where the weights of Ollama's models stand on this machine, and what is said where nobody can tell."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from homellm.deploy.gather import gather
from homellm.domain.stack import Source, Volume
from homellm.domain.world import ModelFile
from tests.unit.deploy.ollama_lab import MODELS, OllamaLab, hybrid
from tests.unit.sizing.headers import QWEN25_7B

BLOB = f"models/blobs/sha256-{'a' * 64}"
VOLUME = "/var/lib/docker/volumes/nuc-main/_data"


def file(path):
    return ModelFile(path, "ok", header=QWEN25_7B)


@pytest.fixture
def lab():
    return OllamaLab()


def weights(lab, model=None):
    model = model or hybrid()
    return gather(lab.stack(model), (model,), lab.ports()).ollama_weights[model.name]


def in_volume(lab):
    lab.server = replace(lab.server, store=Volume("nuc-main", "/root/.ollama", named=True))


def test_in_a_folder(lab):
    lab.files.states[f"/srv/ollama/{BLOB}"] = file("blob")
    assert weights(lab).header is QWEN25_7B


def test_in_a_volume_of_the_engine(lab):
    in_volume(lab)
    lab.files.states[f"{VOLUME}/{BLOB}"] = file("blob")
    assert weights(lab).header is QWEN25_7B


def test_a_model_from_a_file_is_that_file_uploaded_or_not(lab):
    path = "/models/made.gguf"
    lab.files.states[path] = file(path)
    assert weights(lab, hybrid(name="made", source=Source("gguf", "", Path(path)))).path == path


def test_by_its_own_name_where_the_source_is_gone(lab):
    lab.files.states[f"/srv/ollama/{BLOB}"] = file("blob")
    assert weights(lab, hybrid(source=Source("ollama", "gone:1b"))).header is QWEN25_7B


@pytest.mark.parametrize(
    ("state", "told"),
    [
        ("absent", ("missing", "it is not here yet")),
        ("blob-truncated", ("missing", "it is not whole here")),
        ("unreadable", ("unreadable", "its store cannot be read from here")),
    ],
)
def test_what_cannot_be_told_is_said(lab, state, told):
    lab.ollamas.models = (replace(MODELS[0], state=state, blob=None),)
    found = weights(lab)
    assert ((found.state, found.reason), found.header) == (told, None)


def test_a_model_of_a_hub_that_is_not_here(lab):
    assert weights(lab, hybrid(source=Source("hf", "org/repo:Q4_K_M"))).reason == "it is not here yet"


def test_an_engine_whose_folders_are_not_seen_says_nothing_of_what_is_in_its_volumes(lab):
    in_volume(lab)
    lab.files.states["/var/lib/docker"] = ModelFile("/var/lib/docker", "missing")
    lab.ollamas.models = ()
    assert weights(lab).reason == "its store cannot be read from here"


def test_nothing_is_looked_for_on_another_machine_or_of_somebody_elses_server(lab):
    lab.server = replace(lab.server, url="http://127.0.0.1:11434")
    assert gather(lab.stack(hybrid()), (hybrid(),), lab.ports()).ollama_weights == {}

"""What is told before anything is created."""

from pathlib import Path

import pytest

from homellm.domain.stack import Place
from homellm.domain.world import Host, Listener, ModelFile, Network
from homellm.planning.preflight import cpuset_numbers, preflight
from homellm.planning.units import sort_unit
from tests.unit.planning.build import NAME, container, model, stack, world


def problems(wanted, here, *containers):
    return preflight(wanted, stack(wanted), sort_unit(NAME, "smol", containers), here)


def test_nothing_wrong():
    assert problems(model(port=8081, cpuset="0-3"), world()) == ()


@pytest.mark.parametrize(
    ("state", "id", "says"),
    [
        ("missing", "model-missing", "does not exist"),
        ("dangling", "model-missing", "/models/smol.gguf leads nowhere: why"),
        ("unreadable", "model-unreadable", "cannot be read"),
        ("directory", "model-missing", "is a folder"),
        ("not-gguf", "not-gguf", "not a GGUF"),
        ("truncated", "model-corrupt", "cut short (98 of 1597 MB)"),
    ],
)
def test_model_file(state, id, says):
    file = ModelFile("/models/smol.gguf", state, size_bytes=98_000_000, needed_bytes=1_597_000_000, reason="why")
    found = problems(model(), world(model_files={"/models/smol.gguf": file}))
    assert [p.id for p in found] == [id]
    assert says in found[0].message


@pytest.mark.parametrize(
    ("state", "id", "says"),
    [
        ("missing", "model-missing", "projector file /p/mmproj.gguf does not exist"),
        ("not-gguf", "not-gguf", "/p/mmproj.gguf is not a GGUF file: why"),
        ("truncated", "model-corrupt", "projector file /p/mmproj.gguf is cut short (98 of 1597 MB)"),
    ],
)
def test_projector_file(state, id, says):
    file = ModelFile("/p/mmproj.gguf", state, size_bytes=98_000_000, needed_bytes=1_597_000_000, reason="why")
    wanted = model(mmproj=Path("/p/mmproj.gguf"), places={"mmproj": Place("homellm.yaml", 7, 5)})
    (found,) = problems(wanted, world(model_files={"/p/mmproj.gguf": file}))
    assert (found.id, found.message, found.line) == (id, says, 7)


def test_a_projector_that_is_a_model():
    path = "/p/mmproj.gguf"
    wanted = model(mmproj=Path(path))
    (found,) = problems(wanted, world(model_files={path: ModelFile(path, "ok", architecture="llama")}))
    assert (found.id, "it is a model of the architecture llama" in found.message) == ("projector-broken", True)
    assert problems(wanted, world(model_files={path: ModelFile(path, "ok", architecture="clip")})) == ()
    assert problems(wanted, world()) == ()  # an engine elsewhere: nobody looked


@pytest.mark.parametrize(
    ("state", "says"),
    [
        ("missing", "/t/chat.jinja does not exist"),
        ("dangling", "/t/chat.jinja leads nowhere: permission denied"),
        ("unreadable", "/t/chat.jinja cannot be read: permission denied"),
        ("directory", "/t/chat.jinja is a folder, not a chat template"),
    ],
)
def test_template_file(state, says):
    wanted = model(chat_template_file=Path("/t/chat.jinja"), places={"chat_template_file": Place("homellm.yaml", 7, 5)})
    file = ModelFile("/t/chat.jinja", state, reason="permission denied")
    (found,) = problems(wanted, world(model_files={file.path: file}))
    assert (found.id, found.message, found.line) == ("template-unreadable", says, 7)
    text = ModelFile("/t/chat.jinja", "not-gguf", reason="it is a text")
    assert problems(wanted, world(model_files={text.path: text})) == ()


def test_a_file_that_ends_inside_its_header_is_named():
    file = ModelFile("/models/smol.gguf", "truncated", size_bytes=500, reason="it ends inside its header")
    (found,) = problems(model(), world(model_files={"/models/smol.gguf": file}))
    assert found.message == "model file /models/smol.gguf is cut short: it ends inside its header"


def test_a_missing_part_of_a_split_model_is_named():
    parts = ("/models/a-00001-of-00002.gguf", "/models/a-00002-of-00002.gguf")
    file = ModelFile(parts[0], "missing", reason="part 2 of 2, a-00002-of-00002.gguf: it does not exist", parts=parts)
    (found,) = problems(model(), world(model_files={"/models/smol.gguf": file}))
    assert found.message == f"model file {parts[0]} is not whole: {file.reason}"


def test_place_in_the_stack_file():
    wanted = model(cpuset="0-7", places={"cpuset": Place("homellm.yaml", 9, 13)})
    (found,) = problems(wanted, world())
    assert (found.id, found.file, found.line, found.column) == ("cpus-unavailable", "homellm.yaml", 9, 13)
    assert "CPU 4, 5, 6, 7" in found.message
    assert "0-3" in found.hint


def test_cpuset_of_a_container_with_holes():
    (found,) = problems(model(cpuset="1"), world(host=Host(online_cpus=(0, 2, 3))))
    assert found.hint == "This machine has CPUs 0,2-3."


def test_port_held_by_a_process():
    here = world(host=Host(listeners=(Listener("127.0.0.1", 11434, 812, "ollama"),)))
    (found,) = problems(model(port=11434), here)
    assert found.id == "port-taken"
    assert "ollama (pid 812)" in found.message


def test_port_held_by_a_container_is_named():
    (found,) = problems(model(port=8081), world(published=(("0.0.0.0", 8081, "open-webui"),)))
    assert "open-webui" in found.message


def test_port_held_by_the_container_that_is_to_be_replaced_is_no_problem():
    here = world(
        published=(("127.0.0.1", 8081, NAME),), host=Host(listeners=(Listener("127.0.0.1", 8081, 9, "docker-proxy"),))
    )
    assert problems(model(port=8081), here, container()) == ()


def test_a_further_network_that_is_not_there_is_told_before_anything_is_stopped():
    wanted = model(networks=("web", "db"), places={"networks": Place("homellm.yaml", 7, 5)})
    (found,) = problems(wanted, world(networks={"web": Network("1", "web", {})}))
    assert (found.id, found.message, found.line) == ("network-missing", "there is no network db", 7)


def test_name_held_by_somebody_else():
    foreign = container(labels={"homellm.stack": ""}, digest="")
    (found,) = problems(model(), world(name_holders={NAME: foreign}))
    assert found.id == "name-taken"
    assert NAME in found.message
    assert "container_name" in found.hint


def test_cpuset_numbers():
    assert cpuset_numbers("0-2,8,10-11") == (0, 1, 2, 8, 10, 11)

"""What `render` writes of a stack with Ollama: its server, what has moved, and how models come into it by hand."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from homellm.deploy.gather import gather
from homellm.deploy.rendered import rendered
from homellm.domain.stack import OllamaServer, Source, Volume
from homellm.planning.desired import desire_server
from tests.unit.deploy.ollama_lab import IMAGE, MOVED, OLLAMA, SERVER, OllamaLab, hybrid, lab_on

FILE = Source("gguf", "", Path("/models/my model.gguf"))


def written(lab, *models):
    found = rendered(lab.stack(*models), (), lab.ports())
    assert found.problems == ()
    return found


def names(found):
    return [spec.name for spec in found.specs]


def commands(found):
    return [note.partition(": ")[2] for note in found.notes if ": docker " in note or ": printf " in note]


def test_the_server_is_the_one_that_up_makes_and_the_model_is_pulled():
    lab = OllamaLab()
    found = written(lab, hybrid())
    assert names(found) == [SERVER]
    stack = lab.stack(hybrid())
    wanted = desire_server(lab.server, stack.models, stack, gather(stack, stack.models, lab.ports()))
    assert found.specs == [wanted.spec]
    assert commands(found) == [f"docker exec {SERVER} ollama pull hybrid:latest"]
    assert found.notes[0].startswith(
        f"hybrid: Ollama has it from these commands, once {SERVER} runs; whether Ollama gives it 3"
    )


def test_a_name_of_its_own_and_a_context_of_its_own():
    others = (hybrid(name="one", parallel=1), hybrid(name="two", parallel=1))
    found = written(OllamaLab(), *others, hybrid(name="short", parallel=1, ctx=256))
    pull = f"docker exec {SERVER} ollama pull hybrid:latest"
    assert commands(found)[:2] == [pull, f"docker exec {SERVER} ollama cp hybrid:latest one:latest"]
    assert commands(found)[-1] == (
        "printf 'FROM hybrid:latest\\nPARAMETER num_ctx 256\\n' |"
        f" docker exec -i {SERVER} sh -c 'cat >/tmp/Modelfile && ollama create short:latest -f /tmp/Modelfile'"
    )


def test_a_registry_by_plain_http_needs_a_word_of_its_own():
    """Ollama 0.33.0 asks by TLS otherwise: `tls: first record does not look like a TLS handshake`."""
    found = written(OllamaLab(), hybrid(source=Source("ollama", "http://10.0.0.2:5000/library/hybrid:tiny")))
    assert commands(found)[0] == f"docker exec {SERVER} ollama pull --insecure 10.0.0.2:5000/library/hybrid:tiny"


def test_a_model_of_a_file_is_copied_in_and_made():
    found = written(OllamaLab(), hybrid(name="lfm", source=FILE))
    assert names(found) == [SERVER]
    assert commands(found) == [
        f"docker cp '/models/my model.gguf' {SERVER}:/tmp/homellm.gguf",
        "printf 'FROM /tmp/homellm.gguf\\n' |"
        f" docker exec -i {SERVER} sh -c 'cat >/tmp/Modelfile && ollama create lfm:latest -f /tmp/Modelfile'",
    ]


@pytest.mark.parametrize("rung", ["llama-server", "bundled"])
def test_what_has_moved_is_written_as_it_is_served(rung):
    lab = lab_on(rung)
    lab.up(hybrid())
    found = written(lab, hybrid())
    assert names(found) == [SERVER, MOVED]
    moved = found.specs[1]
    assert moved.image == {"llama-server": IMAGE, "bundled": OLLAMA}[rung]
    assert any("sha256-" in (mount.source + mount.target) for mount in moved.mounts)
    assert "hybrid: Ollama gave it fewer than 3 slots, and llama-server serves it: so it is written here" in found.notes


def test_where_ollama_does_not_answer_that_cannot_be_told():
    lab = lab_on("llama-server")
    lab.up(hybrid())
    lab.state.crash(SERVER, 1)
    found = written(lab, hybrid())
    assert names(found) == [SERVER]
    assert found.notes[-1] == (
        "hybrid: it has moved to llama-server; how is not known while the Ollama server main does not answer"
    )


def test_with_fallback_none_nothing_of_a_move_is_written():
    lab = lab_on("llama-server")
    lab.up(hybrid())
    assert names(written(lab, hybrid(fallback="none"))) == [SERVER]


def test_an_ollama_that_is_not_ours_is_not_written():
    lab = OllamaLab()
    lab.server = OllamaServer("main", "", url="http://127.0.0.1:11434", store=Volume("/srv/ollama", "/root/.ollama"))
    found = written(lab, hybrid())
    assert names(found) == []
    assert found.notes == [
        "hybrid: the Ollama at http://127.0.0.1:11434 serves it, of which nothing is homellm's to write down"
    ]


def test_a_file_of_the_hub_that_is_not_here_yet():
    found = written(OllamaLab(), hybrid(name="lfm", source=replace(FILE, kind="hf", ref="org/repo:q4", path=None)))
    assert found.notes == [
        "lfm: hf:org/repo:q4 is not here yet: homellm pull lfm brings it, and then this can say more"
    ]


def test_a_file_in_parts_is_for_up_alone():
    lab, parts = OllamaLab(), tuple(f"/models/big-{number:05}-of-00002.gguf" for number in (1, 2))
    lab.files.states[parts[0]] = replace(lab.files.look(Path(parts[0])), parts=parts)
    found = written(lab, hybrid(name="lfm", source=replace(FILE, path=Path(parts[0]))))
    assert found.notes == ["lfm: it is made of a GGUF in parts: homellm up alone brings it into Ollama's store"]

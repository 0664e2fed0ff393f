"""`logs` of models and of the Ollama servers that they are on."""

from __future__ import annotations

import pytest

from homellm.cli.selection import select
from homellm.deploy.logs import logs
from homellm.deploy.scope import Scope
from homellm.errors import Refused, UsageError
from tests.unit.deploy.lab import Lab, model
from tests.unit.deploy.ollama_lab import OllamaLab, hybrid, lab_on

LISTENING = "Listening on [::]:11434"


def logged(lab: OllamaLab, *only: str) -> dict[str, str]:
    """What is written, by the name before the lines."""
    lines: dict[str, list[str]] = {}
    stack = lab.stack(hybrid())
    chosen = select(stack, only, servers=True)
    logs(
        stack,
        chosen,
        lab.ports(),
        Scope(),
        follow=False,
        tail=None,
        write=lambda name, line: lines.setdefault(name, []).append(line),
    )
    return {name: "\n".join(text) for name, text in lines.items()}


@pytest.fixture
def moved() -> OllamaLab:
    lab = lab_on("llama-server")
    lab.up(hybrid())
    return lab


def test_a_server_has_its_log_by_its_own_name(moved):
    found = logged(moved, "main")
    assert list(found) == ["main"]
    assert LISTENING in found["main"]


def test_a_model_and_its_server_can_be_named_together(moved):
    found = logged(moved, "main", "hybrid")
    assert sorted(found) == ["hybrid", "main"]
    assert LISTENING in found["main"]
    assert "llama_server: model loaded" in found["hybrid"]


def test_a_model_that_has_moved_has_the_log_of_what_serves_it(moved):
    assert list(logged(moved, "hybrid")) == list(logged(moved)) == ["hybrid"]


def test_a_server_that_is_not_there_has_none():
    with pytest.raises(Refused, match="no container of main has a log") as caught:
        logged(lab_on("llama-server"), "main")
    assert caught.value.problems[0].hint == "homellm up starts it."


def test_other_verbs_say_which_models_are_on_a_server():
    with pytest.raises(UsageError) as caught:
        select(OllamaLab().stack(hybrid()), ("main",))
    assert caught.value.problems[0].hint == "main is an Ollama server: name the models on it, hybrid."


def test_a_model_without_a_container_is_named_and_not_the_whole_stack():
    """`homellm logs NAME` after `homellm down NAME`: the others of the stack have logs."""
    lab = Lab()
    lab.up(model())
    stack = lab.stack(model(), model(name="other", port=None))
    with pytest.raises(Refused, match="no container of other has a log") as caught:
        logs(stack, ("other",), lab.ports(), Scope(), follow=False, tail=None, write=lambda name, line: None)
    assert caught.value.problems[0].hint == "homellm up other starts it."

"""Two names of the same weights on one Ollama server, which only its store tells."""

from __future__ import annotations

from dataclasses import replace

import pytest

from homellm.deploy.check import check
from homellm.deploy.scope import Scope
from homellm.domain.stack import Source
from homellm.domain.verdicts import State
from tests.fakes.ollama import stored
from tests.unit.deploy.ollama_lab import MODELS, OllamaLab, hybrid, refusing

PLAIN = hybrid(name="plain", source=Source("ollama", "plain"), port=None)


def twin(**changes):
    """A model of another source that is the same weights."""
    return replace(PLAIN, name="twin", source=Source("ollama", "twin"), **changes)


@pytest.fixture
def lab():
    lab = OllamaLab(behave=refusing())
    lab.ollamas.models = (*MODELS, replace(stored("twin", "b", "llama"), digest="d" * 64))
    lab.up(PLAIN)
    return lab


def test_with_another_context_they_do_not_put_each_other_out(lab):
    for _ in range(2):
        served, refused = lab.up(PLAIN, twin(ctx=1024)).models
        assert (served.state, refused.state) == (State.VERIFIED, State.FAILED)
        (problem,) = refused.problems
        assert problem.id == "contradiction"
        assert problem.message.startswith("models plain and twin are the same weights on the Ollama server main, with")
        assert "512 and 1024 tokens a slot" in problem.message
    found = check(lab.stack(PLAIN, twin(ctx=1024)), (), lab.ports(), lab.options, Scope(), lambda _event: None).models
    assert [model.state for model in found] == [State.VERIFIED, State.FAILED]
    assert found[1].problems[0].id == "contradiction"
    assert lab.loads() == ["plain:latest"]


def test_with_the_same_context_both_names_are_served(lab):
    assert [model.state for model in lab.up(PLAIN, twin()).models] == [State.VERIFIED, State.VERIFIED]


def test_who_is_not_declared_any_more_hinders_nobody(lab):
    """Nor does one that is to have another context now than it has in memory."""
    assert "contradiction" not in {problem.id for problem in lab.up(twin(ctx=1024)).models[0].problems}
    assert "twin:latest" in lab.loads()


def test_one_that_moves_hinders_nobody(lab):
    lab.ollamas.refused = frozenset({"llama"})
    lab.state.daemon_restart()
    moved, too = lab.up(replace(PLAIN, port=21001), twin(ctx=1024, port=21002)).models
    assert [one.fallback.rung for one in (moved, too)] == ["llama-server", "llama-server"]

"""`endpoints` of models on Ollama: what was seen of them, not what was asked."""

from __future__ import annotations

from homellm.deploy.endpoints import as_running
from tests.unit.deploy.ollama_lab import hybrid, lab_on


def test_a_model_that_stays_on_ollama_with_one_slot_has_one_slot():
    lab = lab_on("ollama")
    (report,) = lab.up(hybrid(fallback="none")).models
    assert report.slots == 1
    (told,) = as_running(lab.stack(hybrid(fallback="none")), lab.ports()).stack.models
    assert (told.parallel, told.ctx) == (1, 512)


def test_one_that_nobody_has_looked_at_is_told_as_declared():
    lab = lab_on("ollama")
    found = as_running(lab.stack(hybrid()), lab.ports())
    assert (found.stack.models[0].parallel, found.models) == (3, frozenset())

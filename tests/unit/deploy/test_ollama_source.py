"""A model on Ollama whose source was edited: what serves under its name is of the former one until `up` ran."""

from __future__ import annotations

import pytest

from homellm.deploy.check import check
from homellm.deploy.ps import ps
from homellm.deploy.scope import Scope
from homellm.domain.stack import Source
from homellm.domain.verdicts import State
from homellm.errors import ExitCode
from tests.fakes.ollama import stored
from tests.unit.deploy.ollama_lab import OllamaLab, hybrid, lab_on


def chat(source: str):
    return hybrid(name="chat", source=Source("ollama", source), port=None)


def checked(lab: OllamaLab, source: str):
    (report,) = check(lab.stack(chat(source)), (), lab.ports(), lab.options, Scope(), lambda _event: None).models
    return report


def listed(lab: OllamaLab, source: str):
    (report,) = ps(lab.stack(chat(source)), lab.ports()).models
    return report


@pytest.fixture
def lab() -> OllamaLab:
    lab = lab_on("llama-server")
    lab.ollamas.models = (*lab.ollamas.models, stored("other", "c", "llama"))
    assert lab.up(chat("plain")).models[0].state is State.VERIFIED
    return lab


@pytest.mark.parametrize(
    ("source", "why"),
    [
        ("other", "other:latest has other weights than Ollama serves as chat:latest; homellm up applies it."),
        ("gone", "gone:latest is not in Ollama's store, and the stack file changed; homellm up brings it."),
    ],
)
def test_it_is_not_verified_for_the_edited_file_whoever_looks(lab, source, why):
    for _ in range(2):
        assert listed(lab, source).state is State.UNVERIFIED
        report = checked(lab, source)
        assert (report.state, report.exit_code) == (State.DEGRADED, ExitCode.DEGRADED)
        assert why in report.notes
        assert [(v.id, v.verdict) for v in report.checks if v.verdict != "pass"] == [("declaration", "fail")]
    assert checked(lab, "plain").state is State.VERIFIED
    assert listed(lab, "plain").state is State.VERIFIED


def test_up_makes_it_the_edited_one(lab):
    assert lab.up(chat("other")).models[0].state is State.VERIFIED
    assert checked(lab, "other").state is State.VERIFIED
    assert checked(lab, "plain").state is State.DEGRADED


def test_a_source_that_somebody_removed_after_it_was_copied_is_no_fault(lab):
    lab.ollamas.models = tuple(one for one in lab.ollamas.models if one.name != stored("plain", "b", "llama").name)
    assert checked(lab, "plain").state is State.VERIFIED

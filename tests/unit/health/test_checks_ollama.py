"""What the loads of an Ollama's log mean for the context that is declared now."""

from __future__ import annotations

import pytest

from homellm.domain.evidence import Chat, Load, OllamaEvidence
from homellm.domain.stack import Model, OllamaServer, Source
from homellm.domain.verdicts import Verdict
from homellm.health.checks.ollama import judge_ollama

SERVER = OllamaServer("main", "example/ollama:tag", port=11434)


def forced(declared: int, *contexts: int | None, slots: int = 3) -> Verdict | None:
    """The verdict on loads of these contexts, in their order."""
    model = Model("m", Source("ollama", "m"), "i", runner="ollama", server="main", parallel=slots, ctx=declared)
    loads = tuple(Load("sha256-aa", slots, ctx, True, None, "cpu") for ctx in contexts)
    evidence = OllamaEvidence(load=loads[-1] if loads else None, loads=loads, asked_ps=True)
    return next((v for v in judge_ollama(model, SERVER, evidence) if v.id == "ctx-forced"), None)


def test_a_client_after_the_declared_load_is_named() -> None:
    verdict = forced(2048, 2048, 512, 2048, 256)
    assert verdict is not None
    assert (verdict.asked, verdict.observed, verdict.verdict) == (2048, 512, "fail")
    assert "num_ctx 256, 512" in verdict.hint


def test_a_context_that_was_declared_before_is_nobodys_fault() -> None:
    """The stack file had 2048, and has 1024 now: the server ran on, and its log has both."""
    verdict = forced(1024, 2048, 1024, 1024)
    assert verdict is not None
    assert (verdict.asked, verdict.observed, verdict.verdict) == (1024, 1024, "pass")
    again = forced(2048, 2048, 1024, 2048)  # back again: the one between cannot be told from a client's
    assert again is not None
    assert again.verdict == "fail"


@pytest.mark.parametrize(("declared", "slots", "given"), [(1000, 3, 1024), (1000, 1, 1024), (100, 3, 256)])
def test_what_the_server_rounds_up_is_as_declared(declared: int, slots: int, given: int) -> None:
    verdict = forced(declared, given, given, slots=slots)
    assert verdict is not None
    assert verdict.verdict == "pass"


def test_without_a_load_as_declared_the_gate_of_the_context_tells() -> None:
    assert forced(2048, 512) is None
    assert forced(2048, None) is None
    assert forced(2048) is None


@pytest.mark.parametrize(
    ("chat", "hint"),
    [
        (Chat(0, error="timed out"), "It serves others for so long, or hangs: Ollama tells nobody which."),
        (Chat(503, error="server busy, please try again."), "Its queue is full: so many requests wait for others"),
        (Chat(500, error="boom"), "Ollama is up and does not answer a request"),
    ],
)
def test_no_answer_is_told_by_what_ollama_itself_says_of_it(chat: Chat, hint: str) -> None:
    model = Model("m", Source("ollama", "m"), "i", runner="ollama", server="main")
    (found,) = [v for v in judge_ollama(model, SERVER, OllamaEvidence(chat=chat)) if v.id == "api"]
    assert (found.verdict, found.gate, found.text) == ("fail", True, chat.error)
    assert found.hint.startswith(hint)

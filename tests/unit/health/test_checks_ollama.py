"""What the loads of an Ollama's log mean for the context that is declared now."""

from __future__ import annotations

from dataclasses import replace

import pytest

from homellm.domain.evidence import Chat, Load, OllamaEvidence
from homellm.domain.ollama import LoadedModel
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


@pytest.mark.parametrize(
    ("declared", "expires_at", "verdict"),
    [
        (-1, "2319-03-12T18:27:48Z", "pass"),
        (-1, "2026-12-01T10:00:00Z", "fail"),
        ("-5m", "2026-12-01T10:00:00Z", "fail"),
        ("-5m", "2319-03-12T18:27:48Z", "pass"),
        ("5m", "2026-12-01T10:00:00Z", None),
        (0, "2026-12-01T10:00:00Z", None),
    ],
)
def test_what_is_kept_for_ever_has_no_end_in_sight(declared: int | str, expires_at: str, verdict: str | None) -> None:
    """Every negative time is for ever, in seconds or as a duration."""
    model = Model("m", Source("ollama", "m"), "i", runner="ollama", server="main")
    loaded = LoadedModel("m:latest", "aa", 1000, 0, model.ctx, expires_at)
    found = judge_ollama(model, replace(SERVER, keep_alive=declared), OllamaEvidence(loaded=loaded, asked_ps=True))
    assert next((v.verdict for v in found if v.id == "keep-alive"), None) == verdict


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

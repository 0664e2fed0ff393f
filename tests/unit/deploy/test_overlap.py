"""`check --concurrency` against servers that work, wait, keep silent or are too quick to be seen."""

from __future__ import annotations

import json
import threading
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from homellm.deploy.concurrency import LOOKS_ENOUGH, TOKENS, measure_overlap
from homellm.domain.evidence import Overlap
from homellm.domain.stack import Model, Source
from homellm.ports import HttpReply
from tests.fakes.clock import FakeClock

SLOTS = 3
MODEL = Model(name="m", source=Source("gguf", "/m.gguf", Path("/m.gguf")), image="i", parallel=SLOTS)


@dataclass
class Server:
    """Works on `at_once` requests, and ends none before it was looked at `looks` times; then all with `status`."""

    at_once: int
    looks: int = LOOKS_ENOUGH + 2
    slots: bool = True
    metrics: bool = True
    status: int = 200
    asked: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._seen = threading.Condition()
        self._under_way = 0
        self._looked = 0

    def post(self, url: str, body, *, timeout_s: float, api_key: str | None = None) -> HttpReply:
        with self._seen:
            self._under_way += 1
            self.asked.append(body.get("max_tokens", 0))
            self._seen.wait_for(lambda: self._looked >= self.looks and self._under_way >= SLOTS, timeout=120)
        return HttpReply(self.status, b"{}")

    def get(self, url: str, *, timeout_s: float, api_key: str | None = None) -> HttpReply:
        with self._seen:
            busy = min(self.at_once, self._under_way)
            self._looked += self._under_way >= SLOTS
            self._seen.notify_all()
        if url.endswith("/slots") and self.slots:
            return HttpReply(200, json.dumps([{"is_processing": n < busy} for n in range(SLOTS)]).encode())
        if url.endswith("/metrics") and self.metrics:
            return HttpReply(200, f"# HELP x\nllamacpp:requests_processing {busy}\n".encode())
        return HttpReply(501, b"{}")


@dataclass
class Quick:
    """Answers before anybody can look."""

    asked: list[int] = field(default_factory=list)

    def post(self, url: str, body, *, timeout_s: float, api_key: str | None = None) -> HttpReply:
        self.asked.append(body["max_tokens"])
        return HttpReply(200, b"{}")

    def get(self, url: str, *, timeout_s: float, api_key: str | None = None) -> HttpReply:
        return HttpReply(200, json.dumps([{"is_processing": False}] * SLOTS).encode())


@pytest.fixture
def measure():
    class Here:
        clock = FakeClock()

    def measured(server, model=MODEL):
        here = Here()
        here.http = server
        return measure_overlap("http://s", model, here)

    return measured


def test_all_slots_at_once(measure):
    found = measure(Server(SLOTS, looks=1))
    assert (found.slots, found.source, found.error) == (SLOTS, "/slots", "")


def test_fewer_are_a_fact_after_enough_looks(measure):
    server = Server(1)
    assert measure(server) == Overlap(SLOTS, 1, "/slots", conclusive=True)
    assert server.asked == [TOKENS[0]] * SLOTS


def test_metrics_where_the_slots_are_not_told(measure):
    assert measure(Server(SLOTS, looks=1, slots=False)).source == "/metrics"
    assert measure(Server(2, slots=False)).slots == 2


def test_nobody_tells(measure):
    found = measure(Server(SLOTS, looks=1, slots=False, metrics=False))
    assert (found.slots, found.source) == (None, "")


def test_embeddings_are_never_a_fault(measure):
    """They are computed in one step, and between steps alone does a server say what it is at."""
    found = measure(Server(1), replace(MODEL, embedding=True))
    assert (found.slots, found.conclusive) == (1, False)


def test_answers_that_come_too_soon_are_asked_longer_and_prove_nothing(measure):
    server = Quick()
    found = measure(server)
    assert (found.slots, found.conclusive, found.error) == (0, False, "")
    assert server.asked == [tokens for tokens in TOKENS for _ in range(SLOTS)]


def test_what_fails_is_no_overlap(measure):
    assert measure(Server(SLOTS, looks=1, status=500)).error == "HTTP 500"

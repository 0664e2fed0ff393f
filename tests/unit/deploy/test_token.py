"""The one request of a proof: what is told while it waits, and when a server serves others instead of being broken."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from homellm.deploy import token
from homellm.deploy.check import check
from homellm.deploy.ps import ps
from homellm.deploy.scope import Scope
from homellm.deploy.token import Answer, Patience, ask_patiently
from homellm.deploy.witness import Slots
from homellm.domain.evidence import Chat
from homellm.domain.verdicts import State
from homellm.errors import ExitCode
from homellm.ports import HttpReply
from tests.unit.deploy.lab import Lab
from tests.unit.deploy.ollama_lab import OllamaLab, hybrid

SOON = Patience(look_s=0.01, looks=3)
LATE = Chat(0, error="no whole answer within 120 s")
GOOD = Chat(200, "smol", 1)
#: Longer than any test waits.
HELD_S = 20.0


class Waiting:
    """A request that is answered with `chat` once it was looked at `looks` times, or never by itself."""

    def __init__(self, slots: Callable[[int], Slots | None], chat: Chat = LATE, looks: int | None = None) -> None:
        self._slots, self._chat, self._looks = slots, chat, looks
        self._go, self.seen, self.told = threading.Event(), 0, []

    def ask(self) -> Chat:
        self._go.wait(HELD_S)
        return self._chat

    def look(self) -> Slots | None:
        self.seen += 1
        if self.seen == self._looks:
            self._go.set()
        return self._slots(self.seen)

    def wait(self, *, proved: bool) -> Answer:
        answer = ask_patiently(self.ask, self.look, self.told.append, "asking", proved=proved, patience=SOON)
        self._go.set()
        return answer


def slots(busy: int, told: object, total: int | None = 3) -> Slots:
    return Slots(total, busy, "/slots", str(told).encode())


def test_a_quick_answer_is_told_by_nobody():
    told: list[str] = []
    assert ask_patiently(lambda: GOOD, lambda: None, told.append, "asking", proved=True) == Answer(GOOD)
    assert told == []


def test_a_proved_server_whose_slots_go_on_is_not_waited_for():
    waiting = Waiting(lambda look: slots(3, look))
    assert waiting.wait(proved=True) == Answer(None, 3)
    assert waiting.seen == SOON.looks + 1  # the first has nothing to be held against
    assert (waiting.told[0], waiting.told[-1]) == ("asking", "asking, busy: all 3 slots are serving")


def test_without_a_proof_it_is_waited_for_and_told_as_busy():
    waiting = Waiting(lambda look: slots(3, look), LATE, looks=20)
    assert waiting.wait(proved=False) == Answer(LATE, 3)


def test_an_answer_that_comes_late_counts():
    assert Waiting(lambda look: slots(3, look), GOOD, looks=2).wait(proved=True) == Answer(GOOD)


@pytest.mark.parametrize(
    "seen",
    [
        lambda look: slots(2, look),
        lambda look: slots(0, look),
        lambda look: slots(3, "stands still"),
        lambda look: slots(3, look, total=None),
        lambda look: None,
        lambda look: slots(3 if look % 3 else 2, look),
    ],
    ids=["one idle", "all idle", "none goes on", "how many is not told", "nothing is told", "now and then one is free"],
)
def test_a_server_that_hangs_is_a_failure(seen):
    assert Waiting(seen, LATE, looks=21).wait(proved=True) == Answer(LATE, 0)


def test_what_goes_wrong_with_the_request_is_raised():
    def broken() -> Chat:
        raise ValueError("no such host")

    with pytest.raises(ValueError, match="no such host"):
        ask_patiently(broken, lambda: None, lambda _text: None, "asking", proved=True, patience=SOON)


def checked(lab: Lab):
    return check(lab.stack(), (), lab.ports(), lab.options, Scope(), lab.events.append).models[0]


def listed(lab: Lab):
    return ps(lab.stack(), lab.ports()).models[0]


@contextmanager
def serving_others(
    lab: Lab, monkeypatch: pytest.MonkeyPatch, *, busy: int = 1, ends_after: int | None = None
) -> Iterator[None]:
    """So many of one slot at work, which goes on; our request is not answered, and ends after so many looks at it."""
    monkeypatch.setattr(token, "PATIENCE", SOON)
    get, go, number = lab.http.get, threading.Event(), itertools.count()
    post = lab.http.post

    def slots_or_usual(url: str, **named: object) -> HttpReply:
        if not url.endswith("/slots"):
            return get(url, **named)
        looks = next(number)
        if looks == ends_after:
            go.set()
        return HttpReply(200, f'[{{"is_processing": {"true" if busy else "false"}, "id_task": {looks}}}]'.encode())

    def held(url: str, body: object, **named: object) -> HttpReply:
        go.wait(HELD_S)
        return HttpReply(0, error="no whole answer within 120 s")

    lab.http.get, lab.http.post = slots_or_usual, held
    yield
    go.set()
    lab.http.get, lab.http.post = get, post


def api(report):
    (verdict,) = [verdict for verdict in report.checks if verdict.id == "api"]
    return verdict


def test_a_busy_server_that_was_proved_in_this_run_passes_by_the_record(monkeypatch):
    lab = Lab()
    lab.up()
    with serving_others(lab, monkeypatch):
        report = checked(lab)
    assert (report.state, report.exit_code) == (State.VERIFIED, ExitCode.OK)
    assert (api(report).verdict, api(report).source) == ("pass", "record")
    assert api(report).text == "smol; busy: its one slot is serving, and a token came back earlier in this run"
    assert any(getattr(event, "text", "").startswith("asking for one token") for event in lab.events)
    assert lab.up().models[0].state is State.VERIFIED


def test_a_busy_server_of_which_nothing_is_proved_is_unknown(monkeypatch):
    lab = Lab()
    lab.up()
    lab.state.daemon_restart()  # the record is of another run
    with serving_others(lab, monkeypatch, ends_after=10):
        report = checked(lab)
    assert (report.state, api(report).verdict) == (State.FAILED, "unknown")
    assert api(report).hint.startswith("Busy: its one slot is serving, and nothing of this run is proved yet")


def test_a_server_that_hangs_with_an_idle_slot_fails(monkeypatch):
    lab = Lab()
    lab.up()
    with serving_others(lab, monkeypatch, busy=0, ends_after=10):
        report = checked(lab)
    assert (report.state, report.exit_code) == (State.FAILED, ExitCode.REFUSED)
    assert (api(report).verdict, api(report).source) == ("fail", "API")


class TestAfterAFailedCheck:
    """A check that failed at one moment is no news of another."""

    def failed(self) -> Lab:
        lab = Lab()
        lab.up()
        lab.http.twist = lambda container, path, reply: HttpReply(0, error="timed out")
        assert checked(lab).state is State.FAILED
        lab.http.twist = lambda container, path, reply: reply
        return lab

    def test_up_asks_anew_and_writes_what_it_finds(self):
        lab = self.failed()
        lab.http.asked.clear()
        report = lab.up().models[0]
        assert (report.state, report.exit_code, report.changed) == (State.VERIFIED, ExitCode.OK, False)
        assert "nuc-smol /v1/chat/completions" in lab.http.asked
        assert (api(report).verdict, api(report).source) == ("pass", "API")
        assert listed(lab).state is State.VERIFIED

    def test_up_of_one_that_is_still_broken_says_so_by_what_it_sees_now(self):
        lab = self.failed()
        lab.http.twist = lambda container, path, reply: (
            HttpReply(500, b'{"error": "it hurts"}') if path.startswith("/v1") else reply
        )
        report = lab.up().models[0]
        assert (report.state, api(report).text) == (State.FAILED, "smol: it hurts")

    def test_ps_says_when_it_was_found(self):
        report = listed(self.failed())
        assert report.notes == ("That was found at 2026-11-30T12:00:00+00:00; homellm check smol looks anew.",)

    def test_the_earlier_proof_of_the_run_still_counts_for_a_busy_server(self, monkeypatch):
        lab = self.failed()
        with serving_others(lab, monkeypatch):
            report = lab.up().models[0]
        assert (report.state, api(report).source) == (State.VERIFIED, "record")


def test_of_an_ollama_that_does_not_answer_nobody_tells_whether_it_is_busy(monkeypatch):
    """It is waited for to the end and not passed by a record: one that hangs looks the same from outside."""
    monkeypatch.setattr(token, "PATIENCE", token.Patience(look_s=0.01))
    lab, told = OllamaLab(), []
    asked = hybrid(parallel=1, fallback="none")
    lab.up(asked)
    waits = threading.Event()

    def post(_url, _body, *, timeout_s, api_key=None):
        waits.wait(30)
        return HttpReply(0, error="timed out")

    def heard(event):
        text = getattr(event, "text", "")
        if "does not tell" in text:
            told.append(text)
            waits.set()

    monkeypatch.setattr(lab.http, "post", post)
    (report,) = check(lab.stack(asked), (), lab.ports(), lab.options, Scope(), heard).models
    assert told[0] == "asking for one token; whether Ollama serves others meanwhile it does not tell"
    assert (report.state, api(report).text) == (State.FAILED, "timed out")
    assert api(report).hint.startswith("It serves others for so long, or hangs")

"""Models of an Ollama server in odd states: what `ps` tells by inspect is what `check` finds, the second time too."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from homellm.deploy.check import check
from homellm.deploy.down import down
from homellm.deploy.ps import ps
from homellm.deploy.record import PATH
from homellm.deploy.scope import Scope
from homellm.domain.stack import Source
from homellm.domain.verdicts import State
from homellm.errors import ExitCode
from tests.unit.deploy.lab import IMAGE
from tests.unit.deploy.ollama_lab import MOVED, SERVER, OllamaLab, hybrid, lab_on

HYBRID = hybrid(image=IMAGE)
PLAIN = hybrid(name="plain", source=Source("ollama", "plain"), port=None)
BOTH = (HYBRID, PLAIN)


def checked(lab, *models):
    found = check(lab.stack(*(models or BOTH)), (), lab.ports(), lab.options, Scope(), lambda _event: None)
    return {model.name: model for model in found.models}


def listed(lab, *models):
    return {model.name: model for model in ps(lab.stack(*(models or BOTH)), lab.ports()).models}


def states(reports):
    return {name: report.state for name, report in reports.items()}


def not_passed(report):
    return {v.id: v.verdict for v in report.checks if v.verdict != "pass"}


def came_back(lab):
    """The server's process ends by itself, and the engine starts it again."""
    lab.state.crash(SERVER, 137)
    lab.state.clock.advance_to(lab.state.clock.elapsed_us + 120_000_000)
    lab.state.settle()
    assert lab.state.by_name(SERVER).status == "running"


@pytest.fixture
def lab():
    """The hybrid has moved, and the plain one is on Ollama."""
    lab = lab_on("llama-server")
    reports = lab.up(*BOTH).models
    assert [(one.state, one.runner) for one in reports] == [
        (State.VERIFIED, "llama-server"),
        (State.VERIFIED, "ollama"),
    ]
    return lab


class TestAbsent:
    def test_before_the_first_up(self):
        lab = lab_on("llama-server")
        found = checked(lab)
        assert states(listed(lab)) == states(found) == {"hybrid": State.ABSENT, "plain": State.ABSENT}
        assert {report.exit_code for report in found.values()} == {ExitCode.REFUSED}
        (problem,) = found["plain"].problems
        assert (problem.id, problem.message) == ("not-running", "there is no container of the Ollama server main")
        assert problem.hint == "Start it: homellm up plain"

    def test_one_that_had_moved_and_was_taken_down(self, lab):
        down("nuc", lab.ports(), lab.options, Scope(), lambda _event: None, ("hybrid",), ("hybrid", "plain"))
        shown, found = listed(lab), checked(lab)
        assert states(shown) == states(found) == {"hybrid": State.ABSENT, "plain": State.VERIFIED}
        assert (shown["hybrid"].container, shown["hybrid"].fallback) == (None, None)
        assert found["hybrid"].exit_code == ExitCode.REFUSED
        assert "has moved from Ollama to llama-server" in found["hybrid"].problems[0].message
        assert lab.up(*BOTH).models[0].runner == "llama-server"
        assert states(listed(lab)) == states(checked(lab)) == {"hybrid": State.VERIFIED, "plain": State.VERIFIED}

    def test_the_same_with_its_ollama_gone_as_well(self, lab):
        for name in (MOVED, SERVER):
            lab.state.vanish(name)
        assert states(listed(lab)) == states(checked(lab)) == {"hybrid": State.ABSENT, "plain": State.ABSENT}

    def test_one_that_went_back_to_ollama_is_there_whatever_it_once_moved_to(self, lab):
        stays = replace(HYBRID, fallback="none")
        assert lab.up(stays, PLAIN).models[0].runner == "ollama"
        assert listed(lab, stays, PLAIN)["hybrid"].state is State.DEGRADED
        assert listed(lab)["hybrid"].runner == "ollama"  # the file forbids nothing any more, and nobody ran `up`


class TestServerCameBack:
    def test_nothing_of_it_is_known_until_it_is_looked_at(self, lab):
        came_back(lab)
        shown = listed(lab)["plain"]
        assert (shown.state, shown.slots) == (State.UNVERIFIED, None)
        assert any("It ended and was started again once" in note for note in shown.notes)

    def test_two_checks_find_the_same_and_ps_after_them(self, lab):
        came_back(lab)
        first, second = checked(lab)["plain"], checked(lab)["plain"]
        assert not_passed(first) == not_passed(second) == {"restarts": "fail"}
        assert (first.state, second.state, listed(lab)["plain"].state) == (State.DEGRADED,) * 3
        assert first.exit_code == second.exit_code == ExitCode.DEGRADED
        assert any("It was not in memory as declared" in note for note in first.notes)
        assert not any("It was not in memory as declared" in note for note in second.notes)

    def test_up_check_and_ps_agree(self, lab):
        came_back(lab)
        found = lab.up(*BOTH).models[1]
        shown = listed(lab)["plain"]
        assert (found.state, shown.state, checked(lab)["plain"].state) == (State.DEGRADED,) * 3
        assert any("homellm restart plain clears the count" in note for note in shown.notes)

    def test_what_a_check_proved_after_a_boot_is_proved(self, lab):
        lab.state.daemon_restart()
        assert listed(lab)["plain"].state is State.UNVERIFIED
        assert [checked(lab)["plain"].state for _ in range(2)] == [State.VERIFIED] * 2
        shown = listed(lab)["plain"]
        assert (shown.state, shown.slots) == (State.VERIFIED, 3)


class TestServerDoesNotServe:
    def test_stopped_by_somebody(self, lab):
        lab.ports().engine.kill(SERVER, "SIGTERM")
        lab.state.settle()
        shown, found = listed(lab), checked(lab)
        assert (shown["plain"].state, shown["plain"].endpoint) == (State.STOPPED, None)
        assert (found["plain"].state, found["plain"].exit_code) == (State.FAILED, ExitCode.REFUSED)
        assert f"{SERVER} does not run" in found["plain"].problems[0].message

    def test_being_started_again(self, lab):
        lab.state.crash(SERVER, 137)
        shown, found = listed(lab)["plain"], checked(lab)["plain"]
        assert (shown.state, found.state) == (State.FAILED, State.FAILED)
        assert shown.problems[0].message == found.problems[0].message
        assert "crashed and is being started again" in shown.problems[0].message

    def test_paused(self, lab):
        lab.state.by_name(SERVER).status = "paused"
        shown, found = listed(lab)["plain"], checked(lab)["plain"]
        assert [p.id for p in shown.problems] == [p.id for p in found.problems] == ["paused"]
        assert (shown.state, found.state) == (State.FAILED, State.FAILED)

    def test_what_it_has_left_is_paused(self, lab):
        lab.state.by_name(SERVER).status = "paused"
        shown, found = listed(lab)["hybrid"], checked(lab)["hybrid"]
        assert (shown.state, found.state) == (State.DEGRADED, State.DEGRADED)
        assert [p.id for p in shown.problems] == [p.id for p in found.problems] == ["paused"]
        assert shown.problems[0].hint == found.problems[0].hint == f"Let it go on: docker unpause {SERVER}"

    @pytest.mark.parametrize("ollama", ["running", "paused"])
    def test_what_it_has_moved_to_is_paused(self, lab, ollama):
        lab.state.by_name(MOVED).status = "paused"
        lab.state.by_name(SERVER).status = ollama
        shown, found = listed(lab)["hybrid"], checked(lab)["hybrid"]
        assert (shown.state, found.state) == (State.FAILED, State.FAILED)
        assert {p.id for p in (*shown.problems, *found.problems)} == {"paused"}
        for name in (MOVED, SERVER):
            lab.state.by_name(name).status = "running"
        assert listed(lab)["hybrid"].state is State.VERIFIED  # nothing of its record was lost by looking

    def test_one_that_has_moved_serves_on_and_the_stack_is_not_as_declared(self, lab):
        lab.ports().engine.kill(SERVER, "SIGTERM")
        lab.state.settle()
        shown, found = listed(lab)["hybrid"], checked(lab)["hybrid"]
        assert (shown.state, found.state) == (State.DEGRADED, State.DEGRADED)
        assert (found.runner, found.container, found.exit_code) == ("llama-server", MOVED, ExitCode.DEGRADED)
        assert {v.id: v.observed for v in found.checks}["slots"] == 3
        assert not_passed(found) == {"declaration": "unknown"}
        assert [p.id for p in shown.problems] == [p.id for p in found.problems] == ["not-running"]
        assert found.fallback == shown.fallback
        assert lab.up(*BOTH).exit_code == ExitCode.OK
        assert states(checked(lab)) == {"hybrid": State.VERIFIED, "plain": State.VERIFIED}


class TestNotInMemory:
    def test_one_that_a_client_loaded_with_its_own_context(self, lab):
        memory = next(iter(lab.ollamas.in_memory.values()))
        (digest,) = memory
        memory[digest] = replace(memory[digest], ctx=2048)
        first, second = checked(lab)["plain"], checked(lab)["plain"]
        assert not_passed(first) == not_passed(second) == {}
        assert any("It was not in memory as declared" in note for note in first.notes)

    def test_one_that_gets_another_context_than_it_asks_for_is_there_all_the_same(self, lab):
        """A model that was trained on less, say: nothing became of it by being looked at."""
        short = replace(PLAIN, ctx=256)
        for _ in range(2):
            found = checked(lab, HYBRID, short)["plain"]
            assert ({v.id: v.observed for v in found.checks}["ctx"], found.notes) == (512, ())

    def test_one_that_ollama_cannot_load_fails_both_times_with_the_reason(self, lab):
        next(iter(lab.ollamas.in_memory.values())).clear()
        lab.ollamas.dies = True
        for _ in range(2):
            found = checked(lab)["plain"]
            assert (found.state, found.exit_code, found.container) == (State.FAILED, ExitCode.REFUSED, SERVER)
            assert "signal: killed" in found.problems[0].message

    def test_one_whose_load_nobody_knows_any_more_is_not_taken_from_its_clients(self, lab):
        server, loads = lab.state.by_name(SERVER), len(lab.loads())
        server.log.clear()
        server.files.clear()
        for _ in range(2):
            assert not_passed(checked(lab, PLAIN)["plain"]) == {"slots": "unknown"}
        assert len(lab.loads()) == loads


class TestRecord:
    def test_what_is_proved_again_is_written_once(self, lab):
        lab.up(PLAIN)
        server = lab.state.by_name(SERVER).id
        assert sum(call.method == "put_file" and call.args[0] == server for call in lab.engine.calls) == 1

    def test_what_failed_is_told_with_its_time(self, lab):
        stricter = replace(PLAIN, parallel=2)
        server = lab.state.by_name(SERVER)
        record = json.loads(server.files[PATH])
        record["proofs"]["plain"] |= {
            "state": "failed",
            "gates": [_slots_gate()],
            "seen_at": "2026-12-01T10:00:00+00:00",
        }
        server.files[PATH] = json.dumps(record).encode()
        shown = listed(lab, HYBRID, stricter)["plain"]
        assert (shown.state, [p.id for p in shown.problems]) == (State.FAILED, ["gate-slots"])
        assert "That was found at 2026-12-01T10:00:00+00:00; homellm check plain looks anew." in shown.notes

    @pytest.mark.parametrize("damage", [None, 3, {"plain": {"state": "fine"}}, {"plain": []}])
    def test_one_that_is_damaged_proves_nothing(self, lab, damage):
        server = lab.state.by_name(SERVER)
        server.files[PATH] = json.dumps(json.loads(server.files[PATH]) | {"proofs": damage}).encode()
        assert listed(lab)["plain"].state is State.UNVERIFIED
        assert checked(lab)["plain"].state is listed(lab)["plain"].state is State.VERIFIED


def _slots_gate():
    return {"id": "slots", "asked": 3, "observed": 1, "verdict": "fail", "source": "log", "hint": "", "gate": True}


def test_an_ollama_of_somebody_else_is_never_proved_by_a_record():
    lab = OllamaLab()
    lab.up(*BOTH)
    lab.server = replace(lab.server, url="http://127.0.0.1:11434", store=None)
    checked(lab, PLAIN)
    assert listed(lab, PLAIN)["plain"].state is State.UNVERIFIED

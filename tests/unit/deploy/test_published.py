"""A server that answers inside Docker and not where it is published does not serve those to whom it is declared."""

from __future__ import annotations

from dataclasses import replace

import pytest

from homellm.deploy import ollama_server, published
from homellm.deploy.check import check
from homellm.deploy.scope import Scope
from homellm.deploy.session import Options
from homellm.deploy.witness import base_urls
from homellm.domain.verdicts import State
from homellm.domain.world import Container
from tests.unit.deploy.lab import NAME, PORT, Lab, model
from tests.unit.deploy.ollama_lab import SERVER, OllamaLab, hybrid


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """What does not answer will not answer."""
    monkeypatch.setattr(published, "SETTLE_S", 0.0)
    monkeypatch.setattr(ollama_server, "SETTLE_S", 0.0)


def only(report):
    (found,) = report.models
    return found


def look(lab, *models):
    return only(check(lab.stack(*models), (), lab.ports(), Options(), Scope(), lab.events.append))


def inside(lab, name=NAME):
    container = lab.engine.find_container(name)
    (address,) = container.addresses.values()
    return address


def test_check_fails_by_the_dead_port_and_by_nothing_else():
    lab = Lab()
    lab.up()
    lab.http.dead.add(PORT)
    report = look(lab)
    assert (report.state, report.exit_code) == (State.FAILED, 4)
    (failed,) = [one for one in report.checks if one.verdict == "fail"]
    assert (failed.id, failed.verdict) == ("api", "fail")
    assert failed.text == f"answers inside Docker at {inside(lab)}:8080, and not at 127.0.0.1:{PORT}"
    assert f"docker restart {NAME}" in failed.hint
    assert "iptables" in failed.hint


def test_an_up_with_nothing_to_do_fails_too():
    lab = Lab()
    lab.up()
    lab.http.dead.add(PORT)
    report = only(lab.up())
    assert (report.state, report.changed) == (State.FAILED, False)
    assert f"and not at 127.0.0.1:{PORT}" in report.problems[0].message


def test_a_successor_behind_a_dead_port_is_undone():
    lab = Lab()
    lab.up(model(ctx=2048))
    lab.http.dead.add(PORT + 1)
    report = only(lab.up(model(ctx=2048, port=PORT + 1)))
    assert report.state is State.FAILED
    assert f"and not at 127.0.0.1:{PORT + 1}" in report.problems[0].message
    assert lab.state.names() == {NAME: "running", f"{NAME}.failed": "exited"}
    assert lab.engine.find_container(NAME).ports == (("127.0.0.1", PORT, 8080),)


def test_what_cannot_reach_published_ports_goes_by_the_containers_own_address():
    lab = Lab()
    lab.host.beside = False
    lab.http.dead.add(PORT)
    assert only(lab.up()).state is State.VERIFIED
    assert look(lab).state is State.VERIFIED


def test_a_model_without_a_port_is_reached_inside_alone():
    lab = Lab()
    assert only(lab.up(model(port=None))).state is State.VERIFIED


def test_a_port_that_answers_a_moment_after_the_log_is_waited_for(monkeypatch):
    lab = Lab()
    monkeypatch.setattr(published, "SETTLE_S", 60.0)
    monkeypatch.setattr(published, "PAUSE_S", 0.0)
    lab.http.dead.add(PORT)
    asked = []

    def opens(container, path, reply):
        asked.append(path)
        if asked.count("/health") > 1:
            lab.http.dead.clear()
        return reply

    lab.http.twist = opens
    assert only(lab.up()).state is State.VERIFIED


def test_the_loopback_of_the_family_stands_for_a_wildcard():
    # What Docker publishes on :: takes no IPv4 (seen by running on Engine 20.10).
    container = Container("c", "n", "i", "i", "running", ports=(("0.0.0.0", 1, 8080), ("::", 2, 8080)))
    assert base_urls(container) == ("http://127.0.0.1:1", "http://[::1]:2")
    own = replace(container, ports=(("192.168.1.5", 1, 8080), ("fd00::5", 2, 8080)), addresses={"n": "172.18.0.2"})
    assert base_urls(own) == ("http://192.168.1.5:1", "http://[fd00::5]:2", "http://172.18.0.2:8080")


class TestOllama:
    def test_up_of_a_server_behind_a_dead_port_fails(self):
        lab = OllamaLab()
        lab.ollamas.dead.add(11434)
        report = only(lab.up(hybrid(parallel=1)))
        assert report.state is State.FAILED
        (problem,) = report.problems
        assert problem.id == "port-dead"
        assert problem.message.endswith("and not at 127.0.0.1:11434")

    def test_check_says_where_it_does_not_answer(self):
        lab = OllamaLab()
        lab.up(hybrid(parallel=1))
        lab.ollamas.dead.add(11434)
        report = look(lab, hybrid(parallel=1))
        assert report.state is State.FAILED
        assert report.problems[0].message == (
            f"the Ollama server main answers inside Docker at {inside(lab, SERVER)}:11434, and not at 127.0.0.1:11434"
        )
        assert f"docker restart {SERVER}" in report.problems[0].hint

    def test_from_a_container_of_its_own_it_is_verified(self):
        lab = OllamaLab()
        lab.host.beside = False
        lab.ollamas.dead.add(11434)
        assert only(lab.up(hybrid(parallel=1))).state is State.VERIFIED

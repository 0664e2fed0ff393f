"""An Ollama from systemd on the port of one of ours: found before anything is created, with the ways out."""

from pathlib import Path

import pytest

from homellm.domain.world import Host, Listener
from homellm.loading import load
from homellm.planning.ports import port_problem

TEXT = "stack: nuc\nollama:\n  main:\n    port: 11434\nmodels:\n  a: {source: ollama:a}\n"
SERVER = load(Path("/srv/homellm.yaml"), TEXT, {}).ollama[0]


@pytest.mark.parametrize(
    ("address", "url"), [("127.0.0.1", "http://127.0.0.1:11434"), ("::", "http://127.0.0.1:11434")]
)
def test_the_service_can_be_used_stopped_or_avoided(address, url):
    host = Host(listeners=(Listener(address, 11434, pid=812, process="ollama", user="ollama", unit="ollama.service"),))
    problem = port_problem(SERVER, (), (), host)
    assert problem.id == "port-taken"
    assert "ollama (pid 812, ollama.service)" in problem.message
    assert f"url: {url}, with log_from: journal" in problem.hint
    assert "sudo systemctl disable --now ollama.service" in problem.hint
    assert "give main another port" in problem.hint
    assert (problem.line, problem.model) == (4, None)


def test_another_program_cannot_be_used_as_ollama():
    host = Host(listeners=(Listener("127.0.0.1", 11434, pid=1, process="nginx"),))
    assert "url:" not in port_problem(SERVER, (), (), host).hint


def test_its_own_container_is_no_obstacle():
    assert port_problem(SERVER, ("nuc-main",), (("127.0.0.1", 11434, "nuc-main"),), Host()) is None
    assert port_problem(SERVER, ("nuc-main",), (("0.0.0.0", 11434, "other"),), Host()).id == "port-taken"

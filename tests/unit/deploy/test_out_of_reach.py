"""A model that moves away from Ollama's port, and has none of its own: people have to know where it is now."""

from __future__ import annotations

from homellm.domain.stack import OllamaServer
from homellm.domain.verdicts import State
from homellm.report.tables import up_table
from tests.unit.deploy.ollama_lab import OLLAMA, OllamaLab, hybrid, lab_on

TYPE = "To reach it from this machine give hybrid a `port` of its own in the stack file, and run homellm up."
AGAIN = "A client that still asks http://127.0.0.1:11434 makes Ollama load it again, with fewer slots."
NETWORK = "It is reached in the network homellm-nuc alone, at http://hybrid:8080/v1."


def notes(lab, **changes):
    report = lab.up(hybrid(**changes))
    (found,) = report.models
    assert (found.state, found.runner) == (State.VERIFIED, "llama-server")
    for note in found.notes:
        assert note in up_table(report)
    return found.notes


def test_up_says_so_and_what_to_type():
    lab = lab_on("llama-server")
    for _ in range(2):
        assert notes(lab, port=None) == (f"{NETWORK} {AGAIN} {TYPE}",)


def test_with_a_port_there_is_nothing_to_say():
    assert notes(lab_on("bundled")) == ()


def test_one_that_stays_on_ollama_is_reached_as_before():
    lab = OllamaLab()
    lab.server = OllamaServer("main", OLLAMA, port=11434, store=lab.server.store)
    lab.ollamas.refused = frozenset()
    (found,) = lab.up(hybrid(port=None)).models
    assert (found.runner, found.notes) == ("ollama", ())

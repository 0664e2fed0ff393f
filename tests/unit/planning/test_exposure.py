"""What a stack file leaves open, told before it runs."""

from pathlib import Path

import pytest

from homellm.errors import ExitCode
from homellm.loading import load
from homellm.planning.doctor import diagnose
from homellm.planning.exposure import exposure_advice
from tests.unit.planning.build import world

BRIDGES = frozenset({"172.17.0.1"})


def stack(text):
    return load(Path("/srv/homellm.yaml"), f"stack: nuc\n{text}", {})


@pytest.mark.parametrize(
    ("keys", "says"),
    [
        ("port: 80", None),
        ("port: 80, bind: '::1'", None),
        ("bind: 0.0.0.0", None),
        ("port: 80, bind: 0.0.0.0, api_key: abc", None),
        ("port: 80, bind: 0.0.0.0", "everybody who reaches this machine can use it"),
        ("port: 80, bind: '::'", "everybody who reaches this machine can use it"),
        ("port: 80, bind: 172.17.0.1", None),
        ("port: 80, bind: 192.168.1.5", "everybody who reaches 192.168.1.5 can use it"),
    ],
)
def test_a_model_that_others_reach_and_that_asks_for_no_key(keys, says):
    found = exposure_advice(stack(f"models:\n  a: {{source: 'gguf:./a', {keys}}}\n"), BRIDGES)
    assert [one.message.rpartition(": ")[2] for one in found] == ([says] if says else [])
    assert all((one.id, one.exit_code, one.model, one.line) == ("exposure", ExitCode.OK, "a", 3) for one in found)


def test_an_ollama_knows_no_key():
    text = "defaults: {bind: 10.0.0.2}\nollama:\n  main: {port: 11434}\nmodels:\n  a: {source: 'ollama:a', port: 80}\n"
    (found,) = exposure_advice(stack(text), BRIDGES)
    assert "Ollama main is published on 10.0.0.2, and it knows no key" in found.message
    assert "api_key" not in found.hint
    assert "a proxy that asks for a key" in found.hint


def test_an_ollama_that_is_not_ours_is_its_owners_affair():
    text = "ollama:\n  main: {url: 'http://10.0.0.2:11434'}\nmodels:\n  a: {source: 'ollama:a'}\n"
    assert exposure_advice(stack(text), BRIDGES) == ()


def test_doctor_tells_it_and_is_stopped_by_nothing():
    here = world()
    open_to_all = stack("models:\n  a: {source: 'gguf:./a', port: 80, bind: 10.0.0.2}\n")
    found = diagnose(open_to_all, here.host, here.engine, ())
    assert "exposure" in {one.id for one in found.advice}
    assert found.stopping == ()

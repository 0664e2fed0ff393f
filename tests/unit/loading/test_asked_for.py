"""Which variables of the environment a stack file depends on, however YAML spells their names."""

from __future__ import annotations

from pathlib import Path

import pytest

from homellm.loading.loader import load

FILE = Path("/srv/homellm.yaml")
NEVER_ASKED = {"HOME": "/root", "OTHER": "x"}


@pytest.mark.parametrize(
    ("value", "names"),
    [
        ('"${P:-2}"', {"P"}),
        (r'"\x24{P:-2}"', {"P"}),
        (r'"\u0024P"', {"P"}),
        (r'"${\x42RKPAR:-2}"', {"BRKPAR"}),
        ('"${BRK\\\n      PAR:-2}"', {"BRKPAR"}),
        ('"${P:-${Q:-2}}"', {"P", "Q"}),
        ('"$$2"', set()),
        ("2", set()),
    ],
)
def test_each_that_was_asked_for_is_told(value: str, names: set[str]) -> None:
    text = f"stack: nuc\nmodels:\n  m:\n    source: gguf:/m.gguf\n    image: x\n    env:\n      A: {value}\n"
    stack = load(FILE, text, {**NEVER_ASKED, "P": "3"} if "\\u0024P" in value else NEVER_ASKED)
    assert stack.variables - {"HOME"} == names


def test_what_stands_behind_one_that_is_set_does_not_matter() -> None:
    text = 'stack: nuc\nmodels: {m: {source: "gguf:/m.gguf", image: x, env: {A: "${P:-${Q}}"}}}\n'
    assert load(FILE, text, {**NEVER_ASKED, "P": "3"}).variables - {"HOME"} == {"P"}

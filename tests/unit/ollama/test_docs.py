"""docs/ollama.md says what the code does: families, parameters, states of the store, rungs."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args

from homellm.domain.ollama import PULL_CURES, StoredState
from homellm.domain.ollama_families import LAST_WITHOUT_MULTIMODAL, REFUSED_SINCE
from homellm.loading import load
from homellm.planning.ladder import FALLBACKS
from homellm.runners.ollama_fallback import BUNDLED_PROGRAM, PARAMETER_FLAGS

ROOT = Path(__file__).parents[3]
TEXT = (ROOT / "docs" / "ollama.md").read_text(encoding="utf-8")
ROWS = [[cell.strip() for cell in line.strip("|").split("|")] for line in TEXT.splitlines() if line.startswith("|")]


def test_the_families_and_since_when() -> None:
    told = {
        name: tuple(int(part) for part in row[1].split("."))
        for row in ROWS
        if len(row) == 2 and re.fullmatch(r"[\d.]+", row[1])
        for name in row[0].split(", ")
    }
    assert told == REFUSED_SINCE
    assert f"until {'.'.join(map(str, LAST_WITHOUT_MULTIMODAL))}" in TEXT


def test_every_parameter_that_becomes_a_flag() -> None:
    section = TEXT.partition("become flags:")[2].partition("`num_batch`")[0]
    assert re.findall(r"`(\w+)`", section) == list(PARAMETER_FLAGS)


def test_every_state_of_a_stored_model_and_whether_a_pull_helps() -> None:
    rows = [row for row in ROWS if len(row) == 3 and row[0].startswith("`")]
    told = {name: row[2] for row in rows for name in re.findall(r"`([a-z-]+)`", row[0])}
    states = set(get_args(StoredState)) - {"ok"}
    assert states <= set(told)
    assert {state for state in states if told[state].startswith("pull")} == set(PULL_CURES) - {"unreadable"}


def test_the_rungs_in_their_order() -> None:
    rungs = [row[0].strip("`") for row in ROWS if row[0].strip("`") in (*FALLBACKS, "ollama")]
    assert rungs == [*FALLBACKS, "ollama"]
    assert BUNDLED_PROGRAM in TEXT


def test_the_example_loads() -> None:
    text = re.findall(r"```yaml\n(.*?)```", TEXT, re.DOTALL)[0]
    stack = load(ROOT / "homellm.yaml", text, {})
    assert stack.models_on(stack.ollama[0]) == stack.models


def test_the_stack_of_the_story() -> None:
    path = ROOT / "stacks" / "ollama-fallback.yaml"
    stack = load(path, path.read_text(encoding="utf-8"), {})
    assert [model.parallel for model in stack.models_on(stack.ollama[0])] == [3, 3]
    assert stack.models[0].port != stack.ollama[0].port

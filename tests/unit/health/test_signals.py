"""One line, one meaning: the lines of the fact sheet and of the cases, in old words and new ones."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from homellm.health.signals import read_line

from . import logs
from .lines import FACTS, NOTHING, PROBLEMS


@pytest.mark.parametrize(("id", "line"), PROBLEMS)
def test_a_problem_is_read_and_says_what_to_do(id: str, line: str) -> None:
    signal = read_line(line)
    assert signal is not None
    assert (signal.id, signal.problem) == (id, True)
    assert signal.line
    assert signal.line in line
    assert len(signal.hint) > 30


@pytest.mark.parametrize(("id", "facts", "line"), FACTS)
def test_a_fact_is_read(id: str, facts: dict[str, object], line: str) -> None:
    signal = read_line(line)
    assert signal is not None
    assert (signal.id, signal.problem) == (id, False)
    assert {key: signal.facts.get(key) for key in facts} == facts


@pytest.mark.parametrize("line", NOTHING)
def test_a_line_that_means_nothing_means_nothing(line: str) -> None:
    assert read_line(line) is None


def test_the_amx_note_alone_is_no_problem() -> None:
    signal = read_line("AMX is not ready to be used!")
    assert signal is not None
    assert not signal.problem


@pytest.mark.parametrize(
    "id",
    [
        "flag-unknown",
        "flag-deprecated",
        "model-missing",
        "model-unreadable",
        "model-corrupt",
        "not-gguf",
        "arch-unknown",
        "blob-incompatible",
        "projector-mismatch",
        "projector-broken",
        "mlock-failed",
        "no-gpu",
        "cpu-device",
        "out-of-memory",
        "port-in-use",
        "ctx-capped",
        "ctx-shrunk",
        "fit-aborted",
        "kv-exhausted",
        "cache-reuse-off",
        "prompt-cache-lost",
        "reasoning-preserve-off",
        "flash-attn-required",
        "no-auth",
        "driver-mismatch",
        "cpu-unsupported",
        "setting-invalid",
        "parallel-refused",
        "igpu-dropped",
        "model-too-large",
        "load-timeout",
        "server-crashed",
    ],
)
def test_every_documented_problem_has_a_line(id: str) -> None:
    assert id in {known for known, _ in PROBLEMS}


@pytest.mark.parametrize(
    "line", [line for _, line in PROBLEMS if not line.startswith(("mllama", "multimodal", "time="))]
)
def test_a_problem_is_the_same_behind_every_prefix(line: str) -> None:
    bare = read_line(line)
    assert bare is not None
    for prefix in ("2026-11-30T12:03:41.123456789Z ", "lfm2.5-1  | ", "Nov 30 12:03:41 nuc docker[4711]: "):
        behind = read_line(prefix + line)
        assert behind is not None
        assert (behind.id, behind.line, behind.hint) == (bare.id, bare.line, bare.hint)


@given(st.text(max_size=400))
def test_reading_never_fails(text: str) -> None:
    read_line(text)


WORDS = st.sampled_from([line for _, line in PROBLEMS] + [line for _, _, line in FACTS])


@given(WORDS, WORDS, st.integers(0, 200), st.text(max_size=20))
def test_reading_never_fails_on_broken_lines_of_servers(one: str, other: str, cut: int, between: str) -> None:
    signal = read_line(one[:cut] + between + other[cut:])
    assert signal is None or signal.id


@pytest.mark.parametrize("name", logs.NAMES)
def test_no_rule_asks_for_a_certain_digit(name: str) -> None:
    """The reader remembers lines by their shape, every digit 0: whether a line means anything may not depend on it."""
    for digit in "17":  # with zeros in front the numbers of a JSON line would be none
        other = str.maketrans("0123456789", digit * 10)
        for line in logs.data(name).decode("utf-8", "replace").splitlines():
            assert (read_line(line) is None) == (read_line(line.translate(other)) is None), line

"""Every setting of an Ollama server is proved by a check or called unverifiable, and owns what it says."""

from __future__ import annotations

from homellm.domain.ollama_settings import OLLAMA_SETTINGS, owner_of_ollama_env


def test_every_row_has_a_check_and_a_reason() -> None:
    assert [row.key for row in OLLAMA_SETTINGS if not row.check or not row.because] == []


def test_a_row_owns_its_variable() -> None:
    assert [row.key for row in OLLAMA_SETTINGS if row.env and row.env not in row.owned] == []


def test_no_variable_has_two_owners() -> None:
    owned = [name for row in OLLAMA_SETTINGS for name in row.owned]
    assert len(owned) == len(set(owned))


def test_variables_of_the_key_and_free_ones() -> None:
    owner = owner_of_ollama_env("OLLAMA_NUM_PARALLEL")
    assert owner is not None
    assert owner.key == "parallel"
    assert owner_of_ollama_env("OLLAMA_DEBUG") is None

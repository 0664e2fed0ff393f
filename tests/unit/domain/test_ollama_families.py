"""The list of refused families, held against what releases of Ollama did."""

from __future__ import annotations

import pytest

from homellm.domain.ollama_families import REFUSED_SINCE, parse_version, predicted_refusal


@pytest.mark.parametrize(
    ("version", "family", "refused"),
    [
        ("0.33.0", "lfm2", True),  # run
        ("0.33.0-rc2", "lfm2", True),  # run
        ("0.24.0", "lfm2", True),  # run
        ("0.12.6", "lfm2", False),  # run
        ("0.15.4", "lfm2", False),
        ("0.15.5", "lfm2", True),
        ("0.17.0", "qwen35moe", False),
        ("0.17.1", "qwen35moe", True),
        ("0.21.2", "nemotron_h_omni", False),
        ("0.22.0", "nemotron_h_omni", True),
        ("0.33.0", "llama", False),
        ("0.33.0", "granitehybrid", False),
        ("0.33.0", "", False),
        ("0.0.0", "lfm2", True),  # a build of one's own
        ("unknown", "lfm2", True),
    ],
)
def test_a_family_is_refused_since_its_release(version: str, family: str, refused: bool) -> None:
    assert predicted_refusal(version, family) == (family if refused else None)


def test_old_releases_refuse_every_projector() -> None:
    assert predicted_refusal("0.3.14", "llama", projector=True) == "multimodal"
    assert predicted_refusal("0.3.14", "llama") is None
    assert predicted_refusal("0.4.1", "llama", projector=True) is None


def test_all_families_counted_until_0_12_6() -> None:
    assert predicted_refusal("0.12.6", "llama", ("llama", "mllama")) == "mllama"
    assert predicted_refusal("0.12.7", "llama", ("llama", "mllama")) is None


def test_the_list_is_that_of_the_newest_release() -> None:
    newest = (
        "mllama qwen3vl qwen3vlmoe qwen35 qwen35moe qwen3next lfm2 lfm2moe nemotron_h nemotron_h_moe nemotron_h_omni"
    )
    assert set(REFUSED_SINCE) == set(newest.split())


@pytest.mark.parametrize(
    ("text", "numbers"),
    [("0.33.0-rc2", (0, 33, 0)), ("v0.5.13", (0, 5, 13)), ("0.3", (0, 3, 0)), ("main", None), ("", None)],
)
def test_versions_are_read(text: str, numbers: tuple[int, ...] | None) -> None:
    assert parse_version(text) == numbers

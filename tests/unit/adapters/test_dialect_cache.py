"""The cache of dialects: whatever happens to its files, it answers or keeps silent."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from homellm.adapters.dialect_cache import DialectCache

IMAGE = "sha256:" + "ab" * 32


def test_what_was_put_is_got_by_another_instance(tmp_path: Path) -> None:
    DialectCache(tmp_path / "dialects").put(IMAGE, "version: 0.7.0 (build 11669, commit Debian)", "--alias é\n")
    assert DialectCache(tmp_path / "dialects").get(IMAGE) == (
        "version: 0.7.0 (build 11669, commit Debian)",
        "--alias é\n",
    )
    assert [path.name for path in (tmp_path / "dialects").iterdir()] == [f"{IMAGE}.json"]


def test_an_image_that_is_not_known(tmp_path: Path) -> None:
    assert DialectCache(tmp_path).get(IMAGE) is None


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "null",
        '{"format": 1}',
        '{"format": 1, "version": 3, "help": "x"}',
        '{"format": 1, "version": "x", "help": null}',
        '{"format": 99, "version": "x", "help": "y"}',
        "[" * 100_000,
        "\udcff",
    ],
)
def test_a_corrupt_entry_is_no_entry_and_is_replaced(tmp_path: Path, text: str) -> None:
    (tmp_path / f"{IMAGE}.json").write_bytes(text.encode(errors="surrogateescape"))
    cache = DialectCache(tmp_path)
    assert cache.get(IMAGE) is None
    cache.put(IMAGE, "v", "h")
    assert cache.get(IMAGE) == ("v", "h")


def test_a_file_far_too_large_is_no_entry(tmp_path: Path) -> None:
    entry = json.dumps({"format": 1, "version": "v", "help": "x" * 5_000_000})
    (tmp_path / f"{IMAGE}.json").write_text(entry)
    assert DialectCache(tmp_path).get(IMAGE) is None


def test_a_directory_that_cannot_be_is_ignored(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no directory")
    cache = DialectCache(tmp_path / "file" / "dialects")
    cache.put(IMAGE, "v", "h")
    assert cache.get(IMAGE) is None


def test_an_entry_that_cannot_be_replaced_leaves_nothing_behind(tmp_path: Path) -> None:
    (tmp_path / f"{IMAGE}.json").mkdir()
    cache = DialectCache(tmp_path)
    cache.put(IMAGE, "v", "h")
    assert cache.get(IMAGE) is None
    assert [path.name for path in tmp_path.iterdir()] == [f"{IMAGE}.json"]


@pytest.mark.parametrize("image_id", ["", "../up", "a/b", ".hidden", "x" * 300, "a\0b"])
def test_what_is_no_image_id_never_becomes_a_path(tmp_path: Path, image_id: str) -> None:
    cache = DialectCache(tmp_path / "dialects")
    cache.put(image_id, "v", "h")
    assert cache.get(image_id) is None
    assert list(tmp_path.iterdir()) == []

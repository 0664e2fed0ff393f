"""What is kept, for whom, and how much of it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from homellm.unchanged import call, store
from homellm.unchanged.keep import begin
from tests.unit.unchanged.scene import PRINTED, Scene


def test_an_ordinary_up_forgets_first(scene: Scene) -> None:
    assert scene.keep()
    begin(scene.argv, scene.environ, scene.stdout, scene.file)
    assert scene.confirm() is None


def test_of_a_stack_file_that_is_no_plain_file_nothing_is_kept(scene: Scene) -> None:
    scene.file.unlink()
    os.mkfifo(scene.file)
    assert begin(scene.argv, scene.environ, scene.stdout, scene.file) is None


def test_a_folder_that_cannot_be_written_is_no_error(scene: Scene) -> None:
    scene.environ["XDG_CACHE_HOME"] = str(scene.model_file)
    assert scene.keep() is True
    assert scene.confirm() is None


def test_what_is_kept_is_for_this_user_alone_and_bounded(scene: Scene) -> None:
    folder = scene.folder / "cache" / "homellm" / "unchanged"
    folder.mkdir(parents=True)
    for number in range(70):
        old = folder / f"{number:064x}.json"
        old.write_text("{}")
        os.utime(old, (number, number))
    assert scene.keep()
    kept = sorted(path.name for path in folder.iterdir())
    assert len(kept) == 50
    assert f"{21:064x}.json" in kept
    assert f"{20:064x}.json" not in kept
    assert scene.confirm() == PRINTED
    key = call.key(scene.argv, scene.environ, scene.stdout)
    assert (folder / f"{key}.json").stat().st_mode & 0o777 == 0o600


def test_what_is_not_of_its_making_stays(scene: Scene) -> None:
    """Whatever the folder turns out to be."""
    folder = scene.folder / "cache" / "homellm" / "unchanged"
    folder.mkdir(parents=True, mode=0o700)
    names = [f"{number:03}.json" for number in range(40)]
    names += [f"{number:064x}" for number in range(20)] + [f"{number:063x}Z.json" for number in range(20)]
    for name in (*names, ".tmp-of-another"):
        (folder / name).write_text("keep me")
    (folder / ("0" * 64 + ".json")).mkdir()
    assert scene.keep()
    assert len(list(folder.iterdir())) == len(names) + 3


@pytest.mark.parametrize("how", ["link", "others may write"])
def test_a_folder_that_is_not_its_own_is_left_alone(scene: Scene, tmp_path: Path, how: str) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    for number in range(60):
        (elsewhere / f"{number:064x}.json").write_text("keep me")
    folder = scene.folder / "cache" / "homellm" / "unchanged"
    folder.parent.mkdir(parents=True)
    if how == "link":
        folder.symlink_to(elsewhere)
    else:
        elsewhere.rename(folder)
        folder.chmod(0o777)
    assert scene.keep()
    assert scene.confirm() is None
    assert {path.read_text() for path in folder.iterdir()} == {"keep me"}
    assert len(list(folder.iterdir())) == 60


def test_what_is_too_large_is_not_kept(scene: Scene) -> None:
    scene.printed = b"x" * 2**20
    scene.keep()
    assert list((scene.folder / "cache").rglob("*.json")) == []


def test_values_of_variables_are_not_kept(scene: Scene) -> None:
    scene.environ |= {"A_VALUE": "s3cret-value", "HF_TOKEN": "hf_s3cret"}
    assert scene.keep()
    text = scene.kept.read_text()
    assert "s3cret" not in text
    assert "A_VALUE" in text


def test_a_store_that_is_not_there_has_nothing(tmp_path: Path) -> None:
    assert store.read(str(tmp_path / "none.json")) is None
    store.forget(str(tmp_path / "none.json"))

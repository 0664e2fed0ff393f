"""Links as people have them; that a container can follow them is shown in tests/engine/test_linked_weights.py."""

import pytest

from homellm.adapters.file_links import link_folders
from homellm.adapters.gguf_files import GgufFiles


@pytest.fixture
def root(tmp_path):
    real = tmp_path.resolve()
    for name in ("blobs", "snapshots/abc", "data", "hop"):
        (real / name).mkdir(parents=True)
    (real / "blobs" / "sha").write_bytes(b"GGUF")
    return real


def folders(root, *names):
    return tuple(str(root / name) for name in names)


def test_a_plain_file_needs_no_folder_but_its_own(root):
    assert link_folders([root / "blobs" / "sha"]) == ()
    assert GgufFiles().look(root / "blobs" / "sha").link_folders == ()


def test_a_relative_link_as_in_the_cache_of_hugging_face(root):
    (root / "snapshots/abc/m.gguf").symlink_to("../../blobs/sha")
    assert link_folders([root / "snapshots/abc/m.gguf"]) == folders(root, "snapshots/abc", "blobs")
    assert GgufFiles().look(root / "snapshots/abc/m.gguf").link_folders == folders(root, "snapshots/abc", "blobs")


def test_an_absolute_link_and_a_link_to_a_link(root):
    (root / "hop/m.gguf").symlink_to(root / "blobs/sha")
    (root / "data/m.gguf").symlink_to("../hop/m.gguf")
    assert link_folders([root / "data/m.gguf"]) == folders(root, "data", "hop", "blobs")


def test_a_folder_that_is_a_link_is_named_by_what_it_is(root):
    (root / "models").symlink_to(root / "snapshots/abc")
    (root / "snapshots/abc/m.gguf").symlink_to("../../blobs/sha")
    assert link_folders([root / "models/m.gguf"]) == folders(root, "snapshots/abc", "blobs")


def test_a_plain_file_in_a_linked_folder_is_plain(root):
    (root / "models").symlink_to(root / "blobs")
    assert link_folders([root / "models/sha"]) == ()


def test_a_circle_of_links_ends(root):
    (root / "data/a").symlink_to("b")
    (root / "data/b").symlink_to("a")
    assert link_folders([root / "data/a"]) == folders(root, "data")

"""What stands at a path, for every kind of thing that can stand there."""

from __future__ import annotations

import os
import socket
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from homellm.adapters.gguf_files import GgufFiles
from homellm.domain.world import FileState
from tests.fakes.gguf_bytes import Gguf, T, llama

FILES = GgufFiles()
NOBODY = 65534


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "model.gguf"
    path.write_bytes(llama().whole())
    return path


def test_a_whole_model_is_ok_with_its_weights_and_architecture(model: Path) -> None:
    file = FILES.look(model)
    assert (file.state, file.reason, file.architecture) == ("ok", "", "llama")
    assert file.weights_bytes == sum(tensor.bytes for tensor in llama().tensors)
    assert file.size_bytes == model.stat().st_size
    assert file.needed_bytes is not None
    assert file.needed_bytes <= file.size_bytes
    assert file.header is not None
    assert file.header.layers == 2
    assert file.parts == (str(model),)


def test_a_file_cut_short_tells_both_sizes(model: Path) -> None:
    whole = FILES.look(model)
    assert whole.needed_bytes is not None
    model.write_bytes(model.read_bytes()[: whole.needed_bytes - 1])
    cut = FILES.look(model)
    assert (cut.state, cut.size_bytes, cut.needed_bytes) == ("truncated", whole.needed_bytes - 1, whole.needed_bytes)
    assert str(whole.needed_bytes) in cut.reason
    assert str(whole.needed_bytes - 1) in cut.reason


def test_missing_padding_after_the_last_tensor_is_no_cut(tmp_path: Path) -> None:
    path = tmp_path / "model.gguf"
    file = Gguf({"general.architecture": "llama"}, [T("a.weight", (25,))])
    path.write_bytes(file.whole()[:-28])
    assert FILES.look(path).state == "ok"


def test_a_file_that_ends_inside_its_header(model: Path) -> None:
    model.write_bytes(llama().header()[:500])
    file = FILES.look(model)
    assert (file.state, file.size_bytes, file.needed_bytes) == ("truncated", 500, None)
    assert "500 bytes" in file.reason


def test_a_header_that_lies_is_told_as_damage(tmp_path: Path) -> None:
    path = tmp_path / "model.gguf"
    path.write_bytes(Gguf().header(tensor_count=2**60))
    file = FILES.look(path)
    assert file.state == "not-gguf"
    assert "claims 1152921504606846976 tensors" in file.reason


def test_values_that_no_model_has_are_told_as_damage(tmp_path: Path) -> None:
    path = tmp_path / "model.gguf"
    path.write_bytes(Gguf({"general.architecture": "llama", "llama.block_count": 2**40}).whole())
    file = FILES.look(path)
    assert file.state == "not-gguf"
    assert "block_count is 1099511627776" in file.reason


def test_missing(tmp_path: Path) -> None:
    assert FILES.look(tmp_path / "nowhere.gguf").state == "missing"
    (tmp_path / "file").write_bytes(b"")
    assert FILES.look(tmp_path / "file" / "below-a-file.gguf").state == "missing"


def test_a_folder(tmp_path: Path) -> None:
    assert FILES.look(tmp_path).state == "directory"


def test_a_symbolic_link_is_followed(model: Path, tmp_path: Path) -> None:
    link = tmp_path / "link.gguf"
    link.symlink_to(model)
    assert FILES.look(link).state == "ok"


def test_a_symbolic_link_to_nothing_names_its_target(tmp_path: Path) -> None:
    link = tmp_path / "link.gguf"
    link.symlink_to("../blobs/gone")
    file = FILES.look(link)
    assert file.state == "dangling"
    assert "../blobs/gone, which does not exist" in file.reason


def test_symbolic_links_in_a_circle(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to(tmp_path / "b")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    file = FILES.look(tmp_path / "a")
    assert file.state == "unreadable"
    assert "symbolic links" in file.reason


@contextmanager
def _as_nobody() -> Iterator[None]:
    """Give up root for a while: root may read everything."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.mark.parametrize("locked", ["file", "folder"])
def test_a_file_that_may_not_be_read(locked: str) -> None:
    # not below tmp_path: its parents are closed to others anyway
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        folder = Path(name) / "folder"
        folder.mkdir()
        path = folder / "model.gguf"
        path.write_bytes(llama().whole())
        (path if locked == "file" else folder).chmod(0)
        with _as_nobody():
            file = FILES.look(path)
        folder.chmod(0o755)
    assert (file.state, file.reason) == ("unreadable", "permission denied")


def test_a_pipe_is_not_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.gguf")
    assert FILES.look(tmp_path / "pipe.gguf").state == "unreadable"


def test_a_socket(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(tmp_path / "s"))
        assert FILES.look(tmp_path / "s").state == "unreadable"


def test_an_error_of_the_disk_while_reading(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(self: Path, *args: object, **kwargs: object) -> object:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(Path, "open", broken)
    file = FILES.look(model)
    assert (file.state, file.reason) == ("unreadable", "input/output error")


@pytest.mark.parametrize(
    ("start", "words"),
    [
        (b"", "empty"),
        (b"<!DOCTYPE html><html><head>", "HTML page"),
        (b"\n<html lang=en>", "HTML page"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a2146\nsize 98362432\n", "Git LFS pointer"),
        (b"\x28\x7a\x00\x00\x00\x00\x00\x00" + b'{"__metadata__":{}}', "safetensors"),
        (b"PK\x03\x04" + b"\0" * 60, "zip"),
        (b"tjgg\x03\x00\x00\x00", "GGJT"),
        (b"\0" * 2000, "zeros"),
        (b'{"error":"Repository not found"}', "JSON"),
        (b"Entry not found", "a text that begins with “Entry not found”"),
        (b"\xfe\xed\xfa\xcf" + bytes(range(200, 255)), "unknown kind"),
    ],
)
def test_what_a_file_that_is_no_gguf_seems_to_be(tmp_path: Path, start: bytes, words: str) -> None:
    path = tmp_path / "model.gguf"
    path.write_bytes(start)
    file = FILES.look(path)
    assert file.state == "not-gguf"
    assert words in file.reason


def _split(folder: Path, count: int = 3) -> list[Path]:
    whole = llama(layers=count)
    paths = []
    for number in range(count):
        tensors = [tensor for tensor in whole.tensors if tensor.name.startswith(f"blk.{number}.")]
        tensors += [tensor for tensor in whole.tensors if number == 0 and not tensor.name.startswith("blk.")]
        split = {"split.no": number, "split.count": count, "split.tensors.count": len(whole.tensors)}
        meta = {**whole.meta, **split} if number == 0 else split
        path = folder / f"model-{number + 1:05}-of-{count:05}.gguf"
        path.write_bytes(Gguf(meta, tensors).whole())
        paths.append(path)
    return paths


def test_the_parts_of_a_split_model_are_summed(tmp_path: Path) -> None:
    paths = _split(tmp_path)
    file = FILES.look(paths[0])
    whole = llama(layers=3)
    assert (file.state, file.reason) == ("ok", "")
    assert file.weights_bytes == sum(tensor.bytes for tensor in whole.tensors)
    assert file.size_bytes == sum(path.stat().st_size for path in paths)
    assert file.header is not None
    assert len(file.header.tensor_bytes.layers) == 3
    assert file.parts == tuple(map(str, paths))


def test_a_part_that_is_missing_is_named(tmp_path: Path) -> None:
    paths = _split(tmp_path)
    paths[1].unlink()
    file = FILES.look(paths[0])
    assert (file.state, file.weights_bytes) == ("missing", None)
    assert "part 2 of 3, model-00002-of-00003.gguf" in file.reason


def test_a_part_cut_short_is_named_and_the_sizes_are_those_of_all(tmp_path: Path) -> None:
    paths = _split(tmp_path)
    whole = FILES.look(paths[0])
    paths[2].write_bytes(paths[2].read_bytes()[:-1000])
    file = FILES.look(paths[0])
    assert file.state == "truncated"
    assert "part 3 of 3" in file.reason
    assert file.size_bytes == whole.size_bytes - 1000
    assert file.needed_bytes == whole.needed_bytes


def test_another_part_than_the_first_says_which_one_to_name(tmp_path: Path) -> None:
    file = FILES.look(_split(tmp_path)[1])
    assert file.state == "not-gguf"
    assert "name the first one, model-00001-of-00003.gguf" in file.reason


def test_parts_in_a_circle_are_found_out(tmp_path: Path) -> None:
    paths = _split(tmp_path)
    paths[1].unlink()
    paths[1].symlink_to(paths[0].name)
    file = FILES.look(paths[0])
    assert file.state == "not-gguf"
    assert "is not part 2" in file.reason


def test_a_count_of_parts_that_is_a_lie(tmp_path: Path) -> None:
    path = tmp_path / "model-00001-of-65535.gguf"
    path.write_bytes(Gguf({"general.architecture": "llama", "split.count": 65535}).whole())
    assert "claims 65535 parts" in FILES.look(path).reason


def test_a_split_model_whose_parts_were_renamed(tmp_path: Path) -> None:
    paths = _split(tmp_path)
    other = tmp_path / "mine.gguf"
    paths[0].rename(other)
    file = FILES.look(other)
    assert file.state == "not-gguf"
    assert "-00001-of-00003.gguf" in file.reason


class TestStamp:
    def test_size_and_time_of_what_a_link_leads_to(self, tmp_path):
        (tmp_path / "m.gguf").write_bytes(b"12345")
        os.utime(tmp_path / "m.gguf", ns=(1, 1_700_000_000_123_456_789))
        (tmp_path / "link.gguf").symlink_to("m.gguf")
        status = (tmp_path / "m.gguf").stat()
        inode = (status.st_dev, status.st_ino, status.st_ctime_ns)
        assert GgufFiles().stamp(tmp_path / "link.gguf") == (5, 1_700_000_000_123_456_789, inode)

    def test_of_all_parts_together(self, tmp_path):
        for number in (1, 2):
            part = tmp_path / f"m-{number:05}-of-00002.gguf"
            part.write_bytes(b"x" * number)
            os.utime(part, ns=(1, number * 10**9))
        parts = [tmp_path / f"m-{number:05}-of-00002.gguf" for number in (1, 2)]
        first, second = ((found.st_dev, found.st_ino, found.st_ctime_ns) for found in (one.stat() for one in parts))
        assert GgufFiles().stamp(parts[0]) == (3, 2 * 10**9, (*first, *second))
        parts[1].unlink()
        assert GgufFiles().stamp(parts[0]) == (1, 10**9, first)

    def test_of_each_file_by_itself(self, tmp_path):
        for number in (1, 2):
            part = tmp_path / f"m-{number:05}-of-00002.gguf"
            part.write_bytes(b"x" * number)
            os.utime(part, ns=(1, number * 10**9))
        paths = sorted(tmp_path.iterdir())
        found = GgufFiles().stat(paths)
        assert found == tuple(FileState(str(path), n, n * 10**9) for n, path in enumerate(paths, start=1))
        assert [one.changed_ns for one in found] == [path.stat().st_ctime_ns for path in paths]
        assert GgufFiles().stat([*paths, tmp_path / "none.gguf"]) is None
        assert GgufFiles().stat([tmp_path]) is None
        assert GgufFiles().stat([Path("/a\0b")]) is None

    def test_a_link_that_was_set_anew_is_young_whatever_it_leads_to(self, tmp_path):
        """The file itself is old, and so is the link that is named: one in between leads elsewhere."""
        old = tmp_path / "old.gguf"
        old.write_bytes(b"1")
        middle, link = tmp_path / "middle.gguf", tmp_path / "link.gguf"
        link.symlink_to("middle.gguf")
        middle.symlink_to(old)
        old_ns = old.stat().st_ctime_ns
        while middle.lstat().st_ctime_ns <= max(old_ns, link.lstat().st_ctime_ns):  # the kernel's clock has ticks
            middle.unlink()
            middle.symlink_to(old)
        (found,) = GgufFiles().stat([link])
        assert (found.path, found.changed_ns) == (str(link), middle.lstat().st_ctime_ns)

    def test_of_nothing(self, tmp_path):
        assert GgufFiles().stamp(tmp_path) is None
        assert GgufFiles().stamp(tmp_path / "none.gguf") is None

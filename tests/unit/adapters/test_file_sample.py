"""Samples of files: what stands for their content, and when an inode is proof enough."""

import os
import shutil

import pytest

from homellm.adapters.file_sample import BLOCK_BYTES, WHOLE_BYTES, Samples, inode_of
from homellm.adapters.gguf_files import GgufFiles
from tests.fakes.gguf_bytes import F16, Gguf, T, padded

#: Three tensors of 6, 6 and 4 MiB of two bytes a number, and a small one; a template that stands behind much else.
TENSORS = (T("a", (3, 1024**2), F16), T("b", (3, 1024**2), F16), T("c", (2, 1024**2), F16), T("norm", (8,), F16))
META = {"general.architecture": "llama", "a": "x" * 900_000, "b": "y" * 900_000, "tokenizer.chat_template": "old"}
HEADER_BYTES = padded(len(Gguf(META, TENSORS).header()))


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "m.gguf"
    path.write_bytes(Gguf(META, TENSORS).whole())
    assert path.stat().st_size > WHOLE_BYTES
    return path


def sample(path):
    """By a process that has seen nothing before."""
    return Samples().of([path])


def write_at(path, offset, data=b"\1"):
    with path.open("r+b") as file:
        file.seek(offset)
        file.write(data)


class TestSample:
    def test_is_of_the_content_alone(self, model, tmp_path):
        copy = tmp_path / "other.gguf"
        shutil.copyfile(model, copy)
        assert sample(copy) == sample(model)
        assert len(sample(model)) == 32
        assert int(sample(model), 16)

    @pytest.mark.parametrize("tensor", [0, 1, 2, 3])
    def test_knows_another_content_of_every_tensor(self, model, tensor):
        before = sample(model)
        start = HEADER_BYTES + sum(padded(one.bytes) for one in TENSORS[:tensor])
        write_at(model, start, b"\1" * TENSORS[tensor].bytes)
        assert sample(model) != before

    def test_knows_another_template_of_the_same_length_far_behind_in_the_header(self, model):
        before, at = sample(model), model.read_bytes().index(b"old")
        assert at > 1024**2
        write_at(model, at, b"new")
        assert sample(model) != before

    def test_knows_another_size_and_another_end(self, model):
        before = sample(model)
        write_at(model, model.stat().st_size - 1)
        changed = sample(model)
        with model.open("ab") as file:
            file.write(b"\0")
        assert len({before, changed, sample(model)}) == 3

    def test_of_a_small_file_is_of_every_byte(self, tmp_path):
        path = tmp_path / "template.jinja"
        path.write_bytes(b"a" * 100_000)
        before = sample(path)
        write_at(path, 77_777, b"b")
        assert sample(path) != before

    @pytest.mark.parametrize("head", [b"GGUF" + b"\xff" * 60, b"something else"], ids=["damaged", "not GGUF"])
    def test_of_what_no_header_describes_is_spread_over_it(self, tmp_path, head):
        path = tmp_path / "m.bin"
        path.write_bytes(head + b"\0" * (2 * WHOLE_BYTES))
        before = sample(path)
        write_at(path, WHOLE_BYTES, b"\1" * (path.stat().st_size // 256 + BLOCK_BYTES))
        assert sample(path) not in ("", before)

    def test_of_one_that_is_cut_short(self, model):
        os.truncate(model, WHOLE_BYTES + 1)
        assert sample(model)

    def test_of_several_is_of_all_in_their_order(self, tmp_path):
        one, two = tmp_path / "1", tmp_path / "2"
        one.write_bytes(b"1")
        two.write_bytes(b"2")
        found = {Samples().of(paths) for paths in ([one], [two], [one, two], [two, one])}
        assert len(found) == 4

    def test_is_empty_where_one_cannot_be_read(self, tmp_path):
        """A pipe among them, which must not be waited for."""
        (tmp_path / "m").write_bytes(b"1")
        os.mkfifo(tmp_path / "pipe")
        for other in ("none", "pipe", ".", "a\0b"):
            assert Samples().of([tmp_path / "m", tmp_path / other]) == ""

    def test_is_taken_once_of_what_is_untouched(self, model, monkeypatch):
        samples, read = Samples(), []
        pread = "homellm.adapters.file_source.FileSource.read"
        original = Samples().of([model])
        monkeypatch.setattr(pread, lambda self, offset, length: read.append(offset) or b"")
        first = samples.of([model])
        reads = len(read)
        assert (samples.of([model]), len(read)) == (first, reads)
        assert first != original
        previous = model.stat().st_ctime_ns
        while model.stat().st_ctime_ns == previous:  # the kernel's clock has ticks
            model.chmod(0o600)
        samples.of([model])
        assert len(read) == 2 * reads


class TestInode:
    def test_is_device_number_and_time_of_change(self, tmp_path):
        path = tmp_path / "m"
        path.write_bytes(b"1")
        status = os.stat_result((0o644, 7, 8, 1, 0, 0, 9, 1, 2, 3), {"st_ctime_ns": 1_796_040_000_123_456_789})
        assert inode_of(status) == (8, 7, 1_796_040_000_123_456_789)
        found = path.stat()
        (state,) = GgufFiles().stat([path])
        assert state.inode in ((found.st_dev, found.st_ino, found.st_ctime_ns), ())

    @pytest.mark.parametrize("time_ns", [1_796_040_000_000_000_000, 1_796_040_000_120_000_000], ids=["FAT", "exFAT"])
    def test_proves_nothing_where_the_clock_of_the_file_system_is_coarse(self, time_ns):
        status = os.stat_result((0o644, 7, 8, 1, 0, 0, 9, 1, 2, 3), {"st_ctime_ns": time_ns})
        assert inode_of(status) == ()

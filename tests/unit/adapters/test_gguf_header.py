"""The reader against headers whose every byte is known."""

from __future__ import annotations

import struct

import pytest

from homellm.adapters.gguf_header import HeaderCut, HeaderError, NotGguf, read_header
from homellm.domain.gguf_shape import header_of
from tests.fakes.gguf_bytes import F16, F32, STRING, Gguf, T, llama, padded, tensor_info, text


class Bytes:
    """A source that counts what is read of it."""

    def __init__(self, data: bytes, size: int | None = None) -> None:
        self.data = data
        self.size = len(data) if size is None else size
        self.read_bytes = 0

    def read(self, offset: int, length: int) -> bytes:
        part = self.data[offset : offset + length]
        self.read_bytes += len(part)
        return part


def test_a_plain_header_is_read_whole() -> None:
    file = llama(layers=2)
    raw = read_header(Bytes(file.whole()))
    assert raw.version == 3
    assert raw.values["llama.block_count"] == 2
    assert raw.values["tokenizer.chat_template"] == "{{ messages }}"
    assert [tensor.name for tensor in raw.tensors] == [tensor.name for tensor in file.tensors]
    assert [tensor.bytes for tensor in raw.tensors] == [tensor.bytes for tensor in file.tensors]
    assert raw.data_start == padded(len(file.header()))


def test_the_vocabulary_is_counted_and_not_kept() -> None:
    raw = read_header(Bytes(llama(vocabulary=50_000).whole()))
    assert "tokenizer.ggml.tokens" not in raw.values
    assert "tokenizer.ggml.token_type" not in raw.values
    assert raw.lengths["tokenizer.ggml.tokens"] == 50_000
    assert header_of(raw).vocabulary == 50_000


def test_a_small_window_of_bytes_gives_the_same_header_as_a_large_one() -> None:
    data = llama(vocabulary=3000, layers=5).whole()
    assert read_header(Bytes(data), grow=16) == read_header(Bytes(data))


def test_the_data_is_not_read() -> None:
    file = Gguf({"general.architecture": "llama"}, [T("output.weight", (1024, 4096))])
    source = Bytes(file.whole())
    read_header(source, grow=4096)
    assert source.size > 16 * 1024 * 1024
    assert source.read_bytes <= 4096


def test_numbers_of_every_width_are_read() -> None:
    kinds = {0: ("B", 200), 1: ("b", -3), 2: ("H", 60_000), 3: ("h", -300), 5: ("i", -70_000), 11: ("q", -(2**40))}
    file = b"GGUF" + struct.pack("<IQQ", 3, 0, len(kinds))
    for kind, (form, value) in kinds.items():
        file += text(f"k{kind}") + struct.pack("<I" + form, kind, value)
    assert read_header(Bytes(file)).values == {f"k{kind}": value for kind, (_, value) in kinds.items()}


@pytest.mark.parametrize(
    ("version", "words"),
    [
        (1, "version 1"),
        (4, "version 4"),
        (0, "version 0"),
        (0x03000000, "big-endian"),
    ],
)
def test_versions_that_llama_cpp_does_not_load(version: int, words: str) -> None:
    with pytest.raises(HeaderError, match=words):
        read_header(Bytes(Gguf({"general.architecture": "llama"}, version=version).whole()))


def test_version_2_is_read() -> None:
    assert read_header(Bytes(Gguf({"general.architecture": "llama"}, version=2).whole())).version == 2


def test_another_magic_is_no_gguf() -> None:
    with pytest.raises(NotGguf):
        read_header(Bytes(b"<!DOCTYPE html>" + b" " * 100))


@pytest.mark.parametrize("size", [3, 0])
def test_a_file_shorter_than_the_magic_is_no_gguf(size: int) -> None:
    with pytest.raises(NotGguf):
        read_header(Bytes(b"GGUF"[:size]))


def test_every_cut_inside_the_header_is_told_as_a_cut() -> None:
    data = llama().header()
    for end in range(4, len(data)):
        with pytest.raises(HeaderCut):
            read_header(Bytes(data[:end]))
    assert read_header(Bytes(data)).end_bytes > len(data)


def test_what_the_header_promises_is_the_end_of_its_last_tensor() -> None:
    # 100 and 24 bytes: 100 is padded to 128 before the next tensor, nothing is needed after the last one
    file = Gguf({"general.architecture": "llama"}, [T("a.weight", (25,)), T("b.weight", (3, 2))])
    raw = read_header(Bytes(file.whole()))
    assert raw.end_bytes == raw.data_start + 128 + 24


def test_alignment_of_the_file_moves_the_data() -> None:
    file = Gguf({"general.architecture": "llama", "general.alignment": 4096}, [T("a.weight", (1,))])
    assert read_header(Bytes(file.whole() + b"\0" * 4096)).data_start == 4096


@pytest.mark.parametrize("alignment", [0, 3, 2**31, "32"])
def test_an_alignment_that_is_no_power_of_two_is_damage(alignment: int | str) -> None:
    file = Gguf({"general.architecture": "llama", "general.alignment": alignment})
    with pytest.raises(HeaderError, match="alignment"):
        read_header(Bytes(file.whole()))


def test_a_tensor_of_a_type_not_known_yet_takes_the_space_up_to_the_next() -> None:
    head = b"GGUF" + struct.pack("<IQQ", 3, 3, 0)
    head += tensor_info("blk.0.a.weight", (64, 4), 99, 0)
    head += tensor_info("blk.0.b.weight", (16,), F32, 160)
    head += tensor_info("blk.0.c.weight", (64, 4), 99, 224)
    data_start = padded(len(head))
    raw = read_header(Bytes(head, size=data_start + 224 + 96))
    assert [tensor.bytes for tensor in raw.tensors] == [160, 64, 96]
    assert raw.end_bytes == data_start + 320


def _with_key(value: bytes, name: str = "k") -> bytes:
    return b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + text(name) + value + b"\0" * 64


HOSTILE = {
    "2^60 tensors": Gguf().header(tensor_count=2**60),
    "2^60 keys": Gguf().header(key_count=2**60),
    "a key of 2^60 bytes": b"GGUF" + struct.pack("<IQQQ", 3, 0, 1, 2**60),
    "a text of 2^60 bytes": _with_key(struct.pack("<IQ", STRING, 2**60)),
    "an array of 2^60 numbers": _with_key(struct.pack("<IIQ", 9, 4, 2**60)),
    "an array of 2^60 texts": _with_key(struct.pack("<IIQ", 9, 8, 2**60)),
    "an array of one text of 2^64-1 bytes": _with_key(struct.pack("<IIQQ", 9, 8, 1, 2**64 - 1)),
    "an array of arrays": _with_key(struct.pack("<IIQ", 9, 9, 1)),
    "a value of no type": _with_key(struct.pack("<I", 77)),
    "an empty key": _with_key(struct.pack("<II", 4, 1), name=""),
    "a tensor of 2^126 elements": Gguf().header(tensor_count=1) + tensor_info("a", (2**63, 2**63), F32, 0),
    "a tensor of five dimensions": Gguf().header(tensor_count=1) + tensor_info("a", (1, 1, 1, 1, 1), F32, 0),
    "a tensor at 2^63": Gguf().header(tensor_count=1) + tensor_info("a", (1,), F32, 2**63),
    "a row of half a block": Gguf().header(tensor_count=1) + tensor_info("a", (16,), 8, 0),
    "two tensors of one name": Gguf({}, [T("a", (1,)), T("a", (1,))]).header(),
    "a key that stands twice": Gguf().header(key_count=2) + (text("k") + struct.pack("<II", 4, 1)) * 2,
}


@pytest.mark.parametrize("data", HOSTILE.values(), ids=HOSTILE.keys())
@pytest.mark.timeout(5)
def test_lies_are_errors_and_cost_little(data: bytes) -> None:
    source = Bytes(data)
    with pytest.raises(HeaderError):
        read_header(source)
    assert source.read_bytes <= 2 * 1024 * 1024


class Endless:
    """A file of `size` bytes that begins with `start` and goes on with `fill`; nothing of it lies anywhere."""

    def __init__(self, start: bytes, fill: bytes, size: int) -> None:
        self.start, self.fill, self.size = start, fill, size
        self.read_bytes = 0
        self.largest = 0

    def read(self, offset: int, length: int) -> bytes:
        length = min(length, self.size - offset)
        self.read_bytes += length
        self.largest = max(self.largest, length)
        head = self.start[offset : offset + length]
        rest = length - len(head)
        return head + (self.fill * (rest // len(self.fill) + 1))[:rest]


@pytest.mark.parametrize(
    "start",
    [
        pytest.param(struct.pack("<IIQ", 9, 8, 2**26), id="64 million empty texts"),
        pytest.param(struct.pack("<IIQ", 9, 8, 4_000_000), id="four million empty texts, then nonsense"),
        pytest.param(struct.pack("<IIQ", 9, 4, 2**28), id="an array of 1 GiB"),
        pytest.param(struct.pack("<IQ", STRING, 2**30), id="a text of 1 GiB"),
    ],
)
@pytest.mark.timeout(20)
def test_a_header_of_a_gigabyte_is_an_error_in_bounded_time_and_memory(start: bytes) -> None:
    head = b"GGUF" + struct.pack("<IQQ", 3, 0, 2) + text("tokenizer.ggml.tokens") + start
    source = Endless(head, b"\0", 2**31)
    with pytest.raises(HeaderError):
        read_header(source)
    assert source.read_bytes < 130 * 1024 * 1024
    assert source.largest <= 1024 * 1024


def test_a_dtype_of_each_kind_has_its_size() -> None:
    file = Gguf({"general.architecture": "x"}, [T("a", (256, 2), 12), T("b", (256, 3), 14), T("c", (32,), F16)])
    # q4_K: 144 bytes for 256 elements, q6_K: 210, f16: 2 for one
    assert [tensor.bytes for tensor in read_header(Bytes(file.whole())).tensors] == [288, 630, 64]

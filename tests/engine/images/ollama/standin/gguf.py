"""Reads a GGUF's keys and tensors: what /api/show tells, and whether the file is whole."""

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

_SCALARS = {0: "B", 1: "b", 2: "<H", 3: "<h", 4: "<I", 5: "<i", 6: "<f", 7: "?", 10: "<Q", 11: "<q", 12: "<d"}
_STRING, _ARRAY = 8, 9

FILE_TYPES = {
    1: "F16", 2: "Q4_0", 3: "Q4_1", 7: "Q8_0", 8: "Q5_0", 9: "Q5_1", 10: "Q2_K", 11: "Q3_K_S", 12: "Q3_K_M",
    13: "Q3_K_L", 14: "Q4_K_S", 15: "Q4_K_M", 16: "Q5_K_S", 17: "Q5_K_M", 18: "Q6_K", 32: "BF16",
}  # fmt: skip
#: Name, elements of a block, bytes of a block.
TENSOR_TYPES = {
    0: ("F32", 1, 4), 1: ("F16", 1, 2), 2: ("Q4_0", 32, 18), 3: ("Q4_1", 32, 20), 6: ("Q5_0", 32, 22),
    7: ("Q5_1", 32, 24), 8: ("Q8_0", 32, 34), 10: ("Q2_K", 256, 84), 11: ("Q3_K", 256, 110), 12: ("Q4_K", 256, 144),
    13: ("Q5_K", 256, 176), 14: ("Q6_K", 256, 210), 30: ("BF16", 1, 2),
}  # fmt: skip


class BadGguf(ValueError):
    """The file is no whole GGUF; the text is Ollama's."""


@dataclass(frozen=True, slots=True)
class Tensor:
    """One tensor: `shape` innermost first, `start` and `size` in bytes of the file."""

    name: str
    kind: str
    shape: tuple[int, ...]
    start: int
    size: int


@dataclass(frozen=True, slots=True)
class Gguf:
    """Keys and tensors. Arrays are None in `keys`; the table of tensors lies from `tensors_at` to `table_end`."""

    keys: dict[str, Any]
    tensors: tuple[Tensor, ...]
    tensors_at: int
    table_end: int
    data_at: int

    @property
    def architecture(self) -> str:
        return str(self.keys.get("general.architecture", ""))

    def of_architecture(self, key: str) -> Any:
        return self.keys.get(f"{self.architecture}.{key}")

    @property
    def context_length(self) -> int:
        return int(self.of_architecture("context_length") or 0)

    @property
    def embedding_length(self) -> int:
        return int(self.of_architecture("embedding_length") or 0)

    @property
    def block_count(self) -> int:
        return int(self.of_architecture("block_count") or 0)

    @property
    def parameter_count(self) -> int:
        total = 0
        for tensor in self.tensors:
            count = 1
            for size in tensor.shape:
                count *= size
            total += count
        return total

    @property
    def file_type(self) -> str:
        return FILE_TYPES.get(self.keys.get("general.file_type", -1), "unknown")

    @property
    def embedding(self) -> bool:
        """Whether it is a model for embeddings: Ollama goes by this key."""
        return self.of_architecture("pooling_type") is not None


def read_gguf(path: Path) -> Gguf:
    """Raises BadGguf when its header cannot be read, and FileNotFoundError."""
    stat = path.stat()
    return _read(path, stat.st_size, stat.st_mtime_ns)


def read_whole_gguf(path: Path) -> Gguf:
    """The same for a file that is to be loaded: raises BadGguf for one that ends before its last tensor."""
    gguf, size = read_gguf(path), path.stat().st_size
    for tensor in gguf.tensors:
        if (end := tensor.start + tensor.size) > size:
            raise BadGguf(f'tensor "{tensor.name}" offset+size ({end}) exceeds file size ({size})')
    return gguf


@lru_cache(maxsize=32)
def _read(path: Path, size: int, mtime_ns: int) -> Gguf:
    with path.open("rb") as file:
        data = file.read(64 << 20)
    if data[:4] != b"GGUF":
        raise BadGguf("invalid file magic")
    try:
        return _parse(data)
    except (struct.error, IndexError, UnicodeDecodeError) as error:
        raise BadGguf("unexpected EOF") from error


def _parse(data: bytes) -> Gguf:
    tensor_count, key_count = struct.unpack_from("<QQ", data, 8)
    keys: dict[str, Any] = {}
    at = 24
    for _ in range(key_count):
        name, at = _string(data, at)
        (kind,) = struct.unpack_from("<I", data, at)
        keys[name], at = _field(data, at + 4, kind)
    tensors_at = at
    rows = []
    for _ in range(tensor_count):
        name, at = _string(data, at)
        (dimensions,) = struct.unpack_from("<I", data, at)
        shape = struct.unpack_from(f"<{dimensions}Q", data, at + 4)
        at += 4 + 8 * dimensions
        kind, offset = struct.unpack_from("<IQ", data, at)
        rows.append((name, kind, shape, offset))
        at += 12
    alignment = int(keys.get("general.alignment", 32))
    data_at = -(-at // alignment) * alignment
    return Gguf(keys, tuple(_tensors(rows, data_at)), tensors_at, at, data_at)


def _tensors(rows: list[tuple[str, int, tuple[int, ...], int]], data_at: int) -> Iterator[Tensor]:
    for name, kind, shape, offset in rows:
        label, block, width = TENSOR_TYPES.get(kind, ("unknown", 1, 0))
        count = 1
        for dimension in shape:
            count *= dimension
        yield Tensor(name, label, shape, data_at + offset, count // block * width)


def _string(data: bytes, at: int) -> tuple[str, int]:
    (length,) = struct.unpack_from("<Q", data, at)
    end = at + 8 + length
    return data[at + 8 : end].decode(), end


def _field(data: bytes, at: int, kind: int) -> tuple[Any, int]:
    if kind == _STRING:
        return _string(data, at)
    if kind == _ARRAY:
        return _array(data, at)
    form = _SCALARS[kind]
    (value,) = struct.unpack_from(form, data, at)
    return (float(f"{value:.7g}") if form == "<f" else value), at + struct.calcsize(form)


def _array(data: bytes, at: int) -> tuple[None, int]:
    """Only where it ends: Ollama tells no arrays unless it is asked for all of them."""
    kind, count = struct.unpack_from("<IQ", data, at)
    at += 12
    if kind != _STRING:
        return None, at + count * struct.calcsize(_SCALARS[kind])
    for _ in range(count):
        (length,) = struct.unpack_from("<Q", data, at)
        at += 8 + length
    return None, at

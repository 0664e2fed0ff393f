"""Writes GGUF files byte by byte, so that tests know every number in them, the impossible ones too.

Kept apart from what reads them: the layout stands here as ggml/docs/gguf.md has it.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

U32, I32, FLOAT, BOOL, STRING, ARRAY, U64 = 4, 5, 6, 7, 8, 9, 10
F32, F16, Q4_0, Q8_0, Q4_K = 0, 1, 2, 8, 12
_BLOCKS = {F32: (1, 4), F16: (1, 2), Q4_0: (32, 18), Q8_0: (32, 34), Q4_K: (256, 144), 14: (256, 210)}
ALIGNMENT = 32

Meta = int | float | bool | str | Sequence[int] | Sequence[float] | Sequence[bool] | Sequence[str]


@dataclass(frozen=True)
class T:
    """A tensor to write."""

    name: str
    dims: tuple[int, ...]
    type: int = F32

    @property
    def bytes(self) -> int:
        block, size = _BLOCKS[self.type]
        elements = 1
        for dim in self.dims:
            elements *= dim
        return elements // block * size


@dataclass
class Gguf:
    """A file to be; `data` False leaves the tensor data out."""

    meta: Mapping[str, Meta] = field(default_factory=dict)
    tensors: Sequence[T] = ()
    version: int = 3
    magic: bytes = b"GGUF"

    def header(self, *, tensor_count: int | None = None, key_count: int | None = None) -> bytes:
        out = self.magic + struct.pack("<I", self.version)
        out += struct.pack("<Q", len(self.tensors) if tensor_count is None else tensor_count)
        out += struct.pack("<Q", len(self.meta) if key_count is None else key_count)
        for key, value in self.meta.items():
            out += text(key) + typed(value)
        offset = 0
        for tensor in self.tensors:
            out += tensor_info(tensor.name, tensor.dims, tensor.type, offset)
            offset += padded(tensor.bytes)
        return out

    def data_bytes(self) -> int:
        """Size of the data section, with the padding that writers put after the last tensor."""
        return sum(padded(tensor.bytes) for tensor in self.tensors)

    def whole(self) -> bytes:
        head = self.header()
        return head + b"\0" * (padded(len(head)) - len(head)) + b"\0" * self.data_bytes()


def padded(size: int, to: int = ALIGNMENT) -> int:
    return (size + to - 1) // to * to


def text(value: str) -> bytes:
    raw = value.encode()
    return struct.pack("<Q", len(raw)) + raw


def tensor_info(name: str, dims: Sequence[int], kind: int, offset: int) -> bytes:
    return text(name) + struct.pack(f"<I{len(dims)}QIQ", len(dims), *dims, kind, offset)


def typed(value: Meta) -> bytes:
    if isinstance(value, bool):
        return struct.pack("<I?", BOOL, value)
    if isinstance(value, int):
        return struct.pack("<II", U32, value) if 0 <= value < 2**32 else struct.pack("<IQ", U64, value)
    if isinstance(value, float):
        return struct.pack("<If", FLOAT, value)
    if isinstance(value, str):
        return struct.pack("<I", STRING) + text(value)
    return _array(value)


def _array(items: Sequence[int] | Sequence[float] | Sequence[bool] | Sequence[str]) -> bytes:
    head = struct.pack("<I", ARRAY)
    if items and isinstance(items[0], str):
        return head + struct.pack("<IQ", STRING, len(items)) + b"".join(text(str(item)) for item in items)
    if items and isinstance(items[0], float):
        return head + struct.pack(f"<IQ{len(items)}f", FLOAT, len(items), *items)
    if items and isinstance(items[0], bool):
        return head + struct.pack(f"<IQ{len(items)}?", BOOL, len(items), *items)
    return head + struct.pack(f"<IQ{len(items)}i", I32, len(items), *items)


def llama(
    *,
    layers: int = 2,
    embedding: int = 64,
    heads: int = 4,
    kv_heads: int = 2,
    feed_forward: int = 128,
    vocabulary: int = 96,
    architecture: str = "llama",
    extra: Mapping[str, Meta] | None = None,
) -> Gguf:
    """A small but complete header of a plain transformer."""
    head = embedding // heads
    a = architecture
    meta: dict[str, Meta] = {
        "general.architecture": a,
        "general.name": "made for tests",
        f"{a}.block_count": layers,
        f"{a}.context_length": 8192,
        f"{a}.embedding_length": embedding,
        f"{a}.feed_forward_length": feed_forward,
        f"{a}.attention.head_count": heads,
        f"{a}.attention.head_count_kv": kv_heads,
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.tokens": [f"t{number}" for number in range(vocabulary)],
        "tokenizer.ggml.token_type": [1] * vocabulary,
        "tokenizer.chat_template": "{{ messages }}",
        **(extra or {}),
    }
    tensors = [T("token_embd.weight", (embedding, vocabulary), F16), T("output_norm.weight", (embedding,))]
    for layer in range(layers):
        tensors += [
            T(f"blk.{layer}.attn_q.weight", (embedding, heads * head), Q8_0),
            T(f"blk.{layer}.attn_k.weight", (embedding, kv_heads * head), Q8_0),
            T(f"blk.{layer}.attn_v.weight", (embedding, kv_heads * head), Q8_0),
            T(f"blk.{layer}.ffn_up.weight", (embedding, feed_forward), Q4_0),
        ]
    return Gguf(meta, tensors)

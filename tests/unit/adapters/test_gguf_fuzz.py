"""Files are not trusted: whatever the bytes are, the reader answers in bounded time and raises nothing of its own."""

from __future__ import annotations

import struct
import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from homellm.adapters.gguf_files import GgufFiles
from tests.fakes.gguf_bytes import llama

GOOD = llama(layers=3, vocabulary=40).whole()
HEADER = len(llama(layers=3, vocabulary=40).header())
STATES = {"ok", "not-gguf", "truncated"}


def _look(data: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.gguf"
        path.write_bytes(data)
        file = GgufFiles().look(path)
    assert file.state in STATES
    assert file.reason or file.state == "ok"
    if file.state == "ok":
        assert file.needed_bytes is not None
        assert file.needed_bytes <= len(data)
        assert file.weights_bytes is not None


@given(st.binary(max_size=400))
@settings(max_examples=150, deadline=60_000)
def test_any_bytes(data: bytes) -> None:
    _look(data)


@given(st.binary(max_size=400), st.integers(0, 2**64 - 1), st.integers(0, 2**64 - 1), st.sampled_from([2, 3]))
@settings(max_examples=150, deadline=60_000)
def test_any_bytes_after_a_good_beginning(data: bytes, tensors: int, keys: int, version: int) -> None:
    _look(b"GGUF" + struct.pack("<IQQ", version, tensors, keys) + data)


@given(st.data())
@settings(max_examples=300, deadline=60_000)
def test_a_good_file_with_eight_bytes_overwritten(data: st.DataObject) -> None:
    at = data.draw(st.integers(4, HEADER - 8))
    number = data.draw(st.one_of(st.integers(0, 2**64 - 1), st.sampled_from([0, 1, 2**31, 2**60, 2**63, 2**64 - 1])))
    _look(GOOD[:at] + struct.pack("<Q", number) + GOOD[at + 8 :])


@given(st.integers(0, len(GOOD)))
@settings(max_examples=100, deadline=60_000)
def test_a_good_file_cut_anywhere(size: int) -> None:
    _look(GOOD[:size])

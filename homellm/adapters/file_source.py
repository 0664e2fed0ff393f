"""An open file as a source of bytes (gguf_header.ByteSource)."""

from __future__ import annotations

from typing import BinaryIO


class FileSource:
    """The bytes of an open file."""

    def __init__(self, file: BinaryIO, size: int) -> None:
        self._file = file
        self.size = size

    def read(self, offset: int, length: int) -> bytes:
        """`length` bytes from `offset` on; fewer only at the end of the file. Raises OSError."""
        self._file.seek(offset)
        return self._file.read(length)

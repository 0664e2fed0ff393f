"""What stands for a file's content where a stat alone cannot tell whether it is the file that it was.

A file of the same size and date may be another one: `cp -p`, `rsync -t` and a restored backup set the date. Its inode
tells that something happened to it, and not what: `chmod`, a hard link and a move to another disk leave the content
as it was. To read tens of gigabytes for that would take as long as to load them, so a sample decides: a small file is
read whole, of a GGUF the whole header and a block out of the middle of every tensor. What makes another model of one
(another quantization, a fine-tune, a merge, another template) changes the header or all of some tensor.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path

from homellm.adapters.file_source import FileSource
from homellm.adapters.gguf_header import HeaderError, read_header

#: Up to here a file is read whole.
WHOLE_BYTES = 8 * 1024 * 1024
BLOCK_BYTES = 4096
#: So many blocks are read, evenly spread, of a large file that is not GGUF.
BLOCKS = 256
#: Hex digits that are kept: 128 bits, in a label of the container.
DIGITS = 32
#: FAT, exFAT, HFS+ and what shares files by old protocols count in seconds or hundredths, or take ctime from mtime.
COARSE_NS = 10 * 10**6


def inode_of(status: os.stat_result) -> tuple[int, ...]:
    """Device, number and ctime in nanoseconds; empty where the ctime is one that a coarse clock gave.

    Nobody can set a ctime, so the same three are the same content; a clock of seconds would miss what happens in one.
    """
    exact = status.st_ctime_ns % COARSE_NS != 0
    return (status.st_dev, status.st_ino, status.st_ctime_ns) if exact else ()


class Samples:
    """Takes samples, and remembers for its life those of files that have not been touched since."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, ...], str] = {}

    def of(self, paths: Sequence[Path]) -> str:
        """One digest of these files, in hex; empty where one of them cannot be read, or is no plain file."""
        try:
            found = [self._one(path) for path in paths]
        except (OSError, ValueError):
            return ""
        return found[0] if len(found) == 1 else _short(hashlib.sha256("".join(found).encode()))

    def _one(self, path: Path) -> str:
        # A pipe would be waited for, and what is taken out of it is missing to others.
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb", buffering=0) as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise OSError
            inode = inode_of(status)
            known = self._known.get(inode)
            if known is None:
                known = _sample(FileSource(file, status.st_size))
                if inode and inode_of(os.fstat(file.fileno())) == inode:
                    self._known[inode] = known
        return known


def _sample(source: FileSource) -> str:
    digest = hashlib.sha256(str(source.size).encode())
    for offset, length in _pieces(source):
        digest.update(source.read(offset, length))
    return _short(digest)


def _pieces(source: FileSource) -> Iterator[tuple[int, int]]:
    """Offset and length of what is read of a file."""
    if source.size <= WHOLE_BYTES:
        yield 0, source.size
        return
    try:
        header = read_header(source)
    except HeaderError:
        yield from ((source.size * number // BLOCKS, BLOCK_BYTES) for number in range(BLOCKS))
    else:
        yield 0, header.data_start
        for tensor in sorted(header.tensors, key=lambda one: one.offset):
            middle = header.data_start + tensor.offset + max(tensor.bytes - BLOCK_BYTES, 0) // 2
            yield min(middle, source.size), BLOCK_BYTES  # of a file that was cut short there is less
    yield max(source.size - BLOCK_BYTES, 0), BLOCK_BYTES


def _short(digest: hashlib._Hash) -> str:
    return digest.hexdigest()[:DIGITS]

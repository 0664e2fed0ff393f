"""The files of models on this machine: what stands at a path, told from the header of the GGUF alone."""

from __future__ import annotations

import hashlib
import os
import re
import stat
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from homellm.adapters.file_kinds import SNIFF_BYTES, kind_of
from homellm.adapters.file_links import link_folders, newest_link_ns
from homellm.adapters.file_sample import Samples, inode_of
from homellm.adapters.file_source import FileSource
from homellm.adapters.gguf_header import HeaderCut, HeaderError, NotGguf, read_header
from homellm.domain.gguf import GgufHeader, RawHeader
from homellm.domain.gguf_shape import ShapeError, header_of, split_of
from homellm.domain.world import FileStamp, FileState, ModelFile
from homellm.errors import Refused

#: How llama.cpp names the parts of a model (`llama_split_path`); it is loaded by the name of the first.
PART_NAME = re.compile(r"(?P<prefix>.*)-(?P<index>\d{5})-of-(?P<count>\d{5})\.gguf")
#: The most parts that are looked at; models of a trillion parameters have some twenty.
MAX_PARTS = 512


@dataclass(frozen=True, slots=True)
class Part:
    """One file by itself, and its header as it stands when it could be read whole."""

    file: ModelFile
    raw: RawHeader | None = None

    @property
    def split(self) -> tuple[int, int]:
        """Which part of a split model it is, from 0, and of how many; (0, 1) for a whole one."""
        return split_of(self.raw) if self.raw else (0, 1)


class GgufFiles:
    """Implements ports.ModelFiles. Reads a few MiB at most, follows symbolic links, and never raises for a file."""

    def __init__(self) -> None:
        self._samples = Samples()

    def look(self, path: Path) -> ModelFile:
        """What stands at `path`; for the first part of a split model, what stands at all its parts together."""
        part = look_at_one(path)
        file = part.file if part.split[1] == 1 else _whole(path, part)
        return replace(file, link_folders=link_folders([Path(one) for one in file.parts]))

    def sha256(self, path: Path) -> str:
        """The digest of a whole file, in hex. Raises Refused when it cannot be read."""
        try:
            with path.open("rb") as file:
                return hashlib.file_digest(file, "sha256").hexdigest()
        except OSError as error:
            raise Refused(f"{path} cannot be read: {error.strerror}", id="model-unreadable") from error

    def stamp(self, path: Path) -> FileStamp | None:
        """Size, time and inode of the file at a path, links followed, of a split one all parts; None without any."""
        found = self.stat([one for one in _paths(path) if one == path or _stands(one)])
        if found is None:
            return None
        inode = tuple(number for one in found for number in one.inode) if all(one.inode for one in found) else ()
        return FileStamp(sum(one.size_bytes for one in found), max(one.mtime_ns for one in found), inode)

    def stat(self, paths: Sequence[Path]) -> tuple[FileState, ...] | None:
        """These files as they are, in this order; None where one of them is not seen, or is no file. Reads none."""
        try:
            found = [(path, path.stat(), newest_link_ns(path)) for path in paths]
        except (OSError, ValueError):
            return None
        if not all(stat.S_ISREG(status.st_mode) for _, status, _ in found):
            return None
        return tuple(
            FileState(str(path), status.st_size, status.st_mtime_ns, max(status.st_ctime_ns, link_ns), inode_of(status))
            for path, status, link_ns in found
        )

    def sample(self, paths: Sequence[Path]) -> str:
        """A digest of these files by a part of what they say (file_sample); empty where one of them cannot be read."""
        return self._samples.of(paths)


def _stands(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):
        return True  # it is in the way of an answer, which `stat` then does not give


def look_at_one(path: Path) -> Part:
    """One file by itself."""
    try:
        status = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return Part(_absent(path))
    except (OSError, ValueError) as error:
        return Part(_unreadable(path, error))
    if stat.S_ISDIR(status.st_mode):
        return Part(ModelFile(str(path), "directory", reason="it is a folder"))
    if not stat.S_ISREG(status.st_mode):
        return Part(ModelFile(str(path), "unreadable", reason="it is neither a file nor a folder"))
    try:
        with path.open("rb", buffering=0) as raw_file:
            return _read(path, FileSource(raw_file, status.st_size))
    except OSError as error:
        return Part(_unreadable(path, error, status.st_size))


def _absent(path: Path) -> ModelFile:
    if path.is_symlink():
        target = os.readlink(path)  # noqa: PTH115 - the text of the link, not a path to follow
        return ModelFile(str(path), "dangling", reason=f"it is a symbolic link to {target}, which does not exist")
    return ModelFile(str(path), "missing", reason="it does not exist")


def _unreadable(path: Path, error: OSError | ValueError, size: int = 0) -> ModelFile:
    words = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return ModelFile(str(path), "unreadable", size_bytes=size, reason=words[:1].lower() + words[1:])


def _read(path: Path, source: FileSource) -> Part:
    file = ModelFile(str(path), "not-gguf", size_bytes=source.size, parts=(str(path),))
    try:
        raw = read_header(source)
        header = header_of(raw) if split_of(raw)[0] == 0 or split_of(raw)[1] == 1 else None
    except NotGguf:
        return Part(replace(file, reason=f"it is {kind_of(source.read(0, SNIFF_BYTES))}"))
    except HeaderCut as error:
        return Part(replace(file, state="truncated", reason=str(error)))
    except HeaderError as error:
        return Part(replace(file, reason=str(error)))
    except ShapeError as error:
        return Part(replace(file, reason=f"its header is damaged: {error}"))
    known = replace(
        file,
        needed_bytes=raw.end_bytes,
        weights_bytes=header.weights_bytes if header else None,
        architecture=header.architecture if header else "",
        header=header,
    )
    if raw.end_bytes > source.size:
        cut = f"it has {source.size} bytes of the {raw.end_bytes} that its header promises"
        return Part(replace(known, state="truncated", reason=cut), raw)
    return Part(replace(known, state="ok"), raw)


def _whole(path: Path, first: Part) -> ModelFile:
    """All parts of a split model, its sizes summed. The first thing that is wrong with one of them is told."""
    name = PART_NAME.fullmatch(path.name)
    index, count = first.split
    if count > MAX_PARTS:
        return replace(first.file, state="not-gguf", reason=f"its header is damaged: it claims {count} parts")
    if name is None or int(name["count"]) != count:
        right = f"-{index + 1:05}-of-{count:05}.gguf"
        return replace(
            first.file,
            state="not-gguf",
            reason=f"it is part {index + 1} of {count}, whose name must end in {right}",
        )
    paths = _paths(path)
    if index or path != paths[0]:
        reason = f"it is part {index + 1} of {count}; name the first one, {paths[0].name}"
        return replace(first.file, state="not-gguf", reason=reason)
    parts = [first, *(look_at_one(other) for other in paths[1:])]
    return _together(first, parts, [str(other) for other in paths])


def _paths(path: Path) -> list[Path]:
    """All parts of a split model, by the name of one of them; the file alone where its name tells of none."""
    name = PART_NAME.fullmatch(path.name)
    count = int(name["count"]) if name is not None else 0
    if name is None or not 0 < count <= MAX_PARTS:
        return [path]
    return [path.with_name(f"{name['prefix']}-{number:05}-of-{count:05}.gguf") for number in range(1, count + 1)]


def _together(first: Part, parts: list[Part], paths: list[str]) -> ModelFile:
    size = sum(part.file.size_bytes for part in parts)
    needed = sum(part.file.needed_bytes or part.file.size_bytes for part in parts)
    whole = replace(first.file, size_bytes=size, needed_bytes=needed, parts=tuple(paths))
    for number, part in enumerate(parts, start=1):
        if part.file.state != "ok":
            reason = f"part {number} of {len(parts)}, {Path(part.file.path).name}: {part.file.reason}"
            return replace(whole, state=part.file.state, reason=reason, weights_bytes=None, header=None)
        if part.split != (number - 1, len(parts)):
            reason = f"{Path(part.file.path).name} is not part {number} of this model: its header says another"
            return replace(whole, state="not-gguf", reason=reason, weights_bytes=None, header=None)
    try:
        header = merged([part.raw for part in parts if part.raw])
    except ShapeError as error:
        return replace(whole, state="not-gguf", reason=f"its header is damaged: {error}", header=None)
    return replace(whole, weights_bytes=header.weights_bytes, header=header)


def merged(raws: list[RawHeader]) -> GgufHeader:
    """One header for all parts: the keys of the first, the tensors of all. Raises ShapeError."""
    tensors = tuple(tensor for raw in raws for tensor in raw.tensors)
    if len({tensor.name for tensor in tensors}) != len(tensors):
        raise ShapeError("two parts have a tensor of one name")
    return header_of(replace(raws[0], tensors=tensors))

"""Files that are symbolic links, as the cache of Hugging Face has them: which folders a container must see."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

#: As many links as the kernel follows in one path (path_resolution(7)).
MAX_LINKS = 40


def link_folders(files: Sequence[Path]) -> tuple[str, ...]:
    """Every folder that is passed on the way from `files` to what they lead to, as real paths; none for plain files.

    The folder of the first file comes first. A container that has these folders at the same paths can open the files,
    whether their links are relative or absolute.
    """
    if not any(file.is_symlink() for file in files):
        return ()
    return tuple(dict.fromkeys(folder for file in files for folder in _folders(file)))


def newest_link_ns(file: Path) -> int:
    """When one of the links that lead from `file` on was last made (ctime, nanoseconds); 0 for a plain file.

    Raises OSError for what is not there.
    """
    newest, current = 0, file
    for _ in range(MAX_LINKS):
        if not current.is_symlink():
            break
        newest = max(newest, current.lstat().st_ctime_ns)
        current = current.parent / os.readlink(current)  # noqa: PTH115 - one link, not the end of them all
    return newest


def _folders(file: Path) -> Iterator[str]:
    current = _settled(file)
    yield str(current.parent)
    for _ in range(MAX_LINKS):
        if not current.is_symlink():
            return
        current = _settled(current.parent / os.readlink(current))  # noqa: PTH115 - one link, not the end of them all
        yield str(current.parent)


def _settled(path: Path) -> Path:
    """The path with every link above its last name resolved."""
    return Path(os.path.realpath(path.parent)) / path.name

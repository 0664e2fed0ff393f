"""The files that a server loaded, against those that stand at their paths now. Pure.

A spec names files by their paths, so one that was replaced or rewritten changes no hash. What the files were is written
on the container before its load begins (a label), and into the record of a run once that is proved.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import PurePosixPath
from typing import TypeGuard

from homellm.domain.engine_time import engine_time_ns
from homellm.domain.names import LABEL_FILES
from homellm.domain.world import NEVER, Container, FileState, Likeness

#: The engine notes the time of a start once the process runs, moments after its mounts were made.
MARGIN_NS = 2 * 10**9
#: So many files are named, the rest is counted.
_NAMED = 2

Row = tuple[str, int, int, tuple[int, ...], str]
_WEAKEST: tuple[Likeness, ...] = ("other", "dated", "sampled", "untouched")


def as_rows(files: Iterable[FileState]) -> list[Row]:
    """Files as JSON has them: path, size in bytes, time of content in nanoseconds, inode, sample."""
    return [(one.path, one.size_bytes, one.mtime_ns, one.inode, one.sample) for one in files]


def from_rows(rows: object) -> tuple[FileState, ...] | None:
    """The files of such rows; None for anything else, which is then not known."""
    if not isinstance(rows, list):
        return None
    found: list[FileState] = []
    for row in rows:
        match row:
            case [str(path), int(size_bytes), int(mtime_ns)]:  # of an older homellm
                found.append(FileState(path, size_bytes, mtime_ns))
            case [str(path), int(size_bytes), int(mtime_ns), list(inode), str(sample)] if _numbers(inode):
                found.append(FileState(path, size_bytes, mtime_ns, 0, tuple(inode), sample))
            case _:
                return None
    return tuple(found)


def _numbers(values: list[object]) -> TypeGuard[list[int]]:
    return all(isinstance(value, int) for value in values)


def files_label(files: tuple[FileState, ...]) -> dict[str, str]:
    """The label that tells what a container is made to load; none where that is not known."""
    return {LABEL_FILES: json.dumps(as_rows(files), separators=(",", ":"))} if files else {}


def made_for(container: Container) -> tuple[FileState, ...] | None:
    """What the files of a container were when it was made; None where it does not say (older, or engine elsewhere)."""
    try:
        return from_rows(json.loads(container.label(LABEL_FILES) or "null"))
    except (ValueError, RecursionError):
        return None


def loaded(
    container: Container, now: tuple[FileState, ...], recorded: tuple[FileState, ...] | None
) -> tuple[FileState, ...] | None:
    """What the present run of a container loaded, None where nobody knows. `recorded` is by the record of this run.

    Without a record: what has stood there since before this run began was loaded by it, else the first run loaded what
    the container was made for, or something that came in the middle and is not to be trusted either. A later run of
    which nothing was kept may have loaded anything that stood there in between; but not what came after.
    """
    if recorded is not None:
        return recorded
    if all(_settled(file, container) for file in now):
        return now
    made = made_for(container)
    if container.finished_at == NEVER or made is None or differing(made, now):
        return made
    return None


def _settled(file: FileState, container: Container) -> bool:
    """Whether a file has stood there as it is since before the container's present run began."""
    begun_ns, ended_ns = _ns(container.started_at), _ns(container.finished_at)
    if ended_ns <= begun_ns and file.changed_ns < ended_ns:
        return True  # since before the run before this one ended
    return file.changed_ns < begun_ns - MARGIN_NS


def _ns(text: str) -> int:
    try:
        return engine_time_ns(text)
    except ValueError:
        return 0  # not known: then nothing is older than it


def likeness(then: FileState | None, now: FileState) -> Likeness:
    """Whether a file is what it was. A sample decides only where size and date are the same and the inode is not.

    One that is dated otherwise is another file without a look: loading it takes as long as to compare it.
    """
    if then is None or then != now:
        return "other"
    if then.inode and then.inode == now.inode:
        return "untouched"
    if not (then.sample and now.sample):
        return "dated"
    return "sampled" if then.sample == now.sample else "other"


def differing(then: tuple[FileState, ...], now: tuple[FileState, ...]) -> tuple[str, ...]:
    """The paths of the files that are not what they were."""
    before = {file.path: file for file in then}
    return tuple(file.path for file in now if likeness(before.get(file.path), file) == "other")


def weakest(then: tuple[FileState, ...], now: tuple[FileState, ...]) -> Likeness:
    """The likeness of which least is known among all files."""
    before = {file.path: file for file in then}
    return min((likeness(before.get(file.path), file) for file in now), key=_WEAKEST.index, default="other")


def with_samples(
    now: Iterable[FileState], known: Iterable[FileState], take: Callable[[str], str]
) -> tuple[FileState, ...]:
    """The files with their samples: from what is `known` of the very same inode, else `take` reads one by its path."""
    samples = {(one.path, one.inode): one.sample for one in known if one.inode and one.sample}
    return tuple(
        replace(file, sample=samples.get((file.path, file.inode)) or file.sample or take(file.path)) for file in now
    )


def changed_since(paths: tuple[str, ...]) -> str:
    """The same in words: `smol.gguf changed since the server loaded it`."""
    names = [PurePosixPath(path).name for path in paths]
    if len(names) == 1:
        return f"{names[0]} changed since the server loaded it"
    more = [f"{len(names) - _NAMED} more"] if len(names) > _NAMED else []
    *first, last = [*names[:_NAMED], *more]
    return f"{', '.join(first)} and {last} changed since the server loaded them"

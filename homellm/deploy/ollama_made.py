"""The file that a model of Ollama's was made from: whether what stands there now is another one.

Ollama writes the file anew, so that nothing of its store tells. What is kept is the file's path, size, time and inode,
a sample of it, and the sha256 that its upload needed; of a split model those of all its parts. One of the same size and
time that was touched all the same is sampled. A file that has another time is read once: where it says the same, its
time is noted.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from homellm.deploy.job import Job
from homellm.deploy.ollama_reached import Reached
from homellm.deploy.ollama_record import ServerRecord, update_server_record
from homellm.deploy.session import Emit
from homellm.deploy.threads import apart
from homellm.deploy.unapplied import COMPARED_BY_UP
from homellm.domain.events import Progress
from homellm.domain.ollama import MadeFrom, StoredModel
from homellm.domain.ollama_names import parse_name
from homellm.domain.stack import Model
from homellm.ports import ModelFiles

#: What the tag of a name is given behind it while a new model takes the name.
_ASIDE = "-homellm-old"


@dataclass(frozen=True, slots=True)
class Origin:
    """How a name of Ollama's came to be. `made` tells that homellm made it, and of what the stack file names now.

    `file` is the file as it is now, without `digests` until it was read; None for a model that is made from another
    one, and for a file that cannot be seen.
    """

    made: bool
    record: ServerRecord
    file: MadeFrom | None = None


def origin(model: Model, name: str, record: ServerRecord, reached: Reached, job: Job, emit: Emit) -> Origin:
    """What a model was made of, against what stands there now. Reads a whole file only where its time is another.

    Raises Interrupted, and Refused for a file that cannot be read.
    """
    now, made = _file_now(model, job.ports.files), name in record.made
    kept = record.made.get(name)
    if now is None or kept is None:
        return Origin(made and now is None, record, now)
    same = _is_same(now, kept, model, job.ports.files)
    if same is not None:
        return Origin(made and same, record, kept if same else now)
    emit(Progress(model.name, "creating", f"reading {now.path}, which may be another file than it was"))
    now = with_digests(now, parts_of(model, job.ports.files), job)
    if now.digests != kept.digests:
        return Origin(False, record, now)
    return Origin(made, note(name, now, reached, job), now)


def looks_changed(model: Model, name: str, record: ServerRecord, files: ModelFiles) -> str:
    """Why Ollama's model may not be that of its file, as a sentence; empty where nothing says so. Reads a sample."""
    now, kept = _file_now(model, files), record.made.get(name)
    if now is None or name not in record.made:
        return ""
    if kept is None:
        return f"Whether Ollama's model was made from {now.path} is not known; homellm up makes it anew."
    same = _is_same(now, kept, model, files)
    return "" if same else _difference(now, kept, known=same is not None)


def _difference(now: MadeFrom, kept: MadeFrom, *, known: bool) -> str:
    if now.size_bytes != kept.size_bytes:
        return f"{now.path} has not the size of the file that Ollama's model was made from; homellm up makes it anew."
    if known:
        return f"{now.path} is not the file that Ollama's model was made from; homellm up makes it anew."
    if _is_dated_as(now, kept):
        return f"{now.path} may be another file than Ollama's model was made from; {COMPARED_BY_UP}"
    newer = kept.path == now.path and now.mtime_ns > kept.mtime_ns
    why = "is newer than what Ollama serves" if newer else "is not the file that Ollama's model was made from"
    return f"{now.path} {why}; {COMPARED_BY_UP}"


def _file_now(model: Model, files: ModelFiles) -> MadeFrom | None:
    path = model.source.path if model.source.kind != "ollama" else None
    stamp = files.stamp(path) if path is not None else None
    return MadeFrom(str(path), stamp.size_bytes, stamp.mtime_ns, inode=stamp.inode) if stamp is not None else None


def _is_same(now: MadeFrom, kept: MadeFrom, model: Model, files: ModelFiles) -> bool | None:
    """Whether it is the file that was kept; None where only all of it can tell."""
    if now.size_bytes != kept.size_bytes:
        return False
    if not _is_dated_as(now, kept):
        return None
    if now.inode and now.inode == kept.inode:
        return True
    sample = files.sample(parts_of(model, files)) if kept.sample else ""
    return sample == kept.sample if sample else None


def _is_dated_as(now: MadeFrom, kept: MadeFrom) -> bool:
    return (now.path, now.mtime_ns) == (kept.path, kept.mtime_ns)


def with_digests(file: MadeFrom, parts: tuple[Path, ...], job: Job) -> MadeFrom:
    """The file with the sha256 of each of its parts, read unless they are known. Raises Interrupted, and Refused."""
    if len(file.digests) == len(parts):
        return file
    digests = tuple(apart(partial(job.ports.files.sha256, part), job.scope) for part in parts)
    return replace(file, digests=digests, sample=job.ports.files.sample(parts))


def parts_of(model: Model, files: ModelFiles) -> tuple[Path, ...]:
    """The files that a model is made from: one, or the parts of a split one in their order."""
    path = model.source.path
    if path is None:
        return ()
    return tuple(Path(part) for part in files.look(path).parts) or (path,)


def note(name: str, file: MadeFrom | None, reached: Reached, job: Job) -> ServerRecord:
    """Keep in the server's record that homellm made a name, and from which file."""

    def with_name(kept: ServerRecord) -> ServerRecord:
        return replace(kept, made={**kept.made, name: file})

    return update_server_record(reached.container, reached.url, job, with_name)


@contextmanager
def old_copy_leaves(name: str, own: StoredModel, reached: Reached) -> Iterator[None]:
    """Within it a name comes to mean another model; afterwards the old one's weights are out of memory.

    Ollama knows what is in memory by its blob, and asks for it by name: once the name means another blob, nobody could
    unload the old one. So that has a second name until then, and serves all the while.
    """
    wanted = parse_name(name)
    if not own.usable or not any(parse_name(one.name).same(wanted) for one in reached.api.loaded()):
        yield
        return
    aside = f"{name}{_ASIDE}"
    # One that a killed run has left stays: the name itself may mean the new model already.
    if not any(parse_name(one.name).same(parse_name(aside)) for one in reached.api.list_models()):
        reached.api.copy(name, aside)
    try:
        yield
        reached.api.unload(aside)
    finally:
        reached.api.delete(aside)

"""The hub's cache on this machine: found, filled and measured as huggingface_hub lays it out, so that others share it.

`models--org--repo/` has `blobs/` by content, `snapshots/<commit>/` of links into it, and `refs/<branch>` with a commit.
Source: huggingface_hub's guide "Understand caching". What homellm adds is a name of its own for what is not finished:
`blobs/<digest>.homellm.incomplete`. The library of today begins every download anew under a name that nobody else
knows, and older ones may leave holes in theirs.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from dataclasses import dataclass, replace
from pathlib import Path

from homellm.domain.hub import DEFAULT_QUANT, HubFile, HubModel, HubRef, NoSuchModel, choose, sound

INCOMPLETE = ".homellm.incomplete"


@dataclass(frozen=True, slots=True)
class HubCache:
    """`root` is the hub's cache, `memory` a folder of our own that may vanish: which files a source came to mean."""

    root: Path
    memory: Path

    def repo(self, ref: HubRef) -> Path:
        """The folder of a repository."""
        return self.root / f"models--{ref.repo.replace('/', '--')}"

    def blob(self, ref: HubRef, file: HubFile) -> Path:
        """Where the content of a file stands."""
        return self.repo(ref) / "blobs" / file.blob

    def incomplete(self, ref: HubRef, file: HubFile) -> Path:
        """Where the content of a file grows until it is whole."""
        return self.repo(ref) / "blobs" / f"{file.blob}{INCOMPLETE}"

    def lock(self, ref: HubRef, file: HubFile) -> Path:
        """The lock that every program of Hugging Face takes while it brings a file."""
        return self.root / ".locks" / self.repo(ref).name / f"{file.blob}.lock"

    def located(self, ref: HubRef, commit: str, files: tuple[HubFile, ...]) -> HubModel:
        """A model with its place in the cache and with what of it is here."""
        model = HubModel(ref, commit, files, self.repo(ref) / "snapshots" / commit)
        stands = [_size(model.folder / file.name) == file.size_bytes for file in files]
        here = [file.size_bytes if there else self._begun(ref, file) for file, there in zip(files, stands, strict=True)]
        return replace(model, here_bytes=sum(here), complete=all(stands))

    def _begun(self, ref: HubRef, file: HubFile) -> int:
        if not file.digest:
            return 0
        if _size(self.blob(ref, file)) == file.size_bytes:
            return file.size_bytes
        return min(_size(self.incomplete(ref, file)) or 0, file.size_bytes)

    def find(self, ref: HubRef, *, guess: bool = False) -> HubModel | None:
        """A model that is here whole: the one that this source meant before, else the one that its words mean.

        Without a quant only Q4_K_M is taken as meant: a repository may have it although only another is here. With
        `guess`, where nobody can be asked, so is the only one that is here.
        """
        remembered = self._recall(ref)
        if remembered is not None and remembered.complete:
            return remembered
        commit = ref.revision if ref.pinned else self._commit(ref)
        if commit is None:
            return None
        vague = ref.quant is None and ref.file is None
        wanted = replace(ref, quant=DEFAULT_QUANT) if vague and not guess else ref
        try:
            files = choose(wanted, _snapshot(self.repo(ref) / "snapshots" / commit))
        except NoSuchModel:
            return None
        return self.located(ref, commit, files)

    def deciding(self, ref: HubRef) -> tuple[Path, ...]:
        """The small files by which `find` decides, which need not exist: what a source came to mean, and its branch."""
        return (self._memo(ref), self._branch(ref))

    def _branch(self, ref: HubRef) -> Path:
        return self.repo(ref) / "refs" / ref.revision

    def _commit(self, ref: HubRef) -> str | None:
        try:
            commit = self._branch(ref).read_text("utf-8").strip()
        except (OSError, UnicodeDecodeError):
            return None
        return commit if commit.isalnum() else None

    def link(self, model: HubModel, file: HubFile) -> None:
        """Give a finished blob its name in the snapshot; a copy of it where links cannot be made. Raises OSError."""
        name, blob = model.folder / file.name, self.blob(model.ref, file)
        name.parent.mkdir(parents=True, exist_ok=True)
        name.unlink(missing_ok=True)
        try:
            name.symlink_to(os.path.relpath(blob, name.parent))
        except FileExistsError:
            return  # another program was quicker
        except OSError:
            blob.replace(name)

    def settle(self, model: HubModel) -> None:
        """Note a model that is whole: its commit as that of the branch, and its files as what the source means."""
        if not model.ref.pinned:
            _write(self._branch(model.ref), model.commit)
        files = [[file.name, file.size_bytes, file.digest] for file in model.files]
        _write(self._memo(model.ref), json.dumps({"source": str(model.ref), "commit": model.commit, "files": files}))

    def _memo(self, ref: HubRef) -> Path:
        return self.memory / f"{hashlib.sha256(str(ref).encode()).hexdigest()[:32]}.json"

    def _recall(self, ref: HubRef) -> HubModel | None:
        try:
            kept = json.loads(self._memo(ref).read_text("utf-8"))
            files = tuple(HubFile(str(name), int(size), str(digest)) for name, size, digest in kept["files"])
            if kept["source"] != str(ref) or not files or not all(map(sound, files)):
                return None
            return self.located(ref, str(kept["commit"]), files)
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def free_bytes(self) -> int | None:
        """What the cache's disk has left; None where that cannot be seen."""
        for folder in (self.root, *self.root.parents):
            try:
                return shutil.disk_usage(folder).free
            except FileNotFoundError:
                continue
            except OSError:
                return None
        return None

    def repositories(self) -> tuple[tuple[str, int], ...]:
        """The repositories that are here and the bytes of their blobs, the largest first."""
        found: list[tuple[str, int]] = []
        for folder in self.root.glob("models--*--*"):
            try:
                size = sum(blob.lstat().st_size for blob in (folder / "blobs").iterdir())
            except OSError:
                continue
            found.append((folder.name.removeprefix("models--").replace("--", "/"), size))
        return tuple(sorted(found, key=lambda one: -one[1]))


def _size(path: Path) -> int | None:
    """The size of a file, links followed; None when there is none."""
    try:
        return path.stat().st_size if path.is_file() else None
    except OSError:
        return None


def _snapshot(folder: Path) -> list[HubFile]:
    """The files of a snapshot that lead somewhere."""
    found = ((path, _size(path)) for path in sorted(folder.rglob("*.[gG][gG][uU][fF]")))
    return [HubFile(path.relative_to(folder).as_posix(), size) for path, size in found if size is not None]


def _write(path: Path, text: str) -> None:
    """Write a small file whole or not at all; where that is impossible it is left out: nothing rests on it."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        begun = path.with_name(f"{path.name}.{os.getpid()}.tmp")
        begun.write_text(text, "utf-8")
        begun.replace(path)
    except OSError:
        return

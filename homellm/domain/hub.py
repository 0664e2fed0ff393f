"""Models of Hugging Face's hub: what is asked for, and which files of a repository that is. Pure.

`org/repo`, `org/repo:QUANT` or `org/repo/file.gguf`, each with `@REVISION` after the repository where one is pinned.
A quant is chosen as llama-server's own -hf does (help of build 11669), but nothing is guessed: without a quant it is
Q4_K_M, else the only model there; several that could be meant are an error that lists them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

#: What is taken where no quant is named, if the repository has it.
DEFAULT_QUANT = "Q4_K_M"
DEFAULT_REVISION = "main"
#: The longest name that the hub gives to a repository, and more than any file name has.
MAX_REPO_NAME = 96
MAX_FILE_NAME = 512

_REPO = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*/[A-Za-z0-9_][A-Za-z0-9._-]*")
_REVISION = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_QUANT = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,59}")
_PART = re.compile(r"(?P<stem>.+)-(?P<number>\d{5})-of-(?P<count>\d{5})")
#: The quant as it ends nearly every file name of the hub (`Model-UD-Q4_K_XL.gguf`, `model.q8_0.gguf`).
_LABEL = re.compile(
    r"(?:^|[-._])((?:UD[-_])?(?:I?Q\d+|TQ\d+|BF16|F16|FP16|F32|MXFP\d+|NVFP\d+)(?:_[A-Z0-9]+)*)$", re.IGNORECASE
)
#: GGUF files that are no model by themselves: projectors, and the matrices that quantizing was guided by.
_OTHER = re.compile(r"(?:^|[-._/])(?:mmproj|imatrix)(?:$|[-._])", re.IGNORECASE)
_DIGEST = re.compile(r"[0-9a-f]{64}|git:[0-9a-f]{40}")
_HEX_COMMIT = re.compile(r"[0-9a-f]{40}")


@dataclass(frozen=True, slots=True)
class HubRef:
    """What a source asks for: a repository at a revision, and of it one file, one quant, or the default quant."""

    repo: str
    revision: str = DEFAULT_REVISION
    quant: str | None = None
    file: str | None = None

    def __str__(self) -> str:
        at = "" if self.revision == DEFAULT_REVISION else f"@{self.revision}"
        rest = f"/{self.file}" if self.file else f":{self.quant}" if self.quant else ""
        return f"{self.repo}{at}{rest}"

    @property
    def pinned(self) -> bool:
        """Whether the revision is a commit, which never moves."""
        return _HEX_COMMIT.fullmatch(self.revision) is not None


@dataclass(frozen=True, slots=True)
class HubFile:
    """A file of a repository. `digest` is the sha256 of its content, or for small ones `git:` and git's own sha1."""

    name: str
    size_bytes: int
    digest: str = ""

    @property
    def blob(self) -> str:
        """Its name in the cache's `blobs`."""
        return self.digest.removeprefix("git:")


@dataclass(frozen=True, slots=True)
class HubModel:
    """A model of the hub: its files at one commit, the parts of a split one in order.

    `folder` is where they stand in the cache, or will; `here_bytes` is what of them is here already, finished or begun.
    """

    ref: HubRef
    commit: str
    files: tuple[HubFile, ...]
    folder: Path
    here_bytes: int = 0
    complete: bool = False

    @property
    def path(self) -> Path:
        """The file that a server is started on."""
        return self.folder / self.files[0].name

    @property
    def size_bytes(self) -> int:
        """All its files together."""
        return sum(file.size_bytes for file in self.files)

    @property
    def missing_bytes(self) -> int:
        """What a pull would still have to bring."""
        return max(self.size_bytes - self.here_bytes, 0)


class NoSuchModel(Exception):
    """The repository has no file, or several, that could be meant; `there` is what it has, as a source names it."""

    def __init__(self, reason: str, there: tuple[str, ...] = ()) -> None:
        super().__init__(reason)
        self.reason = reason
        self.there = there


def parse_ref(text: str) -> HubRef:
    """The text after `hf:`. Raises ValueError with what is wrong, as the end of a sentence."""
    repo, revision, quant, file = _split(text)
    if len(repo) > MAX_REPO_NAME or not _REPO.fullmatch(repo) or ".." in repo or "--" in repo or repo.endswith(".git"):
        raise ValueError("does not name a repository as `org/repo`")
    if revision is not None and not _REVISION.fullmatch(revision):
        raise ValueError("has no branch, tag or commit after the `@`")
    if quant is not None and not _QUANT.fullmatch(quant):
        raise ValueError("has no quant after the last `:`")
    if file is not None:
        _check_file(file)
    return HubRef(repo, revision or DEFAULT_REVISION, quant, file)


def _split(text: str) -> tuple[str, str | None, str | None, str | None]:
    """(org/repo, revision, quant, file)."""
    org, _, rest = text.partition("/")
    name, slash, file = rest.partition("/")
    name, colon, quant = name.partition(":") if not slash else (name, "", "")
    name, at, revision = name.partition("@")
    return f"{org}/{name}", revision if at else None, quant if colon else None, file if slash else None


def _check_file(file: str) -> None:
    parts = file.split("/")
    if not file.lower().endswith(".gguf") or len(file) > MAX_FILE_NAME or not file.isprintable():
        raise ValueError("names a file that is no .gguf")
    if any(part in ("", ".", "..") for part in parts) or "\\" in file:
        raise ValueError("names a file by a path that is none of a repository")


def sound(file: HubFile) -> bool:
    """Whether name, size and digest are such as a hub has: they become paths here, and a mirror may be anybody's."""
    try:
        _check_file(file.name)
    except ValueError:
        return False
    return file.size_bytes > 0 and _DIGEST.fullmatch(file.digest) is not None


def choose(ref: HubRef, files: Iterable[HubFile]) -> tuple[HubFile, ...]:
    """The files of a repository that `ref` means, the first part first. Raises NoSuchModel."""
    models = _models(files)
    if ref.file is not None:
        return _named(ref.file, models)
    if not models:
        raise NoSuchModel(f"{ref.repo} has no GGUF model in it")
    wanted = ref.quant or DEFAULT_QUANT
    found = _of_quant(wanted, models)
    if not found and ref.quant is None and len(models) == 1:
        found = list(models)
    if not found:
        names = quants(models)
        what = f"no model of the quant {wanted}" if ref.quant else f"no {DEFAULT_QUANT}, and several other models"
        raise NoSuchModel(f"{ref.repo} has {what}", names)
    if len(found) > 1:
        raise NoSuchModel(
            f"{ref.repo} has {len(found)} models of the quant {wanted}", tuple(f"/{one}" for one in found)
        )
    return _whole(found[0], models[found[0]])


def _models(files: Iterable[HubFile]) -> dict[str, list[HubFile]]:
    """The models of a repository: the name of the first file to all parts that are there, sorted by name."""
    found: dict[str, list[HubFile]] = {}
    for file in sorted(files, key=lambda one: one.name):
        if not file.name.lower().endswith(".gguf") or _OTHER.search(file.name[: -len(".gguf")]):
            continue
        part = _PART.fullmatch(file.name[: -len(".gguf")])
        first = f"{part['stem']}-00001-of-{part['count']}{file.name[-len('.gguf') :]}" if part else file.name
        found.setdefault(first, []).append(file)
    return found


def _named(name: str, models: dict[str, list[HubFile]]) -> tuple[HubFile, ...]:
    """A file that is named; a projector, too, may be asked for by its name, but then it is no model."""
    if name in models:
        return _whole(name, models[name])
    if any(name == part.name for parts in models.values() for part in parts):
        first = next(first for first, parts in models.items() if any(part.name == name for part in parts))
        raise NoSuchModel(f"{name} is one part of a split model; name the first one", (f"/{first}",))
    raise NoSuchModel(f"there is no model file {name}", tuple(f"/{one}" for one in models))


def _of_quant(wanted: str, models: dict[str, list[HubFile]]) -> list[str]:
    """The models of a quant: those whose names end in exactly it, else those that have it between separators."""
    low = wanted.lower()
    exact = [name for name in models if label(name).lower() == low]
    if exact:
        return exact
    inside = re.compile(rf"(?:^|[-._/]){re.escape(low)}(?:$|[-./])")
    return [name for name in models if inside.search(_stem(name).lower())]


def _stem(name: str) -> str:
    stem = name[: -len(".gguf")]
    part = _PART.fullmatch(stem)
    return part["stem"] if part else stem


def label(name: str) -> str:
    """The quant that a file's name ends in; empty where it tells none."""
    found = _LABEL.search(_stem(name).rpartition("/")[2])
    return found[1] if found else ""


def quants(models: Iterable[str]) -> tuple[str, ...]:
    """The quants of models as a source would name them: `:Q8_0`, or `/file.gguf` where the name tells none."""
    return tuple(dict.fromkeys(f":{label(name)}" if label(name) else f"/{name}" for name in models))


def _whole(first: str, parts: list[HubFile]) -> tuple[HubFile, ...]:
    """All parts of a model, which must be there from the first to the last."""
    part = _PART.fullmatch(first[: -len(".gguf")])
    if part is None:
        return tuple(parts)
    count = int(part["count"])
    numbers = [int(_number(file.name)) for file in parts]
    missing = [number for number in range(1, count + 1) if number not in numbers]
    if missing or len(numbers) != count:
        raise NoSuchModel(f"{first} is a model of {count} parts, of which the repository has {len(numbers)}")
    return tuple(sorted(parts, key=lambda file: _number(file.name)))


def _number(name: str) -> str:
    found = _PART.fullmatch(name[: -len(".gguf")])
    return found["number"] if found else ""

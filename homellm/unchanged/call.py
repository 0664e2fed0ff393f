"""Which command line it is: who called what, where, with which of the variables that homellm heeds, on which screen."""

from __future__ import annotations

import os

from homellm.unchanged.digest import digest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import TextIO

#: Set to anything, it makes every `up` look at everything, and keep nothing.
OFF = "HOMELLM_NO_SHORT_CUT"
#: Variables that homellm, or what it stands on, heeds: by how their names begin.
_HEEDED = (
    *("HOMELLM_", "DOCKER_", "HF_", "HUGGING", "TRANSFORMERS_", "PYTHON", "LC_", "LANG", "COLUMNS", "LINES", "TERM"),
    *("NO_COLOR", "FORCE_COLOR", "COLORTERM", "XDG_CACHE_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR", "HOME"),
)
#: Set where a shell asks what could come next (see Typer's documentation of completion).
_COMPLETION = "_HOMELLM_COMPLETE"


def is_candidate(argv: list[str], environ: Mapping[str, str]) -> bool:
    """Whether a command line may be one of those that were kept: a cheap look, before anything is read."""
    off = any(environ.get(name) for name in (OFF, _COMPLETION, "HOMELLM_HOST_ROOT"))
    return "up" in argv and not off and bool(environ.get("XDG_CACHE_HOME") or environ.get("HOME"))


def key(argv: list[str], environ: Mapping[str, str], stdout: TextIO) -> str:
    """One name for all of it, as a digest: values of variables may be secrets. Raises OSError."""
    heeded = sorted((name, value) for name, value in environ.items() if name.startswith(_HEEDED))
    who = [os.geteuid(), os.getegid(), sorted(os.getgroups())]
    columns = os.get_terminal_size(stdout.fileno()).columns if stdout.isatty() else None
    return digest([argv, os.getcwd(), who, heeded, stdout.encoding, columns])


def folder(environ: Mapping[str, str]) -> str:
    """Where witnesses are kept; the cache's place as cli.wiring has it."""
    named = environ.get("XDG_CACHE_HOME", "")
    cache = named if os.path.isabs(named) else os.path.join(environ.get("HOME") or "/nonexistent", ".cache")
    return os.path.join(cache, "homellm", "unchanged")


def variables(names: list[str], environ: Mapping[str, str]) -> str:
    """The values of the variables that a stack file names, as a digest."""
    return digest([[name, environ.get(name)] for name in names])

"""Readers of an Ollama server's values: times as Ollama reads them, stores, addresses, places of logs, origins."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import urlsplit

from pydantic import ValidationInfo

from homellm.domain.stack import OLLAMA_HOME, LogSource, Volume
from homellm.loading import compound
from homellm.loading.paths import shorten
from homellm.loading.values import complain, filled

_SECONDS = re.compile(r"-?[0-9]{1,9}")
#: A duration in Go's writing (time.ParseDuration), which has no days.
_GO_DURATION = re.compile(r"-?(?:[0-9]+(?:\.[0-9]+)?(?:ns|us|µs|ms|s|m|h))+")
_DAYS = re.compile(r"([0-9]{1,4})d")
_VOLUME = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9_.-]+")
_UNIT = re.compile(r"[A-Za-z0-9:_.@\\-]+")
#: The unit of Ollama's own installer.
_OLLAMA_UNIT = "ollama"


def keep_alive(value: Any) -> int | str:
    """Seconds as a number (-1: for ever), or a duration as Ollama reads it."""
    word = filled(value).strip()
    if _SECONDS.fullmatch(word):
        return int(word)
    if _GO_DURATION.fullmatch(word):
        return word
    days = _DAYS.fullmatch(word)
    hint = f"Ollama knows no days: write {int(days[1]) * 24}h." if days else "Write 15m, 1h30m, 300, or -1 for ever."
    if word.lower() in ("never", "forever", "always", "infinite"):
        hint = "Write -1: the model then stays in memory."
    raise complain("wrong-value", f"is `{shorten(word)}`, which Ollama does not read as a time", hint)


def store(value: Any, info: ValidationInfo) -> Volume:
    """A folder of the host, or `volume:NAME`."""
    word = filled(value).strip()
    kind, colon, name = word.partition(":")
    if colon and kind == "volume":
        if not _VOLUME.fullmatch(name):
            raise complain("wrong-value", f"is `{shorten(word)}`, which names no volume", "Write `volume:NAME`.")
        return Volume(name, OLLAMA_HOME, named=True)
    if not word.startswith(("/", ".", "~")):
        hint = f"For a folder write `./{shorten(word)}`, for a volume `volume:{shorten(word)}`."
        raise complain("wrong-value", f"is `{shorten(word)}`, which is neither a folder nor a volume", hint)
    return Volume(str(compound.path(word, info)), OLLAMA_HOME)


def url(value: Any) -> str:
    """The address of an Ollama that runs already."""
    word = filled(value).strip().rstrip("/")
    example = "Write it as http://127.0.0.1:11434."
    try:
        parts = urlsplit(word)
        _ = parts.port
    except ValueError as error:
        raise complain("wrong-value", f"is `{shorten(word)}`, which is no URL", example) from error
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise complain("wrong-value", f"is `{shorten(word)}`, which is no URL of a server", example)
    if parts.username is not None or parts.query or parts.fragment:
        raise complain("wrong-value", "has more in it than a server's address", example)
    if parts.path in ("/v1", "/api"):
        raise complain("wrong-value", f"ends in `{parts.path}`", f"Write it without: {word.removesuffix(parts.path)}")
    return word


def log_from(value: Any, info: ValidationInfo) -> LogSource:
    """`journal`, `journal:UNIT`, `docker:CONTAINER` or the path of a file."""
    word = filled(value).strip()
    kind, colon, name = word.partition(":")
    if kind in ("journal", "docker") and (colon or kind == "journal"):
        where = name or (_OLLAMA_UNIT if kind == "journal" and not colon else "")
        if not _UNIT.fullmatch(where):
            raise complain("wrong-value", f"is `{shorten(word)}`, which names nothing after `{kind}:`")
        return LogSource("journal" if kind == "journal" else "container", where)
    if word.startswith(("/", ".", "~")):
        return LogSource("file", str(compound.path(word, info)))
    hint = "Write journal, journal:UNIT, docker:CONTAINER, or the path of a file."
    raise complain("wrong-value", f"is `{shorten(word)}`, which tells no place of a log", hint)


def origin(value: Any) -> str:
    """One origin, as Ollama splits them at commas."""
    word = filled(value).strip()
    if "," in word or " " in word:
        raise complain("wrong-value", f"is `{shorten(word)}`, more than one origin", "Make each an item of its own.")
    return word

"""Paths of keys inside a stack file (`("models", "smol", "env", "A")`), and how they are spoken of."""

from __future__ import annotations

from typing import TypeAlias

KeyPath: TypeAlias = tuple[str | int, ...]

#: Sections whose members have names of their own.
NAMED_SECTIONS = ("models", "gpus", "ollama")
MAX_SHOWN = 60


def _is_member(path: KeyPath) -> bool:
    """Whether a path is that of a whole model, GPU or Ollama server."""
    return path[:1] in [(section,) for section in NAMED_SECTIONS] and path[2:] == () and path[1:] != ()


def section_depth(path: KeyPath) -> int:
    """How many parts of a path say where a key stands: 0 at the top, 1 in `defaults`, 2 in a model, GPU or server."""
    if len(path) > 1 and path[0] in NAMED_SECTIONS:
        return 2
    return 1 if len(path) > 1 and path[0] == "defaults" else 0


def allows_extensions(path: KeyPath) -> bool:
    """Whether keys that begin with `x-` are free in the mapping at this path."""
    return path in ((), ("defaults",)) or _is_member(path)


def model_of(path: KeyPath) -> str | None:
    """The name of the model that a path lies in."""
    return str(path[1]) if len(path) > 1 and path[0] == "models" else None


def where(path: KeyPath) -> str:
    """The section that a path lies in, as the end of a phrase: ` in model `smol``; empty at the top."""
    if len(path) > 1 and path[0] == "models":
        return f" in model `{shorten(str(path[1]))}`"
    if len(path) > 1 and path[0] == "gpus":
        return f" in GPU `{shorten(str(path[1]))}`"
    if len(path) > 1 and path[0] == "ollama":
        return f" in Ollama server `{shorten(str(path[1]))}`"
    return " in `defaults`" if path[:1] == ("defaults",) and len(path) > 1 else ""


def label(path: KeyPath) -> str:
    """What stands at a path, as the subject of a sentence: `` `ctx` in model `smol` ``."""
    if not path:
        return "the file"
    if _is_member(path):
        return where(path).removeprefix(" in ")
    words = path[section_depth(path) :]
    name = ".".join(shorten(str(word)) for word in words if not isinstance(word, int))
    item = next((f"item {word + 1} of " for word in words if isinstance(word, int)), "")
    return f"{item}`{name}`{where(path)}"


def shorten(text: str) -> str:
    """A text of the file for a message: one line, at most MAX_SHOWN characters."""
    line = " ".join("".join(char if char.isprintable() else " " for char in text).split(" "))
    return line if len(line) <= MAX_SHOWN else line[: MAX_SHOWN - 1] + "…"

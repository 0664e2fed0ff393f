"""The tree of a YAML text: scalars keep their text as it was written, for the key's type to read it.

Whether `on`, `010`, `1.10` or `9022:22` is a word, a number or a boolean is decided by the key that it belongs to and
never by YAML's own guess, which differs between its versions.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TypeAlias

#: The words that are YAML's own for nothing.
NULLS = ("null", "Null", "NULL", "~")


@dataclass(frozen=True, slots=True, order=True)
class Mark:
    """A place in the text; line and column count from 1."""

    line: int
    column: int


@dataclass(frozen=True, slots=True)
class Scalar:
    """A word. `plain` when neither quoted nor a block; `span` is where it stands, in characters of the text.

    `broken` marks one that stands for something which was already complained about.
    """

    text: str
    plain: bool
    mark: Mark
    span: tuple[int, int] = (0, 0)
    tag: str | None = None
    broken: bool = False

    @property
    def is_empty(self) -> bool:
        """Whether nothing at all was written."""
        return self.plain and not self.text

    @property
    def is_null(self) -> bool:
        """Whether it is YAML's own word for nothing."""
        return self.plain and self.text in NULLS


@dataclass(frozen=True, slots=True)
class Sequence:
    """A list."""

    items: tuple[Node, ...]
    mark: Mark
    tag: str | None = None


@dataclass(frozen=True, slots=True)
class Entry:
    """A key and its value; `mark` is the key's."""

    key: str
    mark: Mark
    value: Node


@dataclass(frozen=True, slots=True)
class Mapping:
    """Keys and values, those of `<<` merged in; no key stands twice."""

    entries: tuple[Entry, ...]
    mark: Mark
    tag: str | None = None

    def get(self, key: str) -> Node | None:
        """The value of a key, or None."""
        return next((entry.value for entry in self.entries if entry.key == key), None)


Node: TypeAlias = Scalar | Sequence | Mapping


def at(node: Node, mark: Mark) -> Node:
    """The node as an alias at `mark` stands for it: a word is complained about where it is used."""
    return replace(node, mark=mark) if isinstance(node, Scalar) else node


def walk(root: Node) -> Iterator[Node]:
    """Every node of the text once, however often it is used."""
    seen: set[int] = set()
    waiting: list[Node] = [root]
    while waiting:
        node = waiting.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        yield node
        if isinstance(node, Mapping):
            waiting.extend(entry.value for entry in node.entries)
        elif isinstance(node, Sequence):
            waiting.extend(node.items)

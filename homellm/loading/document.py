"""A tree of nodes as plain data with variables replaced, and where each part of it stands."""

from __future__ import annotations

from collections.abc import Mapping as MappingType
from dataclasses import dataclass, field
from typing import Any

from homellm.loading.compose import MAX_DEPTH, Unreadable
from homellm.loading.findings import Findings, is_secret_key
from homellm.loading.interpolate import InterpolationError, interpolate, interpolate_known
from homellm.loading.nodes import Mapping, Mark, Node, Scalar, Sequence
from homellm.loading.paths import KeyPath, allows_extensions, label, model_of, section_depth

#: How many parts a file may have once its aliases are written out: a bomb of aliases ends here.
MAX_PARTS = 20_000

_DROPPED = object()
_PAIRS = ("env", "labels")

#: The keys by which what runs is found and shown: they have to be known also where nothing is made of the others.
_SHOWN = frozenset({"stack", "runner", "server", "port", "bind", "container_name", "parallel", "url"})
#: What has to be there, and of which only the beginning matters to who looks.
_SOURCES = ("source", "fallback_source")


@dataclass(slots=True)
class Document:
    """Nested dicts, lists and texts. Nothing is a number or a boolean yet.

    `marks` has the place of each key and list item, `value_marks` that of its value; `inside` lists the paths that lie
    in a section (a model, a GPU, `defaults`, the top). `bad` are keys that were given
    but already complained about, so that they are not called missing; `nulls` are keys whose value is `null`: they
    count as not given, not even by `defaults`. `unset` are those that could not be read, by who only looks: a variable
    in them is not set.
    """

    data: dict[str, Any] = field(default_factory=dict)
    marks: dict[KeyPath, Mark] = field(default_factory=dict)
    value_marks: dict[KeyPath, Mark] = field(default_factory=dict)
    inside: dict[KeyPath, list[KeyPath]] = field(default_factory=dict)
    bad: set[KeyPath] = field(default_factory=set)
    nulls: set[KeyPath] = field(default_factory=set)
    unset: set[KeyPath] = field(default_factory=set)

    def mark(self, path: KeyPath) -> Mark:
        """Where a path stands, or the nearest thing around it."""
        return next((self.marks[path[:n]] for n in range(len(path), 0, -1) if path[:n] in self.marks), Mark(1, 1))

    def value_mark(self, path: KeyPath) -> Mark:
        """Where the value of a path stands, or the nearest thing around it."""
        return self.value_marks.get(path) or self.mark(path)

    def drop(self, path: KeyPath) -> None:
        """Take a key out of the data, since it was complained about."""
        self.bad.add(path)
        inner: Any = self.data
        for word in path[:-1]:
            inner = inner.get(word, {})
        if path and isinstance(inner, dict):
            inner.pop(path[-1], None)


def read_document(
    root: Mapping, environ: MappingType[str, str], findings: Findings, *, looking: bool = False
) -> Document:
    """The data of a file. Notes unset variables, missing values and tags. Raises Unreadable for an alias bomb.

    `looking` is for who only looks at what runs: a key that is not shown, and whose variable is not set, is left out.
    """
    reader = _Reader(environ, findings, looking=looking)
    reader.document.data = reader.mapping(root, ())
    return reader.document


class _Reader:
    def __init__(self, environ: MappingType[str, str], findings: Findings, *, looking: bool) -> None:
        self.document = Document()
        self._looking = looking
        self._environ = environ
        self._findings = findings
        self._parts = 0

    def mapping(self, node: Mapping, path: KeyPath) -> dict[str, Any]:
        """A mapping without its `x-` keys, where those are free."""
        free = allows_extensions(path)
        data: dict[str, Any] = {}
        for entry in node.entries:
            if free and entry.key.startswith("x-"):
                continue
            value = self._value(entry.value, (*path, entry.key), entry.mark)
            if value is not _DROPPED:
                data[entry.key] = value
        return data

    def _value(self, node: Node, path: KeyPath, mark: Mark) -> Any:
        self._count(node, path)
        self.document.marks.setdefault(path, mark)
        self.document.value_marks.setdefault(path, node.mark)
        self.document.inside.setdefault(path[: section_depth(path)], []).append(path)
        if node.tag is not None:
            self._bad("yaml-tag", path, node.mark, f"{label(path)} has a YAML tag (`!…`)", "Remove it.")
            return _DROPPED
        if isinstance(node, Mapping):
            return self.mapping(node, path)
        if isinstance(node, Sequence):
            pairs = path[section_depth(path) :]
            return self._pairs(node, path) if pairs in [(word,) for word in _PAIRS] else self._list(node, path)
        return self._scalar(node, path)

    def _list(self, node: Sequence, path: KeyPath) -> list[Any]:
        """A list; None keeps the place of an item that was complained about."""
        values = [self._value(item, (*path, number), item.mark) for number, item in enumerate(node.items)]
        if self._looking:
            return [value for value in values if value is not _DROPPED]
        return [None if value is _DROPPED else value for value in values]

    def _pairs(self, node: Sequence, path: KeyPath) -> dict[str, Any]:
        """A list of `NAME=value` as the mapping that it means."""
        data: dict[str, Any] = {}
        for item in node.items:
            name, equals, text = item.text.partition("=") if isinstance(item, Scalar) else ("", "", "")
            if not equals:
                self._bad_pair(item, name, path)
                continue
            inner = (*path, name)
            if inner in self.document.marks:
                first = self.document.marks[inner].line
                message = f"`{name}` stands twice in {label(path)}, first in line {first}"
                self._findings.add("duplicate-key", item.mark, message, "Keep one.", model_of(path))
                continue
            value = self._value(Scalar(text, plain=False, mark=item.mark), inner, item.mark)
            if value is not _DROPPED:
                data[name] = value
        return data

    def _bad_pair(self, item: Node, name: str, path: KeyPath) -> None:
        if isinstance(item, Scalar) and item.broken:
            return
        hint = f"To hand on your own, write `{name}=${{{name}}}`." if name.isidentifier() else ""
        message = f"an item of {label(path)} is no `NAME=value`"
        self._findings.add("wrong-value", item.mark, message, hint, model_of(path))

    def _scalar(self, node: Scalar, path: KeyPath) -> Any:
        if node.broken:
            self.document.bad.add(path)
            return _DROPPED
        if node.is_empty or node.is_null:
            return self._nothing(node, path)
        try:
            return interpolate(node.text, self._environ)
        except InterpolationError as error:
            key = path[section_depth(path)]
            if self._looking and error.unset and key not in _SHOWN:
                self.document.unset.add(path)
                return interpolate_known(node.text, self._environ) if key in _SOURCES else _DROPPED
            hint = error.secret_hint if is_secret_key(str(path[-1])) else error.hint
            self._bad(error.id, path, node.mark, f"{label(path)} {error.message}", hint)
            return _DROPPED

    def _nothing(self, node: Scalar, path: KeyPath) -> Any:
        """A key without a value: an empty section, a key taken back by `null`, or a slip."""
        inside = path[section_depth(path) :]
        if not inside or (section_depth(path) == 0 and len(path) == 1 and path[0] != "stack"):
            return {}
        if node.is_null and len(inside) == 1 and section_depth(path):
            self.document.nulls.add(path)
            return _DROPPED
        hint = 'Give it one, or remove it; `""` is an empty text.' if len(inside) > 1 else "Give it one, or remove it."
        self._bad("no-value", path, self.document.marks[path], f"{label(path)} has no value", hint)
        return _DROPPED

    def _bad(self, id: str, path: KeyPath, mark: Mark, message: str, hint: str) -> None:
        self.document.bad.add(path)
        self._findings.add(id, mark, message, hint, model_of(path))

    def _count(self, node: Node, path: KeyPath) -> None:
        self._parts += 1
        if self._parts > MAX_PARTS or len(path) > MAX_DEPTH:
            self._findings.add(
                "too-large", node.mark, f"with its aliases written out, the file has more than {MAX_PARTS} parts"
            )
            raise Unreadable

"""YAML text to a tree of nodes with places, aliases and merges resolved. No recursion, and bounded in time."""

from __future__ import annotations

from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError
from ruamel.yaml.events import (
    AliasEvent,
    CollectionEndEvent,
    DocumentStartEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceStartEvent,
)
from ruamel.yaml.reader import ReaderError

from homellm.loading.findings import Findings
from homellm.loading.nodes import Entry, Mapping, Mark, Node, Scalar, Sequence, at
from homellm.loading.syntax import directive_mark, explain_characters, explain_syntax

MAX_CHARACTERS = 256 * 1024
MAX_DEPTH = 40
#: How many keys all `<<` of a file may bring in together.
MAX_MERGED = 20_000


class Unreadable(Exception):
    """The text cannot be read to its end; the reason has been noted."""


def compose(text: str, findings: Findings) -> Node | None:
    """The tree of the one document in `text`, None for an empty one.

    Doubled keys, keys that are no words and unknown aliases are noted and reading goes on. Raises Unreadable when it
    cannot go on: a syntax error, a directive, a second document, too much text or nesting.
    """
    if len(text) > MAX_CHARACTERS:
        findings.add("too-large", Mark(1, 1), f"is larger than {MAX_CHARACTERS // 1024} KiB: this is no stack file")
        raise Unreadable
    if directive := directive_mark(text):
        findings.add(
            "yaml-directive",
            directive,
            "a line with `%` is a YAML directive, and none is allowed: a stack file is always YAML 1.2",
            "Remove this line and the `---` after it.",
        )
        raise Unreadable
    composer = _Composer(findings)
    try:
        for event in YAML(typ="safe", pure=True).parse(text):
            composer.take(event)
    except MarkedYAMLError as error:
        explain_syntax(error, text, findings)
        raise Unreadable from error
    except (ReaderError, ValueError, OverflowError) as error:
        explain_characters(error, text, findings)
        raise Unreadable from error
    return composer.root


@dataclass(slots=True)
class _Open:
    """A list or mapping whose end has not come yet; in a mapping keys and values take turns in `nodes`."""

    is_mapping: bool
    mark: Mark
    tag: str | None
    anchor: str | None
    nodes: list[Node] = field(default_factory=list)


class _Composer:
    def __init__(self, findings: Findings) -> None:
        self.root: Node | None = None
        self._findings = findings
        self._open: list[_Open] = []
        self._anchors: dict[str, Node] = {}
        self._documents = 0
        self._merged = 0

    def take(self, event: Any) -> None:
        """Take the parser's next event."""
        mark = Mark(event.start_mark.line + 1, event.start_mark.column + 1)
        if isinstance(event, DocumentStartEvent):
            self._begin_document(mark)
        elif isinstance(event, AliasEvent):
            self._attach(self._aliased(event.anchor, mark), None)
        elif isinstance(event, ScalarEvent):
            plain = event.style is None and event.tag is None
            span = (event.start_mark.index, event.end_mark.index)
            self._attach(Scalar(event.value, plain, mark, span, event.tag), event.anchor)
        elif isinstance(event, (MappingStartEvent, SequenceStartEvent)):
            self._begin(_Open(isinstance(event, MappingStartEvent), mark, event.tag, event.anchor))
        elif isinstance(event, CollectionEndEvent):
            self._end()

    def _begin_document(self, mark: Mark) -> None:
        self._documents += 1
        if self._documents > 1:
            self._stop("yaml-documents", mark, "a second document begins here", "A stack file is one YAML document.")

    def _begin(self, opened: _Open) -> None:
        if len(self._open) >= MAX_DEPTH:
            self._stop("nesting", opened.mark, f"is nested more than {MAX_DEPTH} levels deep", "")
        self._open.append(opened)

    def _end(self) -> None:
        opened = self._open.pop()
        node: Node
        if opened.is_mapping:
            node = Mapping(self._entries(opened.nodes), opened.mark, opened.tag)
        else:
            node = Sequence(tuple(opened.nodes), opened.mark, opened.tag)
        self._attach(node, opened.anchor)

    def _attach(self, node: Node, anchor: str | None) -> None:
        if anchor is not None:
            self._anchors[anchor] = node
        if self._open:
            self._open[-1].nodes.append(node)
        else:
            self.root = node

    def _aliased(self, name: str, mark: Mark) -> Node:
        if name in self._anchors:
            return at(self._anchors[name], mark)
        if any(opened.anchor == name for opened in self._open):
            self._findings.add("yaml-alias", mark, f"the alias `*{name}` stands inside of what it stands for")
        else:
            near = get_close_matches(name, self._anchors, 1)
            meant = f"; did you mean `*{near[0]}`?" if near else ""
            self._findings.add(
                "yaml-alias", mark, f"no `&{name}` comes before the alias `*{name}`{meant}", "Define it further up."
            )
        return Scalar("", plain=True, mark=mark, broken=True)

    def _entries(self, nodes: list[Node]) -> tuple[Entry, ...]:
        entries: dict[str, Entry] = {}
        merges: list[Node] = []
        for key, value in zip(nodes[::2], nodes[1::2], strict=True):
            if not isinstance(key, Scalar) or key.is_empty:
                self._findings.add("yaml-key", key.mark, "a key must be a word", "Quote it if it is one.")
            elif key.plain and key.text == "<<" and not merges:
                merges = self._merge_sources(value)
            elif key.text in entries:
                first = entries[key.text].mark.line
                self._findings.add(
                    "duplicate-key", key.mark, f"the key `{key.text}` stands twice, first in line {first}", "Keep one."
                )
            else:
                entries[key.text] = Entry(key.text, key.mark, value)
        for source in merges:
            self._merge(source, entries)
        return tuple(entries.values())

    def _merge_sources(self, value: Node) -> list[Node]:
        return list(value.items) if isinstance(value, Sequence) else [value]

    def _merge(self, source: Node, entries: dict[str, Entry]) -> None:
        """Bring in what is not there yet: own keys win over merged ones, earlier sources over later ones."""
        if not isinstance(source, Mapping):
            if not (isinstance(source, Scalar) and source.broken):
                self._findings.add("yaml-merge", source.mark, "`<<` can only merge mappings", "Write `<<: *name`.")
            return
        self._merged += len(source.entries)
        if self._merged > MAX_MERGED:
            self._stop("too-large", source.mark, f"`<<` brings in more than {MAX_MERGED} keys", "")
        for entry in source.entries:
            entries.setdefault(entry.key, entry)

    def _stop(self, id: str, mark: Mark, message: str, hint: str) -> None:
        self._findings.add(id, mark, message, hint)
        raise Unreadable

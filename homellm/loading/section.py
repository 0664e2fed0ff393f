"""A model's own part of the stack file as YAML text: variables not replaced, secrets redacted, aliases written out."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from homellm.domain.secret import REDACTED
from homellm.loading.findings import is_secret_assignment, is_secret_key
from homellm.loading.interpolate import holds_literal
from homellm.loading.nodes import NULLS, Mapping, Node, Scalar, Sequence

#: Words that need no quotes wherever they stand, under any version of YAML.
_BARE = re.compile(r"[A-Za-z0-9_./~$-][A-Za-z0-9_./~$+-]*(?:[:,=@][A-Za-z0-9_./~$+-]+)*")
_NOT_BARE = ("-", "--", "---", "...", *NULLS)
_ESCAPED = re.compile(r"[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")


def model_section(models: Mapping, name: str) -> str:
    """The section of one model, its name included; without its `x-` keys and without comments."""
    node = models.get(name)
    lines = [f"{_quoted(name)}:"]
    if isinstance(node, Mapping):
        lines += (f"  {line}" for line in _mapping(node, free=True))
    return "\n".join(lines) + "\n"


def _mapping(node: Mapping, *, free: bool = False) -> Iterator[str]:
    for entry in node.entries:
        if free and entry.key.startswith("x-"):
            continue
        key = _quoted(entry.key)
        value = entry.value
        if isinstance(value, Scalar):
            yield f"{key}: {_word(_redacted(entry.key, value))}".rstrip()
        elif isinstance(value, Mapping):
            yield f"{key}:" if value.entries else f"{key}: {_empty(value)}"
            yield from (f"  {line}" for line in _mapping(value))
        else:
            yield f"{key}:" if value.items else f"{key}: {_empty(value)}"
            yield from _sequence(value)


def _sequence(node: Sequence) -> Iterator[str]:
    for item in node.items:
        yield from _item(item)


def _item(item: Node) -> Iterator[str]:
    if isinstance(item, Scalar):
        yield f"- {_word(_redacted_item(item))}"
        return
    lines = list(_mapping(item) if isinstance(item, Mapping) else _sequence(item))
    yield f"- {lines[0] if lines else _empty(item)}"
    yield from (f"  {line}" for line in lines[1:])


def _empty(node: Mapping | Sequence) -> str:
    return "{}" if isinstance(node, Mapping) else "[]"


def _redacted(key: str, value: Scalar) -> Scalar:
    if not is_secret_key(key) or value.is_null or not value.text or not holds_literal(value.text):
        return value
    return Scalar(REDACTED, plain=False, mark=value.mark)


def _redacted_item(item: Scalar) -> Scalar:
    if not is_secret_assignment(item.text):
        return item
    return Scalar(f"{item.text.partition('=')[0]}={REDACTED}", plain=False, mark=item.mark)


def _word(scalar: Scalar) -> str:
    """A value as it was written where that is one line of plain text, else as `_quoted` has it."""
    return scalar.text if scalar.plain and "\n" not in scalar.text else _quoted(scalar.text)


def _quoted(text: str) -> str:
    """A text bare where every reader takes it for itself, else in double quotes."""
    if _BARE.fullmatch(text) and text not in _NOT_BARE:
        return text
    return _ESCAPED.sub(lambda found: f"\\u{ord(found[0]):04x}", json.dumps(text, ensure_ascii=False))

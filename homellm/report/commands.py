"""The commands in messages, as people have to type them: with the stack file that this command line named. Pure."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, TypeVar

from homellm.domain.events import Event

#: The verbs that read a stack file; what names its own file keeps it.
_COMMAND = re.compile(
    r"(?<![\w./-])homellm(?=\s+"
    r"(?:up|down|restart|pull|plan|check|ps|logs|doctor|fit|endpoints|render|config)\b(?!\s+(?:-f|--file|--help|-h)\b))"
)
#: Where messages stand in reports, problems and events; everything else is data.
_SPOKEN = frozenset(("hint", "message", "notes", "text"))
#: Where a report keeps what it was made of, which nobody prints.
_EVIDENCE = "seen"

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Commands:
    """How commands are written: `file` is the stack file to name in them, None where none need be."""

    file: str | None = None

    def text(self, text: str) -> str:
        """`text` with `homellm logs smol` as `homellm -f two.yaml logs smol`. Twice is as good as once."""
        if self.file is None or "homellm" not in text:
            return text
        named = f"homellm -f {shlex.quote(self.file)}"
        return _COMMAND.sub(lambda _: named, text)

    def of(self, value: T) -> T:
        """A report, a problem or an event with all its hints, messages and notes so written."""
        return value if self.file is None else self._written(value, spoken=False)

    def emit(self, emit: Callable[[Event], None]) -> Callable[[Event], None]:
        """An `emit` whose events are so written."""
        return lambda event: emit(self.of(event))

    def _written(self, value: Any, *, spoken: bool) -> Any:
        if isinstance(value, str):
            return self.text(value) if spoken and type(value) is str else value
        if isinstance(value, tuple) and type(value) is tuple:
            return tuple(self._written(inner, spoken=spoken) for inner in value)
        if not is_dataclass(value) or isinstance(value, type):
            return value
        said = (field.name for field in fields(value) if field.init and field.name != _EVIDENCE)
        given = {name: getattr(value, name) for name in said}
        new = {name: self._written(inner, spoken=name in _SPOKEN) for name, inner in given.items()}
        changed = {name: inner for name, inner in new.items() if inner is not given[name] and inner != given[name]}
        return replace(value, **changed) if changed else value

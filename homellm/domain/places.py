"""Problems of a model or an Ollama server that point at the line of the stack file which is to blame."""

from __future__ import annotations

from homellm.domain.stack import Declared, Model
from homellm.errors import ExitCode, Problem


def problem_at(
    declared: Declared, key: str, *, id: str, message: str, hint: str = "", exit_code: ExitCode = ExitCode.REFUSED
) -> Problem:
    """A problem at the place of `key`, or at the section's name where that key stands nowhere in the file."""
    place = declared.places.get(key) or declared.places.get("")
    return Problem(
        id=id,
        message=message,
        hint=hint,
        file=place.file if place else None,
        line=place.line if place else None,
        column=place.column if place else None,
        excerpt=place.pointed if place and place.excerpt else None,
        model=declared.name if isinstance(declared, Model) else None,
        exit_code=exit_code,
    )

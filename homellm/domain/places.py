"""Problems of a model that point at the line of the stack file which is to blame."""

from __future__ import annotations

from homellm.domain.stack import Model
from homellm.errors import ExitCode, Problem


def problem_at(
    model: Model, key: str, *, id: str, message: str, hint: str = "", exit_code: ExitCode = ExitCode.REFUSED
) -> Problem:
    """A problem at the place of `key`, or at the model's name where that key stands nowhere in the file."""
    place = model.places.get(key) or model.places.get("")
    return Problem(
        id=id,
        message=message,
        hint=hint,
        file=place.file if place else None,
        line=place.line if place else None,
        column=place.column if place else None,
        excerpt=place.pointed if place and place.excerpt else None,
        model=model.name,
        exit_code=exit_code,
    )

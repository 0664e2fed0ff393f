"""What templates are filled with, and how."""

from __future__ import annotations

from dataclasses import dataclass

from jinja2 import Environment, StrictUndefined


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a rendering, quoted already, with its reason and the lines that stand below it."""

    text: str
    because: str = ""
    below: tuple[Line, ...] = ()


def fill(template: str, **values: object) -> str:
    """The text of a template with its values; a name that it lacks is an error (jinja2.UndefinedError)."""
    environment = Environment(
        undefined=StrictUndefined,
        keep_trailing_newline=True,
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=False,  # noqa: S701 - shell and YAML are quoted by render.quoting, HTML is none of it
    )
    return environment.from_string(template).render(**values)

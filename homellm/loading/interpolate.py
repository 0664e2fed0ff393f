"""`${VAR}` in values, as Compose replaces it, but that an unset variable without a default is an error.

Compose warns of such a variable and goes on with an empty text; here nothing happens in silence. What Compose does
in each other case was compared with Compose 5.6 (`docker compose config`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping

#: How deep defaults may stand inside defaults.
MAX_DEPTH = 20

_NAME = r"[A-Za-z_][A-Za-z0-9_]*"
_PLAIN = re.compile(rf"\$({_NAME})")
_BRACED = re.compile(rf"({_NAME})(?:(:?[-+?])(.*))?", re.DOTALL)
_LITERAL_FREE = re.compile(rf"(?:\${_NAME}|\$\{{{_NAME}(?::?\?[^}}]*)?\}})")


class InterpolationError(Exception):
    """A variable that is not set, or a `${` that makes no sense. Never holds the value of a variable.

    `unset` is the name of the variable where one is not set, else empty.
    """

    def __init__(self, id: str, message: str, hint: str, secret_hint: str = "", unset: str = "") -> None:
        super().__init__(message)
        self.id = id
        self.message = message
        self.hint = hint
        #: What to do where the value is a secret, which has no default.
        self.secret_hint = secret_hint or hint
        self.unset = unset


def interpolate(text: str, environ: Mapping[str, str]) -> str:
    """`text` with `$VAR`, `${VAR}` and its forms `:-` `-` `:+` `+` `:?` `?` replaced, and `$$` made `$`.

    A `$` that begins neither stays as it is. Raises InterpolationError.
    """
    return _expand(text, environ, 0) if "$" in text else text


def interpolate_known(text: str, environ: Mapping[str, str]) -> str:
    """The same, where a variable that is not set is a word in its place. Raises InterpolationError for a wrong `${`."""
    while True:
        try:
            return interpolate(text, environ)
        except InterpolationError as error:
            if not error.unset:
                raise
            environ = {**environ, error.unset: "unset"}


def holds_literal(text: str) -> bool:
    """Whether a value holds more than one variable's name: then a secret that stands there is written out."""
    return _LITERAL_FREE.fullmatch(text) is None


def _expand(text: str, environ: Mapping[str, str], depth: int) -> str:
    if depth > MAX_DEPTH:
        raise InterpolationError(
            "variable-syntax", f"has defaults inside defaults, more than {MAX_DEPTH} deep", "Write fewer of them."
        )
    parts: list[str] = []
    at = 0
    while (dollar := text.find("$", at)) >= 0:
        parts.append(text[at:dollar])
        following = text[dollar + 1 : dollar + 2]
        if following == "{":
            end = _closing_brace(text, dollar)
            parts.append(_braced(text[dollar + 2 : end], environ, depth))
            at = end + 1
        elif match := _PLAIN.match(text, dollar):
            parts.append(_value(match[1], environ))
            at = match.end()
        else:
            parts.append("$")
            at = dollar + (2 if following == "$" else 1)
    return "".join((*parts, text[at:]))


def _closing_brace(text: str, dollar: int) -> int:
    """Where the `}` of the `${` at `dollar` stands; only `${` opens another level."""
    level, at = 1, dollar + 2
    while at < len(text):
        if text[at] == "}":
            level -= 1
            if level == 0:
                return at
        elif text.startswith("${", at):
            level += 1
            at += 1
        at += 1
    raise InterpolationError(
        "variable-syntax", "has a `${` without its `}`", "Close it, or write `$$` for a plain dollar."
    )


def _braced(inside: str, environ: Mapping[str, str], depth: int) -> str:
    match = _BRACED.fullmatch(inside)
    if match is None:
        raise InterpolationError(
            "variable-syntax",
            "has a `${…}` that homellm does not understand",
            "Write `${NAME}` or `${NAME:-default}`; `$$` is a plain dollar.",
        )
    name, operator, rest = match[1], match[2], match[3]
    if operator is None:
        return _value(name, environ)
    value = environ.get(name)
    given = bool(value) if operator.startswith(":") else value is not None
    if operator.endswith("+"):
        return _expand(rest, environ, depth + 1) if given else ""
    if given:
        return value or ""
    if operator.endswith("-"):
        return _expand(rest, environ, depth + 1)
    raise _unset(name, _expand(rest, environ, depth + 1))


def _value(name: str, environ: Mapping[str, str]) -> str:
    if name not in environ:
        raise _unset(name, "")
    return environ[name]


def _unset(name: str, reason: str) -> InterpolationError:
    return InterpolationError(
        "variable-unset",
        f"needs the variable `{name}`, which is not set" + (f": {reason}" if reason else ""),
        f"Set it (`export {name}=…`), or give a default: `${{{name}:-…}}`.",
        f"Set it: export {name}=…",
        unset=name,
    )

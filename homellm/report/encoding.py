"""What a stream cannot encode becomes something of the same width that it can. Pure."""

from __future__ import annotations

from homellm.report.layout import char_width

_ASCII = {
    "✔": "+",
    "✘": "x",
    "–": "-",
    "—": "-",
    "×": "x",
    "·": "-",
    "…": "~",
    "→": ">",
    "≥": ">",
    "≤": "<",
    "‘": "'",
    "’": "'",
    "“": '"',
    "”": '"',
    "█": "#",
    "░": ".",
}


def encodable(text: str, encoding: str | None) -> bool:
    """Whether a stream of that encoding can carry `text`; one without an encoding carries everything."""
    try:
        text.encode(encoding or "utf-8")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def fit(text: str, encoding: str | None) -> str:
    """`text` in characters that `encoding` has, each in as many columns as before, so that tables stay aligned."""
    if encodable(text, encoding):
        return text
    return "".join(char if encodable(char, encoding) else _substitute(char) for char in text)


def _substitute(char: str) -> str:
    return _ASCII.get(char) or "?" * char_width(char)

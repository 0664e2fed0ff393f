"""What the framework says of a wrong command line, in words for people who never heard of its parts. Pure."""

from __future__ import annotations

import re

_SAYS: tuple[tuple[str, str], ...] = (
    (r"Value error, ", ""),
    (r"Input should be a valid integer\b.*", "it must be a whole number"),
    (r"Input should be a (?:valid|finite) number\b.*", "it must be a number"),
    (r"Input should be greater than or equal to ", "it must be at least "),
    (r"Input should be less than or equal to ", "it must be at most "),
    (r"Input should be greater than ", "it must be more than "),
    (r"Input should be less than ", "it must be less than "),
    (r"Input should be ", "it must be "),
    (r"Invalid value for '([^']+)'(?: / '([^']+)')*: ", r"\1: "),
    (r"\s*\n\s*", " "),
)


def in_our_words(message: str) -> str:
    """The message without the names of libraries and types, on one line."""
    for pattern, ours in _SAYS:
        message = re.sub(pattern, ours, message.strip())
    return message

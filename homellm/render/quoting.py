"""Quoting for what is rendered: shell words, the CSV of `docker --mount`, YAML scalars, comments."""

from __future__ import annotations

import re
import shlex

_PLAIN_YAML = re.compile(r"[A-Za-z_/][A-Za-z0-9_./-]*")
#: Words that YAML 1.1 or 1.2 reads as something else than a string.
_NOT_STRINGS = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null"})
_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r"}


def shell_word(text: str) -> str:
    """`text` as one word of a POSIX shell. Raises ValueError for a NUL, which no argument can hold."""
    if "\0" in text:
        raise ValueError("an argument cannot hold a NUL character")
    return shlex.quote(text)


def shell_words(words: tuple[str, ...]) -> str:
    """Several words of a shell, in one line unless a word holds a line break."""
    return " ".join(map(shell_word, words))


def csv(fields: tuple[str, ...]) -> str:
    """One CSV record (RFC 4180), as `docker --mount` and `--gpus` read their value."""
    return ",".join(f'"{field.replace(chr(34), chr(34) * 2)}"' if _needs_csv(field) else field for field in fields)


def _needs_csv(field: str) -> bool:
    return any(char in field for char in ',"\r\n') or field != field.strip()


def yaml_string(text: str) -> str:
    """`text` as a YAML scalar that every reader takes for a string, on one line."""
    if _PLAIN_YAML.fullmatch(text) and text.lower() not in _NOT_STRINGS:
        return text
    return f'"{"".join(map(_yaml_char, text))}"'


def compose_string(text: str) -> str:
    """`text` as a YAML string of a compose file, where a `$` has to be doubled to stay one."""
    return yaml_string(text.replace("$", "$$"))


def _yaml_char(char: str) -> str:
    code = ord(char)
    if char in _ESCAPES:
        return _ESCAPES[char]
    if char.isprintable():
        return char
    if code <= 0xFF:  # noqa: PLR2004 - the widths of YAML's own escapes
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"  # noqa: PLR2004


def comment(text: str) -> str:
    """`text` as the rest of a comment line: one line, whatever stood in it."""
    return " ".join("".join(char if char.isprintable() else " " for char in text).split())


def duration(seconds: float) -> str:
    """Seconds as Docker and Compose write a duration."""
    return f"{round(seconds * 1000)}ms" if seconds % 1 else f"{round(seconds)}s"

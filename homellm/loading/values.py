"""Readers of single values: text as it was written -> what its key means, or a complaint that says what is wrong.

A complaint reads on from its key: `` `ctx` in model `smol` `` + `is `4k`, which is no whole number`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, TypeVar

from pydantic_core import PydanticCustomError

from homellm import __version__
from homellm.loading.paths import shorten
from homellm.loading.units import parse_cpuset, parse_duration, parse_size

_WHOLE = re.compile(r"[+-]?[0-9]{1,18}")
_OTHER_BASE = re.compile(r"0[xob][0-9a-f]{1,15}", re.IGNORECASE)
_GROUPED = re.compile(r"[0-9]{1,3}([_ ',.][0-9]{3})+|[0-9]+(_[0-9]+)+")
_THOUSANDS = re.compile(r"([0-9]{1,9}) ?([km])", re.IGNORECASE)
_FRACTION = re.compile(r"[+-]?[0-9]*\.?[0-9]*(e[+-]?[0-9]+)?", re.IGNORECASE)
_TRUE = ("true", "yes", "on")
_FALSE = ("false", "no", "off")

#: How something is spoken of that design and documentation have, and this version has not.
NOT_YET = f"known, but not in this version of homellm ({__version__})"

T = TypeVar("T")


def complain(id: str, message: str, hint: str = "") -> PydanticCustomError:
    """An error of a value; `message` goes on from the key's name."""
    return PydanticCustomError(id, "{message}", {"message": message, "hint": hint})


def absent(what: str, hint: str) -> PydanticCustomError:
    """An error for something that is known, but not in this version."""
    return complain("not-in-this-version", f"{what}, which is {NOT_YET}", hint)


def nearest(word: str, known: Sequence[str]) -> str | None:
    """The known word that was most likely meant."""
    wanted = word.lower().replace("-", "_")
    by_form = {known_word.lower().replace("-", "_"): known_word for known_word in known}
    found = get_close_matches(wanted[:60], by_form, 1)
    return by_form[found[0]] if found else None


def listing(words: Sequence[str]) -> str:
    """`a, b or c`."""
    return ", ".join(words[:-1]) + f" or {words[-1]}" if len(words) > 1 else words[0]


def text(value: Any) -> str:
    """A text, as it was written."""
    if value is None:  # an item that was complained about before
        return ""
    if not isinstance(value, str):
        kind = "a mapping" if isinstance(value, dict) else "a list"
        raise complain("wrong-type", f"is {kind}, where a single value is due")
    return value


def passed_on(value: Any) -> str:
    """A text that a process is given, as a variable or an argument: the kernel ends it at a NUL character.

    A half of a surrogate pair, which YAML can write and a variable that is not UTF-8 comes to, is no character at all.
    """
    word = text(value)
    if "\0" in word:
        raise complain("wrong-value", "has a NUL character in it, which ends a text for every process", "Remove it.")
    half = next((letter for letter in word if "\ud800" <= letter <= "\udfff"), None)
    if half is not None:
        hint = "Write the character itself; what comes from a variable has to be UTF-8."
        raise complain("wrong-value", f"has U+{ord(half):04X} in it, which is no character", hint)
    return word


def filled(value: Any) -> str:
    """A text that is not empty."""
    word = text(value)
    if not word.strip() and value is not None:
        raise complain("wrong-value", "is empty", "Give it a value, or remove it.")
    return word


def whole(minimum: int, maximum: int | None = None, hint: str = "") -> Callable[[Any], int]:
    """A reader of whole numbers in a range, written in plain decimal digits."""

    def read(value: Any) -> int:
        word = filled(value).strip()
        if not _WHOLE.fullmatch(word):
            raise _no_whole_number(word)
        number = int(word)
        if word.lstrip("+-") != str(abs(number)):
            raise complain(
                "wrong-value",
                f"is `{word}`, which YAML 1.1 reads in base 8 and YAML 1.2 in base 10",
                f"Write {number}.",
            )
        if number < minimum:
            raise complain("out-of-range", f"is {number}; it must be at least {minimum}", hint)
        if maximum is not None and number > maximum:
            raise complain("out-of-range", f"is {number}; it must be at most {maximum}", hint)
        return number

    return read


def _no_whole_number(word: str) -> PydanticCustomError:
    shown = shorten(word)
    if _OTHER_BASE.fullmatch(word):
        base = {"x": 16, "o": 8, "b": 2}[word[1].lower()]
        digits = word[2:]
        meant = f"Write {int(digits, base)}." if _fits(digits, base) else ""
        return complain("wrong-value", f"is `{shown}`, which is not written in decimal", meant)
    if _GROUPED.fullmatch(word):
        return complain(
            "wrong-value", f"is `{shown}`: digits may not be grouped", f"Write {re.sub('[^0-9]', '', word)}."
        )
    if match := _THOUSANDS.fullmatch(word):
        meant = int(match[1]) * 1024 ** (1 + "km".index(match[2].lower()))
        return complain("wrong-value", f"is `{shown}`, which is no whole number", f"Write {meant}.")
    if _FRACTION.fullmatch(word):
        return complain("wrong-value", f"is `{shown}`, which is no whole number", "Write it in digits alone.")
    return complain("wrong-value", f"is `{shown}`, which is no whole number")


def _fits(digits: str, base: int) -> bool:
    try:
        int(digits, base)
    except ValueError:
        return False
    return True


def port(value: Any) -> int:
    """A port of the host, 1 to 65535."""
    word = filled(value).strip()
    mapping = re.fullmatch(r"(?:[^ ]*:)?([0-9]{1,5}):([0-9]{1,5})(?:/[a-z]+)?", word)
    if mapping:
        raise complain(
            "wrong-value",
            f"is `{shorten(word)}`, a mapping of two ports; homellm publishes one, and inside the server always "
            "listens on 8080",
            f'Write `port: {mapping[1]}` (and quote a word with colons, "{shorten(word)}", wherever YAML wants one).',
        )
    return whole(1, 65535)(word)


def flag(value: Any) -> bool:
    """A boolean: true, yes, on or false, no, off."""
    word = filled(value).strip()
    if word.lower() in _TRUE:
        return True
    if word.lower() in _FALSE:
        return False
    raise complain("wrong-value", f"is `{shorten(word)}`; it must be true or false{_meant(word, (*_TRUE, *_FALSE))}")


def _meant(word: str, known: Sequence[str], synonyms: Mapping[str, str] | None = None) -> str:
    near = (synonyms or {}).get(word.lower()) or nearest(word, known)
    return f"; did you mean `{near}`?" if near else ""


def one_of(
    *known: str, synonyms: Mapping[str, str] | None = None, missing: Mapping[str, str] | None = None
) -> Callable[[Any], str]:
    """A reader of one word of several. `synonyms` are only for suggestions, `missing` known but not in this version."""

    def read(value: Any) -> str:
        word = filled(value).strip()
        if word in known:
            return word
        if missing and word in missing:
            raise absent(f"is `{word}`", missing[word])
        raise complain(
            "wrong-value", f"is `{shorten(word)}`; it must be {listing(known)}{_meant(word, known, synonyms)}"
        )

    return read


def size(minimum: int) -> Callable[[Any], int]:
    """A reader of sizes, in bytes."""

    def read(value: Any) -> int:
        word = filled(value).strip()
        count = _parsed(parse_size, word)
        if count < minimum:
            raise complain(
                "out-of-range",
                f"is `{word}`, {count} bytes; it must be at least {minimum} bytes",
                f"For gibibytes write {word}g." if word.isdigit() else "",
            )
        if count >= 2**63:
            raise complain("out-of-range", f"is `{word}`, more than any machine has")
        return count

    return read


def duration(minimum: int) -> Callable[[Any], int]:
    """A reader of durations, in seconds."""

    def read(value: Any) -> int:
        word = filled(value).strip()
        if re.fullmatch(r"[0-9]{1,9}", word):
            raise complain(
                "wrong-value", f"is `{word}`, without a unit", f"Write {word}s for seconds, {word}m for minutes."
            )
        seconds = _parsed(parse_duration, word)
        if seconds < minimum:
            raise complain("out-of-range", f"is `{word}`; it must be at least {minimum}s")
        return seconds

    return read


def sleep_idle(value: Any) -> int | None:
    """Seconds of idleness, or None for `never`."""
    return None if text(value).strip() == "never" else duration(1)(value)


def cpuset(value: Any) -> str:
    """A list of CPUs as the kernel writes it."""
    return _parsed(parse_cpuset, filled(value).strip())


def _parsed(parse: Callable[[str], T], word: str) -> T:
    try:
        return parse(word)
    except ValueError as error:
        raise complain("wrong-value", f"is `{shorten(word)}`, which is {error}") from error

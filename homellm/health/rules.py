"""What a rule is: the stable part of a line, what it means, and what to do about it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType

from homellm.domain.signals import Fact, Signal
from homellm.health.lines import Line

#: Words before what a line says: `srv    load_model: `, `main: `, `INFO [    init] `, `error loading model: `.
#: Anchoring there keeps what a client wrote into its prompt from being read as the server's own words.
_LEAD = (
    " *(?:"
    + "|".join(
        (
            r"(?:srv|cmn|slot|que|res|spec) +[^\s:|]+: +",
            r"(?:INFO|WARN|WARNING|ERR|ERROR) +\[ *[\w()]+\] +",
            r"id +\d+ \| task -?\d+ \| +",
            r"task id = -?\d+, error: +",
            r"decode\(\) failed: +",
            r"error loading model(?: \w+)?: +",
            r"failed to initialize the context: +",
            # a function, but nothing after which a server prints what a client wrote
            r"(?!(?:prompt|content|text|message|request|response|input|output):)"
            r"(?:what\(\)|[A-Za-z_~/.][\w:~<>().,*&/-]*): +",
        )
    )
    + "){0,6}"
)
#: No rule looks further into a line than this many characters.
HEAD = 2048

Facts = Mapping[str, Fact]
Hint = str | Callable[[Facts], str]
_NO_FACTS: Facts = MappingProxyType({})

_WHOLE = re.compile(r"-?\d{1,18}")
_DECIMAL = re.compile(r"-?\d{1,18}\.\d{1,18}")


def number(text: str | None) -> Fact:
    """The number that a text is, else the text; None stays None."""
    if text is None:
        return None
    if _WHOLE.fullmatch(text):
        return int(text)
    return float(text) if _DECIMAL.fullmatch(text) else text


def numbers(match: re.Match[str]) -> Facts:
    """The named groups of a match, those that look like numbers as numbers."""
    return {key: number(value) for key, value in match.groupdict().items() if value is not None}


def texts(match: re.Match[str]) -> Facts:
    """The named groups of a match as they stand."""
    return {key: value for key, value in match.groupdict().items() if value is not None}


@dataclass(frozen=True, slots=True)
class Rule:
    """One kind of line. `needle` stands in every line of it and is looked for first; lines without it cost little.

    `pattern` is a regular expression for the beginning of a line.
    """

    id: str
    needle: str
    pattern: str
    facts: Callable[[re.Match[str]], Facts] = numbers
    problem: bool = False
    fatal: bool = False
    hint: Hint = ""

    def read(self, line: Line) -> Signal | None:
        """The signal of a line that has the needle, None when it is of another kind all the same."""
        match = compiled(self.pattern).match(line.text[:HEAD])
        if match is None:
            return None
        facts = self.facts(match) if match.re.groupindex else _NO_FACTS
        return Signal(
            id=self.id,
            line=line.text,
            facts=MappingProxyType(dict(facts)) if facts else _NO_FACTS,
            problem=self.problem,
            fatal=self.fatal,
            hint=self.hint if isinstance(self.hint, str) else self.hint(facts),
            stamped=line.stamped,
            source=line.source,
            origin=line.origin,
        )


def fact(
    id: str,
    needle: str,
    pattern: str = "",
    *,
    facts: Callable[[re.Match[str]], Facts] = numbers,
    fatal: bool = False,
) -> Rule:
    """A rule for a line that tells a fact. Without a pattern the needle itself begins what the line says."""
    return Rule(id, needle, _pattern(needle, pattern), facts=facts, fatal=fatal)


def problems(
    id: str,
    hint: Hint,
    *forms: str | tuple[str, str],
    fatal: bool = False,
    facts: Callable[[re.Match[str]], Facts] = texts,
) -> tuple[Rule, ...]:
    """The rules for a problem in all its wordings: needles that begin what the line says, or needle and pattern.

    A group named `subject` tells two problems of one kind apart.
    """
    pairs = [(form, "") if isinstance(form, str) else form for form in forms]
    return tuple(
        Rule(id, needle, _pattern(needle, pattern), facts=facts, problem=True, fatal=fatal, hint=hint)
        for needle, pattern in pairs
    )


def _pattern(needle: str, pattern: str) -> str:
    return f"{_LEAD}(?:{pattern or re.escape(needle)})"


@cache
def compiled(pattern: str) -> re.Pattern[str]:
    """A pattern, when a line first needs it: all of them together would take a third of the time of a short verb."""
    return re.compile(pattern)


def first(rules: Iterable[Rule], line: Line) -> Signal | None:
    """What the first rule that knows the line makes of it."""
    text = line.text
    for rule in rules:
        if rule.needle in text and (signal := rule.read(line)) is not None:
            return signal
    return None

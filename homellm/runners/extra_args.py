"""`extra_args`: passed on as they are, and held against the image's own help before anything starts."""

from __future__ import annotations

import re
from dataclasses import dataclass

from homellm.domain.dialect import Dialect
from homellm.domain.places import problem_at
from homellm.domain.settings import owner_of_flag, setting
from homellm.domain.spec import Arg
from homellm.domain.stack import Model
from homellm.errors import ExitCode, Problem
from homellm.runners.dialect import is_deprecated, is_removed, nearest_flag, value_words

_NUMBER = re.compile(r"-?\d+(\.\d+)?")


@dataclass(frozen=True, slots=True)
class Extra:
    """The arguments, and what is wrong with them or worth a word."""

    args: tuple[Arg, ...] = ()
    problems: tuple[Problem, ...] = ()
    notes: tuple[str, ...] = ()


def check_extra_args(model: Model, dialect: Dialect, build: str) -> Extra:
    """The declared words as arguments. `build` names image and build for messages.

    With an assumed dialect a flag that the newest known build lacks is a note: the image may know it all the same.
    """
    because = setting("extra_args").because
    args: list[Arg] = []
    problems: list[Problem] = []
    notes: list[str] = []
    words = list(model.extra_args)
    while words:
        word = words.pop(0)
        found = _find(word, dialect)
        fault = _fault(model, word, dialect, build)
        if fault and dialect.assumed and fault.id == "flag-unknown":
            notes.append(f"extra_args: {word} is unknown to the newest build that homellm knows; the image will tell")
        elif fault:
            problems.append(fault)
        if found and is_deprecated(dialect.flags[found]):
            notes.append(f"extra_args: {build} calls {word} deprecated: {dialect.flags[found].text}")
        wanted = value_words(dialect.flags[found]) if found else _guess(words)
        if len(words) < wanted:
            problems.append(_without_value(model, word, dialect))
        values, words = words[:wanted], words[wanted:]
        args.append(Arg(word, values[0] if values else None, because))
        args.extend(Arg(value, None, because) for value in values[1:])
    return Extra(tuple(args), tuple(problems), tuple(notes))


def speaks_of(model: Model, dialect: Dialect, flag: str) -> bool:
    """Whether the model's own `extra_args` or `env` already say what `flag` says, in any spelling of this build."""
    known = dialect.flags.get(flag)
    if known is None:
        return flag in model.extra_args
    return bool(set(known.names) & set(model.extra_args)) or bool(set(known.env) & set(model.env))


def _find(word: str, dialect: Dialect) -> str | None:
    """The spelling that the server would read: it takes `_` for `-` in long flags (common/arg.cpp)."""
    if dialect.has(word):
        return word
    dashed = word.replace("_", "-") if word.startswith("--") else word
    return dashed if dialect.has(dashed) else None


def _guess(rest: list[str]) -> int:
    """Whether the word after an unknown flag is its value: when it is no flag itself."""
    return int(bool(rest) and (not rest[0].startswith("-") or bool(_NUMBER.fullmatch(rest[0]))))


def _fault(model: Model, word: str, dialect: Dialect, build: str) -> Problem | None:
    found = _find(word, dialect)
    spellings = dialect.flags[found].names if found else (word.replace("_", "-"),)
    owner = next((row for row in map(owner_of_flag, spellings) if row), None)
    if owner is not None:
        return problem_at(
            model,
            "extra_args",
            id="owned-by-key",
            message=f"{word} in extra_args says what the key `{owner.key}` says; the server would take"
            " the last one in silence",
            hint=f"Use `{owner.key}` and drop {word} from extra_args.",
            exit_code=ExitCode.USAGE,
        )
    if found is None:
        return _unknown(model, word, dialect, build)
    if is_removed(dialect.flags[found]):
        return problem_at(
            model,
            "extra_args",
            id="flag-unknown",
            message=f"{build} has removed {word}, the server would end at once",
            hint=f"Its help says: {dialect.flags[found].text}",
        )
    return None


def _unknown(model: Model, word: str, dialect: Dialect, build: str) -> Problem:
    name, equals, value = word.partition("=")
    if equals and _find(name, dialect):
        hint = f"Write it as two words: {name} {value}"
    elif not word.startswith("-"):
        hint = "A word that is no flag must follow a flag that takes a value."
    else:
        near = nearest_flag(word, dialect)
        hint = f"Did you mean {near}?" if near else "Its own help lists what it takes: docker run --rm IMAGE --help"
    return problem_at(
        model,
        "extra_args",
        id="flag-unknown",
        message=f"{build} does not know {word}, the server would end at once with `invalid argument`",
        hint=hint,
    )


def _without_value(model: Model, word: str, dialect: Dialect) -> Problem:
    found = _find(word, dialect)
    placeholder = dialect.flags[found].value if found else ""
    return problem_at(
        model,
        "extra_args",
        id="flag-without-value",
        message=f"{word} in extra_args needs a value ({placeholder})",
        hint=f"Add the value as the next word after {word}.",
    )

"""How one build spells a setting: the first form of the settings' table that its own help knows."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from homellm.domain.dialect import Dialect, FlagHelp
from homellm.domain.settings import FlagForm, Setting
from homellm.domain.spec import Arg
from homellm.runners.dialect import is_deprecated, is_removed, listed_values, placeholder_values, says_default_off

_LEVEL = re.compile(r"- (\d+): (.*?)(?=- \d+:|\(default|$)")


@dataclass(frozen=True, slots=True)
class Unsupported:
    """This build cannot honour the value; `reason` says what its help has instead."""

    reason: str


#: The argument, None where the value is said by leaving the flag out, or why there is none.
Spelled = Arg | Unsupported | None


def spell(row: Setting, value: str | bool, dialect: Dialect, *, because: str = "") -> Spelled:
    """A setting's value in the words of this build; spellings that it calls deprecated come last."""
    reason = "no flag for it"
    for form, flag in _known_forms(row.forms, dialect):
        spelled = _in_form(form, flag, value, dialect, because or row.because)
        if not isinstance(spelled, Unsupported):
            return spelled
        reason = spelled.reason
    return None if value is False else Unsupported(reason)


def spell_flag(flag: str, value: str, dialect: Dialect, because: str) -> Spelled:
    """A flag with a value, refused where the help lists the flag's values and this one is not among them."""
    known = dialect.flags.get(flag)
    if known is None or is_removed(known):
        return Unsupported(f"no {flag}")
    listed = listed_values(known)
    if listed and value not in listed:
        return Unsupported(f"{flag} with {', '.join(sorted(listed))} only")
    return Arg(flag, value, because)


def evidence_verbosity(dialect: Dialect) -> Arg | None:
    """The log level that shows what was loaded where: the highest one that the help does not call debug.

    None where the help describes no levels (builds of early 2025): their default level already prints it. Debug
    writes the text of conversations and a hundred times the volume, so it is never chosen.
    """
    name = next((name for name in ("--log-verbosity", "--verbosity") if dialect.has(name)), None)
    if name is None:
        return None
    levels = [int(level) for level, text in _LEVEL.findall(dialect.flags[name].text) if "debug" not in text.lower()]
    if not levels:
        return None
    return Arg(name, str(max(levels)), "the highest log level that is not debug: it shows devices, buffers and slots")


def _known_forms(forms: tuple[FlagForm, ...], dialect: Dialect) -> Iterator[tuple[FlagForm, FlagHelp]]:
    known = [(form, dialect.flags[form.flag]) for form in forms if dialect.has(form.flag)]
    usable = [(form, flag) for form, flag in known if not is_removed(flag)]
    yield from sorted(usable, key=lambda pair: is_deprecated(pair[1]))


def _in_form(form: FlagForm, flag: FlagHelp, value: str | bool, dialect: Dialect, because: str) -> Spelled:
    if form.how == "value":
        return _valued(form, flag, str(value), because)
    if form.how == "word":
        return _word(form, flag, value, because)
    if form.how == "bare-on":
        return _bare_on(form, flag, value, because)
    return _switch(form, flag, value, dialect, because)


def _valued(form: FlagForm, flag: FlagHelp, value: str, because: str) -> Spelled:
    if flag.value is None:
        return Unsupported(f"{form.flag} without a value")
    choices = placeholder_values(flag)
    if choices and value not in choices:
        return Unsupported(f"{form.flag} with {', '.join(sorted(choices))} only")
    return Arg(form.flag, value, because)


def _word(form: FlagForm, flag: FlagHelp, value: str | bool, because: str) -> Spelled:
    if value is False:
        return None
    if form.word is None or form.word not in listed_values(flag):
        return Unsupported(f"{form.flag} without `{form.word}`")
    return Arg(form.flag, form.word, because)


def _bare_on(form: FlagForm, flag: FlagHelp, value: str | bool, because: str) -> Spelled:
    if flag.value is not None:
        return Unsupported(f"{form.flag} with {flag.value} only")
    return Arg(form.flag, None, because) if value == "on" else None


def _switch(form: FlagForm, flag: FlagHelp, value: str | bool, dialect: Dialect, because: str) -> Spelled:
    if flag.value is not None:
        word = "on" if value else "off"
        return (
            Arg(form.flag, word, because)
            if word in listed_values(flag)
            else Unsupported(f"{form.flag} with {flag.value} only")
        )
    if value:
        return Arg(form.flag, None, because)
    if form.off is not None and dialect.has(form.off):
        return Arg(form.off, None, because)
    return None if says_default_off(flag) else Unsupported(f"{form.flag} without a way to switch it off")

"""The dialect of one build of llama-server, read from its own --version and --help.

The help of llama.cpp (`common/arg.cpp`, `common_arg::to_string`) prints one entry a flag: all spellings and the
placeholder of a value from the first column, the description from a fixed column on or from the next line on, and the
variables as `(env: NAME)`. The column is found and not assumed, and lines of anybody else are passed over.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from difflib import get_close_matches

from homellm.domain.dialect import Dialect, FlagHelp

_NAMES = re.compile(r"-{1,2}[A-Za-z0-9][\w.+-]*(?:,\s*-{1,2}[A-Za-z0-9][\w.+-]*)*(?=\s|$)")
_ENV = re.compile(r"\(env: ([A-Z0-9_, ]+)\)")
_BUILD = (re.compile(r"\(build (\d+)"), re.compile(r"^version: (\d+) \("))
#: A build of a tarball calls itself 0 or 1: that is no number of a build.
_NO_BUILD = 1
_USUAL_COLUMN = 40

_REMOVED = re.compile(
    r"^(?:the )?argument has been removed|^removed\b|^no longer (?:supported|available)", re.IGNORECASE
)
_DEPRECATED = re.compile(r"^\(?deprecated\b|\(deprecated\)", re.IGNORECASE)
_LISTED_LINE = re.compile(r"(?:^|\s)- ([\w+.-]+)(?: \([^)]*\))?:(?=\s|$)")
_QUOTED = re.compile(r"'([\w+.-]+)'")
_ALLOWED = re.compile(r"allowed values: ([\w.+-]+(?:, [\w.+-]+)*)")
_BRACKETED = re.compile(r"^[\[{<]([\w+.-]+(?:[|,][\w+.-]+)+)[\]}>]$")


def parse_dialect(version_text: str, help_text: str) -> Dialect:
    """The dialect of a build, from what `--version` and `--help` print (either stream, anything mixed in).

    A help without a single flag gives a dialect without flags: the image is then no llama-server, or did not tell.
    """
    version = _version_line(version_text)
    flags: dict[str, FlagHelp] = {}
    for entry in _entries(help_text):
        for name in entry.names:
            flags.setdefault(name, entry)
    return Dialect(flags=flags, version=version, build=_build_number(version))


def is_removed(flag: FlagHelp) -> bool:
    """Whether the help lists the flag only to say that it is gone: the server dies of it."""
    return bool(_REMOVED.search(flag.text))


def is_deprecated(flag: FlagHelp) -> bool:
    """Whether the build still takes the flag but says to use another."""
    return bool(_DEPRECATED.search(flag.text))


def listed_values(flag: FlagHelp) -> frozenset[str]:
    """The values that the help names for a flag (`on`, `mlock`, `q8_0`, `all`); empty when it names none."""
    found = set(_LISTED_LINE.findall(flag.text)) | set(_QUOTED.findall(flag.text)) | placeholder_values(flag)
    for allowed in _ALLOWED.findall(flag.text):
        found.update(allowed.split(", "))
    return frozenset(found)


def placeholder_values(flag: FlagHelp) -> frozenset[str]:
    """The values that stand in the placeholder itself (`[on|off|auto]`, `{none,layer}`); empty for `N` and the like."""
    choices = _BRACKETED.match(flag.value or "")
    return frozenset(re.split(r"[|,]", choices.group(1))) if choices else frozenset()


def says_default_off(flag: FlagHelp) -> bool:
    """Whether the help calls a switch off by default, so that leaving it out says `off`."""
    return bool(re.search(r"\(default: (?:disabled|false|off|0)\b", flag.text))


def value_words(flag: FlagHelp) -> int:
    """How many words of argv a flag takes after itself: 0 for a switch, 2 for `START END`, else 1."""
    if flag.value is None:
        return 0
    words = flag.value.split()
    return len(words) if all(re.fullmatch(r"[A-Z][A-Z0-9_]*", word) for word in words) else 1


def nearest_flag(flag: str, dialect: Dialect) -> str | None:
    """The flag of this build that was most likely meant, or None when none is near."""
    usable = [name for name, entry in dialect.flags.items() if not is_removed(entry)]
    found = get_close_matches(flag.lower().replace("_", "-"), usable, n=1, cutoff=0.7)
    return found[0] if found else None


def _version_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return next((line for line in lines if line.startswith("version:")), lines[0] if lines else "")


def _build_number(version: str) -> int | None:
    for pattern in _BUILD:
        if found := pattern.search(version):
            number = int(found.group(1))
            return number if number > _NO_BUILD else None
    return None


@dataclass(slots=True)
class _Open:
    """An entry of the help that is still being read."""

    names: tuple[str, ...]
    value: str | None
    lines: list[str] = field(default_factory=list)

    def close(self) -> FlagHelp:
        text = " ".join(" ".join(self.lines).split())
        env = tuple(name.strip() for found in _ENV.findall(text) for name in found.split(",") if name.strip())
        return FlagHelp(names=self.names, env=env, value=self.value, text=" ".join(_ENV.sub("", text).split()))


def _entries(help_text: str) -> Iterator[FlagHelp]:
    lines = help_text.splitlines()
    column = _description_column(lines)
    current: _Open | None = None
    for line in lines:
        header = _NAMES.match(line)
        if header:
            if current:
                yield current.close()
            current = _header(line, header, column)
        elif current and line.startswith(" "):
            current.lines.append(line.strip())
        elif current:
            yield current.close()
            current = None
    if current:
        yield current.close()


def _description_column(lines: list[str]) -> int:
    """Where descriptions begin: the commonest indentation of the lines that go on with one."""
    indents = Counter(len(line) - len(line.lstrip()) for line in lines if line.startswith(" ") and line.strip())
    return indents.most_common(1)[0][0] if indents else _USUAL_COLUMN


def _header(line: str, names: re.Match[str], column: int) -> _Open:
    words = tuple(re.split(r",\s*", names.group()))
    rest = line[names.end() :]
    if names.end() < column < len(line) and line[column - 1] == " " and line[column] != " ":
        value, text = line[names.end() : column].strip(), line[column:].strip()
    elif rest.startswith("  "):
        value, text = "", rest.strip()
    else:
        value, _, text = rest.strip().partition("  ")
    return _Open(words, value.strip() or None, [text.strip()])

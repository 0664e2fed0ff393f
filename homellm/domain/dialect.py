"""What one build of llama-server understands, as its own --version and --help say."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType


@dataclass(frozen=True, slots=True)
class FlagHelp:
    """One flag of the help: all spellings, its variables, the placeholder of its value (None for a switch), its text.

    `value` is the help's own placeholder (`N`, `[on|off|auto]`, `<0|1>`); `text` the whole description in one line.
    """

    names: tuple[str, ...]
    env: tuple[str, ...] = ()
    value: str | None = None
    text: str = ""


@dataclass(frozen=True, slots=True)
class Dialect:
    """The flags of one image. `assumed` when nobody could ask the image yet: then the newest known build is taken.

    `build` is the number of llama.cpp's build where the version tells one that is not 0 or 1, else None; `version` is
    the first line of --version as it stands.
    """

    flags: Mapping[str, FlagHelp] = field(default_factory=lambda: MappingProxyType({}))
    version: str = ""
    build: int | None = None
    assumed: bool = False

    def has(self, flag: str) -> bool:
        """Whether the build takes this spelling."""
        return flag in self.flags

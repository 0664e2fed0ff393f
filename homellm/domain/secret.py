"""Secrets as a type, so that one printed by accident shows nothing."""

from __future__ import annotations

import re
from hashlib import sha256

REDACTED = "<redacted>"

_ANYWHERE = re.compile(r"PASSWORD|PASSWD|PASSPHRASE|SECRET|APIKEY|CREDENTIAL", re.IGNORECASE)
_AS_A_WORD = re.compile(r"(?:^|[_.-])(?:KEY|TOKEN|AUTH|PASS|PWD)S?(?:$|[_.-])", re.IGNORECASE)


def looks_secret(name: str) -> bool:
    """Whether a variable of that name holds a secret (`HF_TOKEN`, `API_KEY`, `DB_PASSWORD`), judged by its words."""
    return bool(_ANYWHERE.search(name) or _AS_A_WORD.search(name))


class Secret:
    """A value that must not appear in a plan, log, label, record or rendering.

    `str`, `repr` and formatting give `<redacted>`; `reveal()` gives the value, and is called only where a container's
    environment is built or a request is authorised.
    """

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def reveal(self) -> str:
        """The value itself."""
        return self._value

    def __repr__(self) -> str:
        return REDACTED

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        return format(REDACTED, spec)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and other._value == self._value

    def __hash__(self) -> int:
        return hash((Secret, self._value))


def fingerprint(value: str | Secret) -> str:
    """The sha256, in hex, of a value: what tells that two of them are the same without showing either."""
    return sha256(reveal(value).encode()).hexdigest()


def reveal(value: str | Secret) -> str:
    """The text of a value that may be a secret."""
    return value.reveal() if isinstance(value, Secret) else value

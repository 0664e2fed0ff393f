"""An environment that notices which of its variables were asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping


class AskedFor(Mapping[str, str]):
    """The same variables. What a stack file means depends on those that were asked for, set or not, and on no other."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = environ
        self._names: set[str] = set()

    @property
    def names(self) -> frozenset[str]:
        """The variables that were asked for by name; all, once somebody has gone through them."""
        return frozenset(self._names)

    def __getitem__(self, name: str) -> str:
        self._names.add(name)
        return self._environ[name]

    def __iter__(self) -> Iterator[str]:
        self._names.update(self._environ)
        return iter(self._environ)

    def __len__(self) -> int:
        return len(self._environ)

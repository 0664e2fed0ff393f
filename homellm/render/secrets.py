"""Names of the variables that stand for secrets in what is rendered: the values themselves are left out."""

from __future__ import annotations

import re
from collections.abc import Sequence

from homellm.domain.secret import Secret
from homellm.domain.spec import ContainerSpec

_ILLEGAL = re.compile(r"[^A-Z0-9_]")

#: (container, variable in the container) to the variable that the reader sets.
References = dict[tuple[str, str], str]


def secret_references(specs: Sequence[ContainerSpec]) -> References:
    """A variable for every secret of every container: the container's name and the variable's, each name once."""
    references: References = {}
    taken: set[str] = set()
    for spec in specs:
        for variable in spec.env:
            if isinstance(variable.value, Secret):
                name = _unique(_legal(f"{spec.name}_{variable.name}"), taken)
                taken.add(name)
                references[spec.name, variable.name] = name
    return references


def _legal(text: str) -> str:
    name = _ILLEGAL.sub("_", text.upper())
    return name if name[0].isalpha() else f"_{name}"


def _unique(name: str, taken: set[str]) -> str:
    number = 2
    candidate = name
    while candidate in taken:
        candidate = f"{name}_{number}"
        number += 1
    return candidate

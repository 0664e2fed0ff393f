"""What a runner makes of a model: a container, or the reasons why there can be none."""

from __future__ import annotations

from dataclasses import dataclass

from homellm.domain.spec import ContainerSpec
from homellm.errors import Problem


@dataclass(frozen=True, slots=True)
class Built:
    """`spec` is None exactly when `problems` is not empty.

    `notes` say in words what was decided for the user (a log that cannot be rotated, flags that nobody could ask the
    image about). `expected_path` is where the weights stand inside the container, which /props must name.
    """

    spec: ContainerSpec | None
    problems: tuple[Problem, ...] = ()
    notes: tuple[str, ...] = ()
    expected_path: str = ""

"""What is wanted of one model, as a container: its spec, its labels and the hash that tells two of them apart."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from homellm import __version__
from homellm.domain.names import (
    LABEL_HASH,
    LABEL_RESTART,
    LABEL_ROLE,
    LABEL_SECTION,
    LABEL_STACK,
    LABEL_UNIT,
    LABEL_VERSION,
    ROLE_SERVE,
)
from homellm.domain.spec import ContainerSpec
from homellm.domain.stack import Model, Stack
from homellm.domain.world import World
from homellm.errors import Problem
from homellm.runners.hashing import spec_hash
from homellm.runners.llama_server import build


@dataclass(frozen=True, slots=True)
class Desired:
    """A model's container as it should be. `spec` is None when `problems` say why it cannot be.

    `hash` is empty while the image is not here: its content is a part of what the hash stands for. `expected_path` is
    where the weights stand inside the container, which /props must name.
    """

    model: Model
    spec: ContainerSpec | None
    hash: str
    labels: Mapping[str, str]
    expected_path: str
    problems: tuple[Problem, ...] = ()
    notes: tuple[str, ...] = ()
    assumed: bool = False


def desire(model: Model, stack: Stack, world: World) -> Desired:
    """The container that `model` asks for in this world."""
    built = build(model, stack, world)
    image = world.images.get(model.image)
    digest = spec_hash(built.spec, image.id) if built.spec and image else ""
    labels = {
        LABEL_STACK: stack.name,
        LABEL_UNIT: model.name,
        LABEL_ROLE: ROLE_SERVE,
        LABEL_HASH: digest,
        LABEL_SECTION: model.section,
        LABEL_RESTART: model.restart,
        LABEL_VERSION: __version__,
    }
    dialect = world.dialects.get(model.image)
    return Desired(
        model=model,
        spec=built.spec,
        hash=digest,
        labels=labels,
        expected_path=built.expected_path,
        problems=built.problems,
        notes=built.notes,
        assumed=dialect is None or dialect.assumed,
    )

"""What is wanted of one model, as a container: its spec, its labels and the hash that tells two of them apart."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from homellm import __version__
from homellm.domain.names import (
    LABEL_DECLARED,
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
from homellm.domain.stack import Declared, Model, OllamaServer, RestartPolicy, Stack
from homellm.domain.world import World
from homellm.errors import Problem
from homellm.planning.declared import declared_label
from homellm.planning.loaded_files import files_label
from homellm.runners.built import Built
from homellm.runners.hashing import spec_hash
from homellm.runners.llama_server import build

_FIRST = "nothing serves this model yet"
#: What a llama-server is made for whose model is declared on Ollama.
_MOVES = "Ollama does not serve it as declared, so it moves to llama-server"


@dataclass(frozen=True, slots=True)
class Desired:
    """A unit's container as it should be. `spec` is None when `problems` say why it cannot be.

    `unit` is the model's or the Ollama server's name. `hash` is empty while the image is not here: its content is a
    part of what the hash stands for. `expected_path` is where a llama-server's weights stand inside the container,
    which /props must name. `image_id` is the content of the image, empty while it is not here. `first` is why it is
    made where it has no container yet.
    """

    unit: str
    spec: ContainerSpec | None
    hash: str
    labels: Mapping[str, str]
    expected_path: str = ""
    restart: RestartPolicy = "unless-stopped"
    stop_grace_s: int = 10
    problems: tuple[Problem, ...] = ()
    notes: tuple[str, ...] = ()
    assumed: bool = False
    image_id: str = ""
    first: str = _FIRST

    @property
    def declared(self) -> str:
        """What the file declares of it (planning.declared), as its label keeps it."""
        return self.labels.get(LABEL_DECLARED, "")


def desire(model: Model, stack: Stack, world: World) -> Desired:
    """The container that `model` asks for in this world."""
    built = build(model, stack, world)
    digest = _hash(built, model.image, world)
    declared = stack.model(model.name) or model  # one that has moved from Ollama is declared otherwise than it is made
    dialect = world.dialects.get(model.image)
    return Desired(
        unit=model.name,
        spec=built.spec,
        hash=digest,
        labels=_labels(stack, declared, digest) | files_label(world.loadable.get(model.name, ())),
        expected_path=built.expected_path,
        restart=model.restart,
        stop_grace_s=model.stop_grace_s,
        problems=built.problems,
        notes=built.notes,
        assumed=dialect is None or dialect.assumed,
        image_id=_image_id(model.image, world),
        first=_MOVES if declared.runner == "ollama" != model.runner else _FIRST,
    )


def desire_server(server: OllamaServer, models: tuple[Model, ...], stack: Stack, world: World) -> Desired:
    """The container that an Ollama server of ours asks for, with these models on it."""
    from homellm.runners.ollama_server import build as build_server  # noqa: PLC0415 - for stacks with an Ollama alone

    built = build_server(server, models, stack, world)
    digest = _hash(built, server.image, world)
    return Desired(
        unit=server.name,
        spec=built.spec,
        hash=digest,
        labels=_labels(stack, server, digest),
        expected_path=built.expected_path,
        restart=server.restart,
        stop_grace_s=server.stop_grace_s,
        problems=built.problems,
        notes=built.notes,
        image_id=_image_id(server.image, world),
        first="this Ollama server does not run yet",
    )


def _image_id(image: str, world: World) -> str:
    here = world.images.get(image)
    return here.id if here else ""


def _hash(built: Built, image: str, world: World) -> str:
    here = world.images.get(image)
    return spec_hash(built.spec, here.id) if built.spec and here else ""


def _labels(stack: Stack, unit: Declared, digest: str) -> dict[str, str]:
    return {
        LABEL_STACK: stack.name,
        LABEL_UNIT: unit.name,
        LABEL_ROLE: ROLE_SERVE,
        LABEL_HASH: digest,
        LABEL_SECTION: unit.section,
        LABEL_RESTART: unit.restart,
        LABEL_VERSION: __version__,
        **declared_label(unit, stack),
    }

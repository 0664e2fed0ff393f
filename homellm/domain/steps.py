"""The plan as data: one frozen dataclass for each kind of step, each with its cause and the steps that undo it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import ClassVar

from homellm.domain.spec import ContainerSpec
from homellm.domain.stack import RestartPolicy


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One thing to do to the engine.

    `model` is None for what belongs to the whole stack; `target` names the container, network or image; `cause` says
    why in a few words. `undo` are the steps that take it back when a later step fails.
    """

    kind: ClassVar[str] = ""
    target: str
    cause: str
    model: str | None = None
    undo: tuple[Step, ...] = ()

    @property
    def undo_text(self) -> str:
        """The undo in words, for plans; empty when nothing has to be taken back."""
        return ", ".join(step.title for step in self.undo)

    @property
    def title(self) -> str:
        """The step in words, without its cause."""
        return f"{self.kind} {self.target}"


@dataclass(frozen=True, slots=True, kw_only=True)
class PullImage(Step):
    """Bring an image that is not here, or ask for a newer one."""

    kind: ClassVar[str] = "pull"


@dataclass(frozen=True, slots=True, kw_only=True)
class PullModel(Step):
    """Bring a model's files from a hub; `target` is the source, `size_bytes` what has to come, None when unknown."""

    kind: ClassVar[str] = "pull"
    size_bytes: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateNetwork(Step):
    """Make the network of the stack."""

    kind: ClassVar[str] = "create-network"
    stack: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateContainer(Step):
    """Make a container named `target`, with restart policy `no`, and join it to its further networks."""

    kind: ClassVar[str] = "create"
    spec: ContainerSpec
    labels: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True, slots=True, kw_only=True)
class StartContainer(Step):
    """Start a container."""

    kind: ClassVar[str] = "start"


@dataclass(frozen=True, slots=True, kw_only=True)
class StopContainer(Step):
    """Stop a container; `grace_s` bounds the wait for a server that is busy."""

    kind: ClassVar[str] = "stop"
    grace_s: int = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifyModel(Step):
    """Follow a container until it is ready and hold it against what was asked."""

    kind: ClassVar[str] = "verify"


@dataclass(frozen=True, slots=True, kw_only=True)
class SetRestartPolicy(Step):
    """Change a container's restart policy."""

    kind: ClassVar[str] = "set-restart"
    policy: RestartPolicy

    @property
    def title(self) -> str:
        """The step in words."""
        return f"set restart of {self.target} to {self.policy}"


@dataclass(frozen=True, slots=True, kw_only=True)
class RenameContainer(Step):
    """Give a container another name."""

    kind: ClassVar[str] = "rename"
    name: str

    @property
    def title(self) -> str:
        """The step in words."""
        return f"rename {self.target} to {self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoveContainer(Step):
    """Stop a container if it runs, and remove it."""

    kind: ClassVar[str] = "remove"


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoveNetwork(Step):
    """Remove the network of the stack."""

    kind: ClassVar[str] = "remove-network"


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be done, in order, for one unit or for the whole stack. No steps: nothing to do."""

    steps: tuple[Step, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.steps)

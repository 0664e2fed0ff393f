"""Events: what happens during a verb, in the order it happens. Sinks in report/ turn them into what people see."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from homellm.domain.reports import ModelReport, StackReport
from homellm.domain.steps import Step

Phase = Literal["waiting", "pulling", "creating", "stopping", "starting", "loading", "verifying", "undoing", "removing"]


@dataclass(frozen=True, slots=True)
class StackOpened:
    """A verb began. `facts` are short phrases for the headline: the GPU, the engine and its version."""

    stack: str
    models: tuple[str, ...]
    facts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class StepStarted:
    """A step is being carried out."""

    step: Step


@dataclass(frozen=True, slots=True)
class StepFinished:
    """A step was carried out."""

    step: Step


@dataclass(frozen=True, slots=True)
class Progress:
    """A model is in a phase; `text` says more. Bytes are None where the phase has none.

    `what` names what is transferred: a model's image and its files may come at once.
    """

    model: str
    phase: Phase
    text: str = ""
    done_bytes: int | None = None
    total_bytes: int | None = None
    what: str = ""


@dataclass(frozen=True, slots=True)
class Note:
    """Something people should read: `model` is None for the whole stack."""

    text: str
    model: str | None = None
    warning: bool = False


@dataclass(frozen=True, slots=True)
class ModelFinished:
    """A model has come to its end, good or bad."""

    report: ModelReport


@dataclass(frozen=True, slots=True)
class StackFinished:
    """The verb has come to its end."""

    report: StackReport


Event = StackOpened | StepStarted | StepFinished | Progress | Note | ModelFinished | StackFinished

"""The answers of `homellm fit`: what models take, what fits beside each other, and what would fit otherwise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from homellm.domain.gguf import GgufHeader
from homellm.errors import ExitCode, Problem, worst
from homellm.sizing.architectures import is_exact
from homellm.sizing.demand import Demand
from homellm.sizing.fit import Machine, Place, ctx_fits, fits, layers_fit, places, slots_fit
from homellm.sizing.needs import Needs, Share, needs


@dataclass(frozen=True, slots=True)
class Subject:
    """One model to be answered for. `slots` are the numbers of slots to compare; empty for the demanded one alone."""

    name: str
    header: GgufHeader
    demand: Demand
    machine: Machine
    slots: range = range(0)


@dataclass(frozen=True, slots=True)
class SlotsRow:
    """What a number of slots takes, on all devices together, and whether it fits."""

    parallel: int
    total_bytes: int
    fits: bool


@dataclass(frozen=True, slots=True)
class ModelFit:
    """The answers for one model beside the others of its stack.

    `slots_fit` at the demanded context, `ctx_fit` at the demanded slots, `gpu_layers_fit` as -ngl counts (None without
    a GPU, or when nothing fits). All three are None when no device is known. `layers` is the number that means all.
    `weights_bytes` are those of the file.
    """

    name: str
    demand: Demand
    needs: Needs
    weights_bytes: int
    exact: bool
    fits: bool
    places: tuple[Place, ...]
    slots_fit: int | None
    ctx_fit: int | None
    gpu_layers_fit: int | None
    layers: int
    trained_ctx: int
    rows: tuple[SlotsRow, ...] = ()


@dataclass(frozen=True, slots=True)
class FitReport:
    """What `fit` says. `places` are the devices with all models together; `notes` what has to be known besides."""

    stack: str | None
    models: tuple[ModelFit, ...] = ()
    places: tuple[Place, ...] = ()
    notes: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = field(default=())

    @property
    def exit_code(self) -> ExitCode:
        """0 when every question could be answered; whether something fits is an answer and no error."""
        return worst([problem.exit_code for problem in self.problems])


def answer(stack: str | None, subjects: Sequence[Subject]) -> FitReport:
    """Reckon every model, and all of them together. Raises caches.UnknownType."""
    wanted = [needs(subject.header, subject.demand) for subject in subjects]
    return FitReport(
        stack=stack,
        models=tuple(_model(number, subjects, wanted) for number in range(len(subjects))),
        places=_together(subjects, wanted),
    )


def _model(number: int, subjects: Sequence[Subject], wanted: Sequence[Needs]) -> ModelFit:
    subject, need = subjects[number], wanted[number]
    machine, demand, header = subject.machine, subject.demand, subject.header
    others = [
        _seen_from(machine, other.machine, wanted[index]) for index, other in enumerate(subjects) if index != number
    ]
    known = bool(places([need], machine))
    with_gpu = known and demand.gpu_layers is not None
    return ModelFit(
        name=subject.name,
        demand=demand,
        needs=need,
        weights_bytes=header.weights_bytes,
        exact=is_exact(header),
        fits=fits([need, *others], machine),
        places=places([need], machine),
        slots_fit=slots_fit(header, demand, machine, others=others) if known else None,
        ctx_fit=ctx_fits(header, demand, machine, others=others) if known else None,
        gpu_layers_fit=layers_fit(header, demand, machine, others=others) if with_gpu else None,
        layers=header.layers + 1,
        trained_ctx=header.context_length,
        rows=tuple(_row(subject, parallel, others) for parallel in subject.slots),
    )


def _row(subject: Subject, parallel: int, others: Sequence[Needs]) -> SlotsRow:
    need = needs(subject.header, replace(subject.demand, parallel=parallel))
    return SlotsRow(parallel, need.total, fits([need, *others], subject.machine))


def _seen_from(machine: Machine, its_machine: Machine, need: Needs) -> Needs:
    """What another model takes of this one's devices: its GPU's part only on the same GPU, its container's never."""
    if machine.gpu is not None and its_machine.gpu is not None and machine.gpu.name == its_machine.gpu.name:
        return need
    host = _sum(need.host, need.gpu) if its_machine.shared else need.host
    return replace(need, host=host, gpu=Share())


def _sum(one: Share, other: Share) -> Share:
    return Share(
        weights=one.weights + other.weights,
        kv=one.kv + other.kv,
        recurrent=one.recurrent + other.recurrent,
        compute=one.compute + other.compute,
        output=one.output + other.output,
        projector=one.projector + other.projector,
    )


def _together(subjects: Sequence[Subject], wanted: Sequence[Needs]) -> tuple[Place, ...]:
    """Each device once, with what all models take there. Limits of containers are each model's own."""
    sums: dict[str, Place] = {}
    for subject, need in zip(subjects, wanted, strict=True):
        for place in places([need], replace(subject.machine, container_bytes=None)):
            before = sums.get(place.name)
            used, free = (before.used_bytes, before.free_bytes) if before else (0, place.free_bytes)
            sums[place.name] = replace(
                place, used_bytes=place.used_bytes + used, free_bytes=min(place.free_bytes, free)
            )
    return tuple(sums.values())

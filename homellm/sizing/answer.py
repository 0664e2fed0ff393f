"""The answers of `homellm fit`: what models take, what fits beside each other, and what would fit otherwise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from homellm.domain.gguf import GgufHeader
from homellm.errors import ExitCode, Problem, worst
from homellm.sizing.architectures import is_exact
from homellm.sizing.demand import Demand
from homellm.sizing.fit import Machine, Place, ctx_fits, fits, layers_fit, places, slots_fit
from homellm.sizing.needs import Needs, needs
from homellm.sizing.together import Member, ctx_each, mapped_once, places_together, seen_from, slots_each


@dataclass(frozen=True, slots=True)
class Subject:
    """One model to be answered for. `slots` are the numbers of slots to compare; empty for the demanded one alone.

    `file` names weights that other models may map as well, as `together.Member` has it.
    """

    name: str
    header: GgufHeader
    demand: Demand
    machine: Machine
    slots: range = range(0)
    file: str = ""


@dataclass(frozen=True, slots=True)
class SlotsRow:
    """What a number of slots takes, on all devices together, and whether it fits."""

    parallel: int
    total_bytes: int
    fits: bool


@dataclass(frozen=True, slots=True)
class ModelFit:
    """The answers for one model beside the others of its stack, which have what they demand.

    `fits_alone`, `slots_alone` and `ctx_alone` are the answers as if there were no others. `slots_fit` is at the
    demanded context, `ctx_fit` at the demanded slots, `gpu_layers_fit` as -ngl counts (None without a GPU, or when
    nothing fits). None of the numbers is known when no device is. `layers` is the number that means all.
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
    fits_alone: bool = True
    slots_alone: int | None = None
    ctx_alone: int | None = None
    rows: tuple[SlotsRow, ...] = ()


@dataclass(frozen=True, slots=True)
class FitReport:
    """What `fit` says. `places` are the devices with all models together; `notes` what has to be known besides.

    Where several models do not fit together, `slots_each` is the most slots that each of them may have for all to fit,
    and, where not even one slot each fits, `ctx_each` the largest context; 0 where there is none, None where all fit.
    """

    stack: str | None
    models: tuple[ModelFit, ...] = ()
    places: tuple[Place, ...] = ()
    slots_each: int | None = None
    ctx_each: int | None = None
    notes: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = field(default=())

    @property
    def exit_code(self) -> ExitCode:
        """0 when every question could be answered; whether something fits is an answer and no error."""
        return worst([problem.exit_code for problem in self.problems])


def answer(stack: str | None, subjects: Sequence[Subject]) -> FitReport:
    """Reckon every model, and all of them together. Raises caches.UnknownType."""
    alone = [needs(subject.header, subject.demand) for subject in subjects]
    files = [subject.file for subject in subjects]
    there = places_together(mapped_once(alone, files), [subject.machine for subject in subjects])
    short = len(subjects) > 1 and any(place.missing_bytes for place in there)
    slots = slots_each(_members(subjects)) if short else None
    return FitReport(
        stack=stack,
        models=tuple(_model(number, subjects, alone) for number in range(len(subjects))),
        places=there,
        slots_each=slots,
        ctx_each=ctx_each(_members(subjects)) if slots == 0 else None,
    )


def _members(subjects: Sequence[Subject]) -> list[Member]:
    return [Member(one.name, one.header, one.demand, one.machine, file=one.file) for one in subjects]


def _model(number: int, subjects: Sequence[Subject], alone: Sequence[Needs]) -> ModelFit:
    subject, need = subjects[number], alone[number]
    machine, demand, header = subject.machine, subject.demand, subject.header
    others = _others(number, subjects, alone)
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
        fits_alone=fits([need], machine),
        slots_alone=slots_fit(header, demand, machine) if known else None,
        ctx_alone=ctx_fits(header, demand, machine) if known else None,
        rows=tuple(_row(subject, parallel, others) for parallel in subject.slots),
    )


def _others(number: int, subjects: Sequence[Subject], alone: Sequence[Needs]) -> list[Needs]:
    """What the other models take of this one's devices; weights that this one maps too are its own."""
    order = [number, *(index for index in range(len(subjects)) if index != number)]
    once = mapped_once([alone[index] for index in order], [subjects[index].file for index in order])
    machine = subjects[number].machine
    rest = zip(order[1:], once[1:], strict=True)
    return [seen_from(machine, subjects[index].machine, need) for index, need in rest]


def _row(subject: Subject, parallel: int, others: Sequence[Needs]) -> SlotsRow:
    need = needs(subject.header, replace(subject.demand, parallel=parallel))
    return SlotsRow(parallel, need.total, fits([need, *others], subject.machine))

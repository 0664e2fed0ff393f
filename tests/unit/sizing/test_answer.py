"""Several models beside each other, and what is answered for each."""

from __future__ import annotations

from dataclasses import replace

import pytest

from homellm.sizing import Demand, Device, Machine, needs
from homellm.sizing.answer import Subject, answer
from tests.unit.sizing.headers import DEEPSEEK_V2_LITE, MIB, QWEN25_7B, SMOLLM2_135M

ALL = 99
RAM = Device("system memory", 16000 * MIB, 24000 * MIB)
CARD = Device("card", 7113 * MIB, 8191 * MIB)
OTHER_CARD = Device("other card", 7113 * MIB, 8191 * MIB)
ON_CARD = Machine(gpu=CARD, host=RAM)
QWEN = Subject("qwen", QWEN25_7B, Demand(ctx=4096, parallel=3, gpu_layers=ALL), ON_CARD)
SMOL = Subject("smol", SMOLLM2_135M, Demand(ctx=8192, parallel=3, gpu_layers=ALL), ON_CARD)


def used(report: object) -> dict[str, int]:
    return {place.name: place.used_bytes for place in report.places}  # type: ignore[attr-defined]


def test_a_model_alone() -> None:
    report = answer("nuc", [replace(QWEN, slots=range(6, 9))])
    (model,) = report.models
    # 7113 - 1024 - 4168 - 139 MiB are left for 3 × 56 KiB of cache and 1 KiB of mask a token: 10,797 of them
    assert (model.slots_fit, model.ctx_fit, model.gpu_layers_fit, model.layers) == (7, 42 * 256, 29, 29)
    assert model.fits
    assert model.weights_bytes == 4460 * MIB
    assert [(row.parallel, row.fits) for row in model.rows] == [(6, True), (7, True), (8, False)]
    need = needs(QWEN25_7B, QWEN.demand)
    assert used(report) == {"card": need.gpu.total, "system memory": need.host.total}


def test_two_models_on_one_card_share_it() -> None:
    report = answer("nuc", [QWEN, SMOL])
    qwen, smol = report.models
    assert qwen.slots_fit == 5
    both = [needs(subject.header, subject.demand) for subject in (QWEN, SMOL)]
    assert used(report)["card"] == sum(need.gpu.total for need in both)
    assert smol.places[0].used_bytes == both[1].gpu.total


def test_two_models_on_two_cards_share_the_system_memory_alone() -> None:
    other = replace(SMOL, machine=Machine(gpu=OTHER_CARD, host=RAM))
    report = answer("nuc", [QWEN, other])
    assert report.models[0].slots_fit == 7
    assert set(used(report)) == {"card", "other card", "system memory"}


def test_a_model_on_an_integrated_gpu_takes_system_memory_from_the_others() -> None:
    integrated = replace(SMOL, machine=Machine(host=RAM, shared=True))
    on_cpu = Subject("cpu", QWEN25_7B, Demand(ctx=4096), Machine(host=RAM))
    alone = answer("nuc", [on_cpu]).models[0].slots_fit
    beside = answer("nuc", [on_cpu, integrated]).models[0].slots_fit
    assert alone is not None
    assert beside is not None
    # 92 + 3 × 180 + 22 MiB on the GPU and 28 + 13 + 1 on the host: three slots of 224 MiB fewer, or four
    assert alone - beside in (3, 4)


def test_models_that_fit_alone_and_not_together_are_told_so() -> None:
    big = replace(QWEN, demand=replace(QWEN.demand, parallel=7))
    report = answer("nuc", [big, SMOL])
    assert not report.models[0].fits
    assert not report.models[0].places[0].missing_bytes
    assert report.places[0].missing_bytes


def test_the_limit_of_a_container_is_for_its_model_alone() -> None:
    need = needs(SMOLLM2_135M, Demand(ctx=2048))
    limited = Subject("a", SMOLLM2_135M, Demand(ctx=2048), Machine(host=RAM, container_bytes=need.total))
    report = answer("nuc", [limited, replace(limited, name="b")])
    assert all(model.fits for model in report.models)
    assert set(used(report)) == {"system memory"}


def test_without_any_device_nothing_is_claimed() -> None:
    (model,) = answer(None, [replace(QWEN, machine=Machine())]).models
    assert (model.slots_fit, model.ctx_fit, model.gpu_layers_fit, model.places) == (None, None, None, ())


def test_an_architecture_that_is_known_in_part_is_marked() -> None:
    (whole,) = answer(None, [replace(QWEN, header=DEEPSEEK_V2_LITE)]).models
    (partly,) = answer(None, [replace(QWEN, header=replace(DEEPSEEK_V2_LITE, architecture="deepseek32"))]).models
    assert (whole.exact, partly.exact) == (True, False)


@pytest.mark.parametrize("count", [0, 1, 3])
def test_every_model_is_answered_for(count: int) -> None:
    assert len(answer("nuc", [QWEN] * count).models) == count

"""What fits: the worked example of an 8 GB card, devices, limits, and the answers when it does not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from homellm.domain.gguf import TensorBytes
from homellm.domain.stack import KvCacheType, Model, Source
from homellm.sizing import (
    Demand,
    Device,
    Machine,
    Needs,
    Share,
    ctx_fits,
    demand_of,
    estimate_model,
    fits,
    layers_fit,
    needs,
    places,
    slots_fit,
)
from tests.unit.sizing.headers import MIB, QWEN25_7B, SMOLLM2_135M

CARD = Machine(gpu=Device("RTX 3070", 7113 * MIB, 8191 * MIB))
ALL = 99


def by_hand(slots: int) -> Needs:
    return Needs(slots, 4096, Share(), Share(weights=4168 * MIB, compute=136 * MIB, kv=slots * 224 * MIB))


def test_seven_slots_fit_an_8_gb_card_and_eight_do_not() -> None:
    assert fits([by_hand(7)], CARD)
    (card,) = places([by_hand(8)], CARD)
    assert card.used_bytes == (4168 + 136 + 8 * 224) * MIB
    assert (card.free_bytes, card.target_bytes, card.total_bytes) == (7113 * MIB, 1024 * MIB, 8191 * MIB)
    assert card.missing_bytes == (4168 + 136 + 8 * 224 - (7113 - 1024)) * MIB == 7 * MIB


def test_the_reckoning_finds_the_same_seven() -> None:
    need = needs(QWEN25_7B, Demand(ctx=4096, parallel=7, gpu_layers=ALL))
    assert need.gpu.weights == 4168 * MIB
    assert need.host.weights == 292 * MIB
    assert need.kv_bytes_per_slot == 224 * MIB
    assert slots_fit(QWEN25_7B, Demand(ctx=4096, gpu_layers=ALL), CARD) == 7


def test_another_fit_target_changes_the_answer() -> None:
    generous = replace(CARD, fit_target_bytes=0)
    assert slots_fit(QWEN25_7B, Demand(ctx=4096, gpu_layers=ALL), generous) == 12


def test_how_much_context_fits() -> None:
    demand = Demand(parallel=7, gpu_layers=ALL)
    most = ctx_fits(QWEN25_7B, demand, CARD)
    assert most % 256 == 0
    assert 4096 <= most < 4096 + 1024
    assert fits([needs(QWEN25_7B, replace(demand, ctx=most))], CARD)
    assert not fits([needs(QWEN25_7B, replace(demand, ctx=most + 256))], CARD)


def test_context_is_not_offered_beyond_the_training() -> None:
    assert ctx_fits(SMOLLM2_135M, Demand(), Machine(host=Device("RAM", 2**40))) == 8192


def test_how_many_layers_fit_otherwise() -> None:
    small = replace(CARD, gpu=Device("small", 4096 * MIB), host=Device("RAM", 16000 * MIB))
    demand = Demand(ctx=4096, gpu_layers=ALL)
    assert slots_fit(QWEN25_7B, demand, small) == 0
    most = layers_fit(QWEN25_7B, demand, small)
    assert most is not None
    assert 0 < most < 29
    assert fits([needs(QWEN25_7B, replace(demand, gpu_layers=most))], small)
    assert not fits([needs(QWEN25_7B, replace(demand, gpu_layers=most + 1))], small)


def test_nothing_fits_at_all() -> None:
    tiny = Machine(gpu=Device("tiny", 1100 * MIB), host=Device("RAM", 2000 * MIB))
    assert layers_fit(QWEN25_7B, Demand(gpu_layers=ALL), tiny) is None
    assert ctx_fits(QWEN25_7B, Demand(gpu_layers=ALL), tiny) == 0


def test_a_gpu_that_shares_the_memory_of_the_host_counts_twice() -> None:
    need = needs(QWEN25_7B, Demand(gpu_layers=ALL))
    shared = Machine(gpu=Device("Iris Xe", 8000 * MIB), host=Device("memory", 16000 * MIB), shared=True)
    gpu, host = places([need], shared)
    assert gpu.used_bytes == need.gpu.total
    assert host.used_bytes == need.gpu.total + need.host.total
    apart = places([need], replace(shared, shared=False))
    assert apart[1].used_bytes == need.host.total


def test_the_limit_of_a_container_keeps_no_target() -> None:
    need = needs(SMOLLM2_135M, Demand(ctx=2048, parallel=3))
    exact = Machine(container_bytes=need.host.total)
    assert fits([need], exact)
    assert not fits([need], replace(exact, container_bytes=need.host.total - 1))


def test_models_take_room_from_each_other() -> None:
    other = needs(SMOLLM2_135M, Demand(ctx=8192, parallel=3, gpu_layers=ALL))
    demand = Demand(ctx=4096, gpu_layers=ALL)
    # the other takes 92 + 3 × 180 + 22 MiB: of 7113 - 1024 - 654 there are 1124 left after 4168 and 143, five times 224
    assert slots_fit(QWEN25_7B, demand, CARD, others=[other]) == 5


def test_layers_go_to_the_gpu_from_the_end() -> None:
    header = replace(QWEN25_7B, layers=3, tensor_bytes=TensorBytes((10, 20, 40), 100, 5, tied_output=100))
    shares = {n: needs(header, Demand(gpu_layers=n)) for n in range(5)}
    assert [shares[n].gpu.weights for n in range(5)] == [0, 105, 145, 165, 175]
    assert [shares[n].host.weights for n in range(5)] == [175, 170, 130, 110, 100]
    kv = needs(header, Demand()).host.kv
    assert [shares[n].gpu.kv for n in range(5)] == [0, 0, kv // 3, 2 * kv // 3, kv]


def test_weights_on_the_cpu_are_those_of_the_file() -> None:
    need = needs(SMOLLM2_135M, Demand(ctx=2048, parallel=3))
    # load_tensors: CPU_Mapped model buffer size = 92.10 MiB
    assert need.weights_bytes / MIB == pytest.approx(92.10, abs=0.005)
    # - Host | 243 = 92 + 135 + 16
    assert need.host.total / MIB == pytest.approx(243, abs=1.5)


@given(st.integers(1, 64), st.integers(1, 60000), st.integers(2000, 60000))
def test_what_is_said_to_fit_fits_and_one_more_does_not(parallel: int, ctx: int, free_mib: int) -> None:
    machine = Machine(gpu=Device("g", free_mib * MIB))
    demand = Demand(ctx=ctx, parallel=parallel, gpu_layers=ALL)
    most = slots_fit(QWEN25_7B, demand, machine)
    if most:
        assert fits([needs(QWEN25_7B, replace(demand, parallel=most))], machine)
    if most < 256:
        assert not fits([needs(QWEN25_7B, replace(demand, parallel=most + 1))], machine)


def model(**keys: object) -> Model:
    return Model("m", Source("gguf", "/m.gguf", Path("/m.gguf")), "image", **keys)  # type: ignore[arg-type]


def test_what_a_declared_model_asks() -> None:
    assert demand_of(model()) == Demand(4096, 1, 2048, 512, "f16", "f16")
    asked = demand_of(
        model(
            ctx=32768,
            parallel=3,
            batch=1024,
            ubatch=256,
            kv_cache_type=KvCacheType("q8_0", "q4_0"),
            flash_attention="off",
            kv_unified=True,
            swa_full=True,
            gpu="iris",
            gpu_layers=12,
            mlock=True,
        )
    )
    assert asked == Demand(32768, 3, 1024, 256, "q8_0", "q4_0", False, True, True, 12, True)
    everything = demand_of(model(gpu="iris")).gpu_layers
    assert everything is not None
    assert everything > 1000


def test_the_estimate_of_a_declared_model() -> None:
    found = estimate_model(QWEN25_7B, model(ctx=4096, parallel=7, gpu="card"))
    assert found.exact
    assert found.kv_bytes_per_slot == 224 * MIB
    assert found.recurrent_bytes_per_slot == 0
    assert found.weights_bytes == 4460 * MIB
    assert found.total_bytes == found.needs.total
    assert found.total_bytes - found.weights_bytes - 7 * 224 * MIB < 200 * MIB


def test_the_estimate_of_a_size_alone_says_that_it_is_not_exact() -> None:
    found = estimate_model(164 * 1024 * MIB, model())
    assert (found.total_bytes, found.exact) == (164 * 1024 * MIB, False)
    assert not fits([found.needs], Machine(host=Device("memory", 13 * 1024 * MIB)))


def test_a_projector_is_added_where_the_gpu_is() -> None:
    assert estimate_model(QWEN25_7B, model(gpu="card"), projector_bytes=7).needs.gpu.projector == 7
    assert estimate_model(QWEN25_7B, model(), projector_bytes=7).needs.host.projector == 7

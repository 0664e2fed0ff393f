"""Caches against figures that real servers printed, and against formulas worked by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from homellm.domain.gguf import GgufHeader, StateSpace, Window
from homellm.sizing.architectures import layers_of, state_elements, window_size
from homellm.sizing.caches import UnknownType, kv_bytes_by_layer, state_bytes_by_layer, window_cells
from homellm.sizing.demand import Demand
from tests.unit.sizing.headers import (
    DEEPSEEK_V2_LITE,
    GEMMA3_4B,
    MAMBA_2_8B,
    MIB,
    QWEN25_7B,
    SMOLLM2_135M,
    TINY_LFM2,
    plain,
)


def kv(header: GgufHeader, **demand: object) -> int:
    return sum(kv_bytes_by_layer(header, Demand(**demand)))  # type: ignore[arg-type]


def test_qwen25_7b_at_4096_takes_224_mib_a_slot() -> None:
    assert kv(QWEN25_7B, ctx=4096) == 2 * 28 * 4 * 128 * 4096 * 2 == 224 * MIB


@pytest.mark.parametrize(
    ("demand", "mib"),
    [
        # llama_kv_cache: size =  135.00 MiB (  2048 cells,  30 layers,  3/3 seqs)
        ({"ctx": 2048, "parallel": 3}, 135.0),
        # Vulkan0 KV buffer size = 33.75 MiB, -np 3 -c 1536
        ({"ctx": 512, "parallel": 3}, 33.75),
        # without -np: four slots share 8192 cells, CPU KV buffer size =   180.00 MiB
        ({"ctx": 2048, "parallel": 4, "kv_unified": True}, 180.0),
        # Vulkan0 KV buffer size = 45.00 MiB, -np 1 -c 2048
        ({"ctx": 2048}, 45.0),
    ],
)
def test_what_servers_printed_for_smollm2(demand: dict[str, object], mib: float) -> None:
    assert kv(SMOLLM2_135M, **demand) == mib * MIB


def test_what_a_server_printed_for_a_hybrid() -> None:
    # llama_kv_cache: size =   12.00 MiB (  4096 cells,   3 layers,  2/2 seqs)
    assert kv(TINY_LFM2, ctx=4096, parallel=2) == 12 * MIB
    # three convolution layers of 256 elements, two tokens back, two sequences: 0.01 MiB
    assert state_bytes_by_layer(TINY_LFM2, Demand(parallel=2)) == (4096, 0, 4096, 0, 4096, 0)


@pytest.mark.parametrize(
    ("kind", "mib"), [("f16", 224), ("bf16", 224), ("f32", 448), ("q8_0", 119), ("q4_0", 63), ("iq4_nl", 63)]
)
def test_types_of_other_width(kind: str, mib: int) -> None:
    # q8_0 takes 34 bytes for 32 elements, q4_0 and iq4_nl 18
    assert kv(QWEN25_7B, key_type=kind, value_type=kind) == mib * MIB


def test_keys_and_values_of_different_types() -> None:
    assert kv(QWEN25_7B, key_type="q8_0", value_type="f16") == int((59.5 + 112) * MIB)


@pytest.mark.parametrize("kind", ["q9_9", ""])
def test_a_type_that_ggml_does_not_have(kind: str) -> None:
    with pytest.raises(UnknownType, match="no type"):
        kv(QWEN25_7B, key_type=kind)


def test_a_type_whose_blocks_do_not_divide_the_rows() -> None:
    with pytest.raises(UnknownType, match="cannot be q8_0"):
        kv(plain("llama", 1, 48, 1, 1, 48, 96), key_type="q8_0")


@pytest.mark.parametrize(
    ("ctx", "parallel", "cells"), [(1000, 3, 1024), (4096, 1, 4096), (4097, 1, 4352), (1, 1, 256), (32768, 3, 32768)]
)
def test_contexts_are_rounded_up_as_the_server_does(ctx: int, parallel: int, cells: int) -> None:
    # facts of a run: 1000 × 3 gave 1024 each
    assert Demand(ctx=ctx, parallel=parallel).slot_cells == cells


def test_a_window_keeps_the_window_and_a_batch() -> None:
    # 34 layers, every sixth whole: 5 whole ones of 32768 cells, 29 of pad256(1024 + 512) cells
    by_layer = kv_bytes_by_layer(GEMMA3_4B, Demand(ctx=32768))
    row = 4 * 256 * 2 * 2
    assert sorted(set(by_layer)) == [1536 * row, 32768 * row]
    assert sum(by_layer) == (5 * 32768 + 29 * 1536) * row


def test_a_window_larger_than_the_context_keeps_the_context() -> None:
    assert window_cells(GEMMA3_4B, Demand(ctx=1024)) == 1024


def test_the_window_of_a_shared_pool_is_that_of_all_slots() -> None:
    assert window_cells(GEMMA3_4B, Demand(ctx=32768, parallel=4, kv_unified=True)) == 4 * 1024 + 512
    assert window_cells(GEMMA3_4B, Demand(ctx=32768, parallel=4)) == 1536


def test_swa_full_keeps_everything() -> None:
    assert kv(GEMMA3_4B, ctx=32768, swa_full=True) == 34 * 32768 * 4 * 256 * 2 * 2


def test_latent_attention_keeps_keys_alone() -> None:
    # kv_lora_rank 512 and 64 rotated: 27 layers × 576 × 4096 × 2
    assert kv(DEEPSEEK_V2_LITE, ctx=4096) == 27 * 576 * 4096 * 2


def test_a_state_space_model_keeps_a_state_and_no_keys() -> None:
    assert kv(MAMBA_2_8B, ctx=4096, parallel=3) == 0
    state = 64 * (3 * 5120 + 16 * 5120) * 4
    assert sum(state_bytes_by_layer(MAMBA_2_8B, Demand(parallel=3))) == 3 * state


def test_without_flash_attention_values_are_as_wide_as_the_widest() -> None:
    header = plain("llama", 2, 512, 8, (8, 2), 64, 1024)
    assert kv(header, ctx=256) == 256 * 2 * 2 * (512 + 128)
    assert kv(header, ctx=256, flash_attention=False) == 256 * 2 * (512 + 128 + 512 + 512)


def test_encoders_keep_nothing() -> None:
    assert kv(plain("bert", 12, 384, 12, 12, 32, 1536)) == 0


def kinds(header: GgufHeader) -> str:
    """One letter a layer: a attends, w with a window, s keeps a state, b both, - neither."""
    letters = []
    for layer in layers_of(header):
        if layer.key and layer.state:
            letters.append("b")
        elif layer.key:
            letters.append("w" if layer.windowed else "a")
        else:
            letters.append("s" if layer.state else "-")
    return "".join(letters)


SSM = StateSpace(conv_kernel=4, inner_size=64, state_size=16, group_count=1)


def test_layers_that_attend_and_layers_that_keep_a_state() -> None:
    def with_state(header: GgufHeader) -> GgufHeader:
        return replace(header, state_space=SSM)

    assert kinds(TINY_LFM2) == "sasasa"
    assert kinds(with_state(plain("granitehybrid", 4, 32, 2, (0, 0, 1, 0), 16, 64))) == "ssas"
    assert kinds(with_state(plain("falcon-h1", 2, 32, 2, 1, 16, 64))) == "bb"
    assert kinds(with_state(plain("mamba2", 2, 32, 0, 0, 0, 0))) == "ss"
    assert kinds(with_state(plain("qwen3next", 8, 32, 2, 1, 16, 64))) == "sssasssa"
    two = replace(plain("qwen35", 4, 32, 2, 1, 16, 64), full_attention_interval=2)
    assert kinds(with_state(two)) == "sasa"
    listed = replace(two, recurrent_layers=(False, False, True, True))
    assert kinds(with_state(listed)) == "aass"
    nemotron = replace(plain("nemotron_h", 3, 32, 2, (0, 0, 1), 16, 0), feed_forward=(0, 64, 0))
    assert kinds(with_state(nemotron)) == "s-a"


def test_layers_with_a_window() -> None:
    def windowed(name: str, layers: int = 8, **window: object) -> str:
        header = plain(name, layers, 32, 2, 1, 16, 64)
        return kinds(replace(header, window=Window(**{"size": 512, **window})))  # type: ignore[arg-type]

    assert windowed("gemma3") == "wwwwwaww"
    assert windowed("gpt-oss") == "wawawawa"
    assert windowed("cohere2") == "wwwawwwa"
    assert windowed("laguna") == "awwwawww"
    assert windowed("gemma3", pattern=2) == "wawawawa"
    assert windowed("gemma4", 4, pattern=(True, False, False, True)) == "waaw"
    # these have the key and no window: llama.cpp ignores it
    assert windowed("phi3", 4) == "aaaa"
    assert windowed("llama", 4) == "aaaa"
    assert windowed("exaone4", 30) == "a" * 30
    assert windowed("gemma3", 4, size=0) == "aaaa"


def test_window_sizes_that_the_architecture_sets() -> None:
    assert window_size(plain("gemma2", 2, 32, 2, 1, 16, 64)) == 4096
    assert window_size(replace(plain("smallthinker", 2, 32, 2, 1, 16, 64), window=Window(77))) == 4096
    assert window_size(replace(plain("llama4", 2, 32, 2, 1, 16, 64), window=Window(77))) == 8192


def test_layers_that_use_the_cache_of_earlier_ones_or_only_predict() -> None:
    shared = replace(plain("gemma4", 4, 32, 2, 1, 16, 64), shared_kv_layers=2, window=Window(512, (True, False) * 2))
    assert kinds(shared) == "wa--"
    assert kinds(replace(plain("glm4moe", 4, 32, 2, 1, 16, 64), nextn_layers=1)) == "aaa-"
    assert kinds(replace(plain("gemma3n", 30, 32, 2, 1, 16, 64), window=Window(512))).endswith("-" * 10)


@pytest.mark.parametrize(
    ("architecture", "space", "elements"),
    [
        # RWKV 6: two shifted tokens and a square of 64 for each head
        ("rwkv6", StateSpace(wkv_head_size=64), 2 * 2048 + 2048 * 64),
        ("lfm2", StateSpace(shortconv_cache=3), 2 * 2048),
        # Mamba 2: convolution over inner size and both groups
        ("mamba2", StateSpace(4, 4096, 128, 8), 3 * (4096 + 2 * 8 * 128) + 128 * 4096),
        # Kimi: three convolutions over 32 heads of 128, a square of 128 for each
        ("kimi-linear", StateSpace(conv_kernel=4, kda_head_dim=128), 3 * 3 * 32 * 128 + 128 * 128 * 32),
        ("minimax-01", StateSpace(), 64 * 64 * 32),
    ],
)
def test_elements_of_a_recurrent_layer(architecture: str, space: StateSpace, elements: int) -> None:
    assert state_elements(replace(plain(architecture, 1, 2048, 32, 32, 64, 1), state_space=space)) == elements

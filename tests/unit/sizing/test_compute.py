"""The compute buffer against what build 11669 printed (`CPU compute buffer size`, `Vulkan0 compute buffer size`)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from homellm.domain.gguf import Experts, GgufHeader, StateSpace, Window
from homellm.sizing.compute import compute_buffers, output_bytes
from homellm.sizing.demand import Demand
from tests.unit.sizing.headers import MIB, SMOLLM2_135M, TINY_LFM2, plain

LLAMA = plain("llama", 4, 256, 4, 2, 64, 512, 4096)


def host(header: GgufHeader, **demand: object) -> float:
    return compute_buffers(header, Demand(**demand)).host / MIB  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("header", "demand", "mib"),
    [
        (SMOLLM2_135M, {"ctx": 2048, "parallel": 3}, 16.68),
        (TINY_LFM2, {"ctx": 4096, "parallel": 2}, 9.52),
        (LLAMA, {"ctx": 512}, 6.02),
        (LLAMA, {"ctx": 16384}, 21.52),
        (LLAMA, {"ctx": 4096, "parallel": 8}, 9.52),
        (LLAMA, {"ctx": 4096, "parallel": 4, "kv_unified": True}, 21.52),
        (LLAMA, {"ctx": 4096, "ubatch": 128}, 2.38),
        (LLAMA, {"ctx": 4096, "ubatch": 2048}, 38.07),
        (LLAMA, {"ctx": 4096, "flash_attention": False}, 43.51),
        (LLAMA, {"ctx": 16384, "flash_attention": False}, 163.51),
        (plain("llama", 4, 256, 16, 16, 64, 1024), {"ctx": 512}, 11.02),
        (plain("phi3", 3, 1024, 16, 16, 64, 3072), {"ctx": 512}, 28.52),
        (replace(plain("gemma3", 6, 256, 4, 2, 64, 512), window=Window(512)), {"ctx": 4096, "parallel": 2}, 10.53),
    ],
)
def test_plain_windowed_and_short_convolution_layers_are_exact(
    header: GgufHeader, demand: dict[str, object], mib: float
) -> None:
    assert host(header, **demand) == pytest.approx(mib, abs=0.02)


@pytest.mark.parametrize(
    ("embedding", "count", "used", "width", "mib"),
    [(256, 8, 4, 128, 6.02), (256, 8, 2, 512, 9.02), (512, 64, 8, 256, 17.52), (2048, 128, 8, 768, 88.52)],
)
def test_experts_are_exact(embedding: int, count: int, used: int, width: int, mib: float) -> None:
    header = plain("qwen3moe", 2, embedding, embedding // 64, 2, 64, 6144)
    header = replace(header, experts=Experts(count, used, width, 0, dense=False))
    assert host(header, ctx=512) == pytest.approx(mib, abs=0.02)


@pytest.mark.parametrize(
    ("embedding", "state", "heads", "width", "mib"),
    [(256, 16, 16, 512, 8.24), (512, 128, 16, 512, 17.06), (1024, 128, 32, 2048, 35.11), (1024, 128, 32, 4096, 34.52)],
)
def test_state_space_layers_are_within_a_tenth(embedding: int, state: int, heads: int, width: int, mib: float) -> None:
    space = StateSpace(4, 2 * embedding, state, 1, heads)
    header = plain("granitehybrid", 3, embedding, embedding // 64, (0, 2, 0), 64, width)
    assert host(replace(header, state_space=space), ctx=512) == pytest.approx(mib, rel=0.1)


def test_on_a_gpu_the_buffers_are_two() -> None:
    # Vulkan0 compute buffer size = 14.04 MiB, Vulkan_Host compute buffer size = 5.03 MiB; -np 3 -c 1536 -ngl 99
    found = compute_buffers(SMOLLM2_135M, Demand(ctx=512, parallel=3, gpu_layers=99))
    assert found.gpu / MIB == pytest.approx(14.04, abs=0.02)
    assert found.host / MIB == pytest.approx(5.03, abs=0.02)


def test_layers_left_on_the_host_are_copied_over_for_prompts() -> None:
    # 6 layers of 512 × 2048 in f16 (2 MiB a matrix): 18.01 MiB with all layers on the GPU, 22.00 with three
    header = plain("llama", 6, 512, 8, 2, 64, 2048)
    header = replace(header, tensor_bytes=replace(header.tensor_bytes, largest=2 * MIB))
    assert compute_buffers(header, Demand(ctx=2048, gpu_layers=7)).gpu / MIB == pytest.approx(18.01, abs=0.02)
    assert compute_buffers(header, Demand(ctx=2048, gpu_layers=3)).gpu / MIB == pytest.approx(22.0, abs=0.02)


def test_older_builds_keep_the_logits_of_a_whole_batch() -> None:
    # Ollama 0.24, llama runner: compute buffer size = 101.39 MiB at -c 3072 -np 3, of which 96 are logits
    assert host(SMOLLM2_135M, ctx=1024, parallel=3, full_logits=True) == pytest.approx(101.39, rel=0.05)


@pytest.mark.parametrize(("parallel", "mib"), [(1, 0.19), (3, 0.56), (4, 0.75)])
def test_the_output_buffer_has_the_logits_of_one_token_a_slot(parallel: int, mib: float) -> None:
    assert output_bytes(SMOLLM2_135M, Demand(parallel=parallel)) / MIB == pytest.approx(mib, abs=0.005)

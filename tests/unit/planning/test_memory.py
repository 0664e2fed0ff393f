"""What memory refuses, what it only warns of, and what would fit instead."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from homellm.domain.stack import Gpu, KvCacheType, Stack
from homellm.domain.world import Host, HostGpu, ModelFile
from homellm.errors import ExitCode
from homellm.planning.memory import memory_problem
from homellm.sizing import demand_of, needs
from tests.unit.planning.build import model, world
from tests.unit.sizing.headers import MIB, QWEN25_7B, SMOLLM2_135M

GIB = 1024 * MIB
CARD = HostGpu("0000:03:00.0", "1002:73ff", "amd", "RX 6600", "amdgpu", False, "renderD128", 993, 8191 * MIB)
CARD = replace(CARD, render_mode=0o660, used_bytes=(8191 - 7113) * MIB)


def problem(wanted, *, total=24 * GIB, free=20 * GIB, header=QWEN25_7B, gpus=(), api="vulkan", **more):
    file = ModelFile("/models/smol.gguf", "ok", header=header)
    host = Host(readable=True, memory_bytes=total, available_bytes=free, gpus=gpus)
    here = world(host=host, model_files={"/models/smol.gguf": file}, **more)
    stack = Stack("nuc", Path("/s.yaml"), (wanted,), (Gpu("card", api, auto=True),))
    return memory_problem(wanted, stack, here)


def test_what_fits_is_no_problem():
    assert problem(model(ctx=4096, parallel=3)) is None


def test_without_a_header_nothing_is_claimed():
    stack = Stack("nuc", Path("/s.yaml"), (model(),))
    assert memory_problem(model(), stack, world()) is None
    cut = ModelFile("/models/smol.gguf", "truncated")
    assert memory_problem(model(), stack, world(model_files={"/models/smol.gguf": cut})) is None


def test_more_than_the_whole_machine_has_is_refused_with_the_numbers_and_what_would_fit():
    found = problem(model(ctx=32768, parallel=16), total=16 * GIB, free=15 * GIB)
    need = needs(QWEN25_7B, demand_of(model(ctx=32768, parallel=16))).total // MIB
    assert (found.id, found.exit_code) == ("does-not-fit", ExitCode.REFUSED)
    assert f"needs {need} MiB of system memory, which has 16384 MiB" in found.message
    # 16384 less 4460 of weights, 183 and 9 of buffers: six slots of 1792 MiB
    assert found.hint == "At this ctx parallel: 6 fits."


def test_164_gib_on_a_machine_of_13_are_refused_before_anything_is_begun():
    sums = replace(QWEN25_7B.tensor_bytes, layers=(164 * GIB // 28,) * 28)
    found = problem(model(), header=replace(QWEN25_7B, tensor_bytes=sums), total=13 * GIB, free=12 * GIB)
    assert found.exit_code is ExitCode.REFUSED
    assert "A smaller model or a smaller quantization is needed." in found.hint


def test_what_fits_only_when_others_let_go_is_advice():
    found = problem(model(ctx=4096, parallel=3), free=4 * GIB)
    assert (found.id, found.exit_code) == ("fits-alone", ExitCode.OK)
    assert "which has free 4096 MiB, of which 1024 MiB stay free" in found.message


def test_a_card_is_judged_by_its_own_memory():
    assert problem(model(gpu="card", gpu_layers="all", ctx=4096, parallel=7), gpus=(CARD,)) is None
    tight = problem(model(gpu="card", gpu_layers="all", ctx=4096, parallel=8), gpus=(CARD,))
    assert (tight.id, tight.exit_code) == ("fits-alone", ExitCode.OK)
    assert "AMD RX 6600 (0000:03:00.0)" in tight.message
    assert "parallel: 7 fits" in tight.hint
    never = problem(model(gpu="card", gpu_layers="all", ctx=4096, parallel=30), gpus=(CARD,))
    assert (never.id, never.exit_code) == ("does-not-fit", ExitCode.REFUSED)


def test_with_auto_the_server_leaves_layers_on_the_cpu():
    asked = model(gpu="card", gpu_layers="auto", ctx=4096, parallel=30)
    assert problem(asked, gpus=(CARD,)) is None
    larger = replace(asked, ctx=8192)
    assert problem(larger, gpus=(CARD,), total=4 * GIB, free=3 * GIB).exit_code is ExitCode.REFUSED


def test_a_limit_that_holds_not_even_what_is_not_in_the_file_is_refused():
    need = needs(SMOLLM2_135M, demand_of(model(ctx=2048, parallel=3)))
    found = problem(model(ctx=2048, parallel=3, memory_bytes=64 * MIB), header=SMOLLM2_135M)
    assert (found.id, found.exit_code) == ("does-not-fit", ExitCode.REFUSED)
    assert f"needs {need.total / MIB:.0f} MiB, and its container may take 64 MiB" in found.message


def test_a_limit_that_holds_all_but_the_weights_is_advice_unless_they_are_locked():
    asked = {"ctx": 2048, "parallel": 3, "memory_bytes": 200 * MIB}
    found = problem(model(**asked), header=SMOLLM2_135M)
    assert (found.id, found.exit_code) == ("memory-tight", ExitCode.OK)
    assert "again and again" in found.message
    locked = problem(model(**asked, mlock=True), header=SMOLLM2_135M)
    assert (locked.id, locked.exit_code) == ("does-not-fit", ExitCode.REFUSED)
    assert problem(model(ctx=2048, parallel=3, memory_bytes=256 * MIB), header=SMOLLM2_135M) is None


@pytest.mark.parametrize(("total", "refused"), [(4 * GIB, True), (8 * GIB, False)])
def test_a_machine_that_cannot_be_seen_is_judged_by_what_its_engine_says(total, refused):
    file = ModelFile("/models/smol.gguf", "ok", header=QWEN25_7B)
    here = world(host=Host(), model_files={"/models/smol.gguf": file})
    here = replace(here, engine=replace(here.engine, memory_bytes=total))
    found = memory_problem(model(), Stack("nuc", Path("/s.yaml"), (model(),)), here)
    assert (found is not None and found.exit_code is ExitCode.REFUSED) == refused


def test_a_cache_type_that_the_model_cannot_have_is_refused():
    found = problem(model(kv_cache_type=KvCacheType("q9", "f16")))
    assert (found.id, found.exit_code) == ("kv-cache-type", ExitCode.REFUSED)

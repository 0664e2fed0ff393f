"""Models that fit each by itself and not beside each other."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from homellm.domain.names import LABEL_UNIT
from homellm.domain.stack import Gpu, Source, Stack
from homellm.domain.world import Host, HostGpu, ModelFile
from homellm.errors import ExitCode
from homellm.planning.memory import memory_problem
from homellm.planning.preflight import preflight
from homellm.planning.units import sort_unit
from homellm.sizing import demand_of, needs
from tests.unit.planning.build import container, model, world
from tests.unit.sizing.headers import MIB, QWEN25_7B

GIB = 1024 * MIB
NODE = {"render_node": "renderD128", "render_gid": 993, "render_mode": 0o660}
ONE = HostGpu("0000:03:00.0", "1002:73ff", "amd", "One", "amdgpu", False, memory_bytes=8 * GIB, used_bytes=0, **NODE)
TWO = HostGpu("0000:04:00.0", "1002:73ff", "amd", "Two", "amdgpu", False, memory_bytes=8 * GIB, used_bytes=0, **NODE)
ONBOARD = HostGpu("0000:00:02.0", "8086:9a49", "intel", "Iris Xe", "i915", True, **NODE)
GPUS = (
    Gpu("one", "vulkan", pci="0000:03:00.0"),
    Gpu("two", "vulkan", pci="0000:04:00.0"),
    Gpu("iris", "vulkan", pci="0000:00:02.0"),
)
TURN = ("chat", "helper")


def qwen(name, **changes):
    """Qwen 2.5 7B with slots of 8192 tokens: 448 MiB of cache each beside 4460 MiB of weights."""
    path = f"/models/{changes.pop('file', name)}.gguf"
    return model(name=name, source=Source("gguf", path, Path(path)), **({"ctx": 8192} | changes))


def judged(name, *models, total=24 * GIB, free=None, turn=TURN, containers=(), gpus=(), **keys):
    stack = Stack("nuc", Path("/s.yaml"), models, GPUS)
    files = {str(one.source.path): ModelFile(str(one.source.path), "ok", header=QWEN25_7B) for one in models}
    host = Host(readable=True, memory_bytes=total, available_bytes=free or total - GIB, gpus=gpus)
    here = world(host=host, model_files=files, gathered_for=frozenset(turn), containers=containers)
    (wanted,) = (one for one in models if one.name == name)
    return memory_problem(wanted, stack, here, **keys)


def serving(name, parallel, ctx=8192, **changes):
    args = ("--parallel", str(parallel), "--ctx-size", str(parallel * ctx))
    return container(f"nuc-{name}", labels={LABEL_UNIT: name}, args=args, **changes)


def mib(parallel, **changes):
    return round(needs(QWEN25_7B, demand_of(qwen("x", parallel=parallel, **changes))).total / MIB)


@pytest.mark.parametrize("name", TURN)
def test_two_that_fit_alone_and_not_together_are_refused_with_what_each_takes(name):
    found = judged(name, qwen("chat", parallel=30), qwen("helper", parallel=20))
    other = {"chat": "helper", "helper": "chat"}[name]
    slots = {"chat": 30, "helper": 20}
    assert (found.id, found.exit_code, found.model) == ("does-not-fit", ExitCode.REFUSED, name)
    assert f"{name} needs {mib(slots[name])} MiB of system memory and {other} {mib(slots[other])} MiB" in found.message
    assert f"together {mib(30) + mib(20)} MiB, and it has 24576 MiB" in found.message


def test_the_hint_is_what_fits_for_all_at_once_and_now():
    both = (qwen("chat", parallel=30), qwen("helper", parallel=20))
    found = judged("chat", *both)
    # 23 GiB free less 1024 MiB: 22528 less twice 4460 of weights and some 230 of buffers are 29 slots of 448 MiB
    assert found.hint == "chat and helper fit together with parallel: 14 for chat and helper."
    fewer = [replace(one, parallel=14) for one in both]
    assert all(judged(one.name, *fewer) is None for one in fewer)
    one_more = [replace(one, parallel=15) for one in both]
    assert judged("chat", *one_more).exit_code is ExitCode.OK


def test_too_big_alone_is_told_with_what_fits_beside_the_other():
    found = judged("chat", qwen("chat", parallel=256), qwen("helper", parallel=256))
    assert "together" not in found.message
    assert found.hint == "chat and helper fit together with parallel: 14 for chat and helper."


def test_where_fewer_slots_do_not_help_a_shorter_context_may():
    found = judged("chat", qwen("chat", ctx=32768), qwen("helper", ctx=32768, parallel=2), total=13 * GIB)
    assert found.hint.startswith("chat and helper fit together with ctx: ")


def test_where_nothing_helps_one_has_to_go():
    found = judged("chat", qwen("chat"), qwen("helper"), total=8 * GIB)
    assert found.exit_code is ExitCode.REFUSED
    assert found.hint.startswith("Leave one of them out")


def test_one_whose_turn_it_is_not_counts_only_while_it_runs_and_as_it_runs():
    both = (qwen("chat", parallel=30), qwen("helper", parallel=20))
    assert judged("chat", *both, turn=("chat",)) is None
    assert judged("chat", *both, turn=("chat",), containers=(serving("helper", 20, status="exited"),)) is None
    assert judged("chat", *both, turn=("chat",), containers=(serving("helper", 2),)) is None
    found = judged("chat", *both, turn=("chat",), containers=(serving("helper", 20),))
    # 23 GiB free less 1024 MiB, as the other one has its memory already: 4460 + 224 of buffers and 14 × 448 by then
    assert found.hint == "chat and helper fit together with parallel: 14 for chat."


def test_what_runs_as_declared_already_is_left_alone():
    both = (qwen("chat", parallel=30), qwen("helper", parallel=20))
    assert judged("chat", *both, containers=(serving("chat", 30),), kept=True) is None
    stack, unit = Stack("nuc", Path("/s"), both), sort_unit("nuc-chat", "chat", ())
    here = world(
        host=Host(readable=True, online_cpus=(0,), memory_bytes=24 * GIB),
        model_files={
            f"/models/{name}.gguf": ModelFile(f"/models/{name}.gguf", "ok", header=QWEN25_7B) for name in TURN
        },
        gathered_for=frozenset(TURN),
    )
    assert [one.id for one in preflight(both[0], stack, unit, here)] == ["does-not-fit"]
    assert preflight(both[0], stack, unit, here, kept=True) == ()
    assert preflight(both[0], stack, unit, here, fit=False) == ()


def test_what_a_container_that_is_replaced_holds_is_free_for_its_successor():
    # Of 24 GiB, 9 are free while the old one holds 28 slots, 12.5 GiB of cache that its successor may have.
    wanted = (qwen("chat", parallel=29), qwen("helper", file="other"))
    old = serving("chat", 28)
    assert judged("chat", wanted[0], free=9 * GIB, turn=("chat",)).id == "fits-alone"
    assert judged("chat", wanted[0], free=9 * GIB, turn=("chat",), containers=(old,)) is None


def test_what_fits_together_only_when_others_let_go_is_advice():
    found = judged("chat", qwen("chat", parallel=10), qwen("helper", parallel=10), free=16 * GIB)
    assert (found.id, found.exit_code) == ("fits-alone", ExitCode.OK)
    assert "and it has free 16384 MiB, of which 1024 MiB stay free" in found.message


def test_models_that_sleep_may_make_room_for_each_other():
    found = judged("chat", qwen("chat", parallel=30), qwen("helper", parallel=20, sleep_idle_s=60))
    assert found.exit_code is ExitCode.OK


def test_weights_that_both_map_from_one_file_are_there_once_unless_they_are_locked():
    both = (qwen("chat", parallel=20, file="one"), qwen("helper", parallel=20, file="one"))
    total = mib(20) * 2 - 4000  # the second copy of the 4460 MiB is what is too much
    assert judged("chat", *both, total=total * MIB).exit_code is ExitCode.OK
    assert judged("chat", *both, total=(total + 2048) * MIB, free=(total + 1024) * MIB) is None
    locked = [replace(one, mlock=True) for one in both]
    assert judged("chat", *locked, total=total * MIB).exit_code is ExitCode.REFUSED
    copied = [replace(one, extra_args=("--no-mmap",)) for one in both]
    assert judged("chat", *copied, total=total * MIB).exit_code is ExitCode.REFUSED


def test_two_cards_are_not_summed_and_one_card_is():
    on_cards = (
        qwen("chat", gpu="one", gpu_layers="all", parallel=6),
        qwen("helper", gpu="two", gpu_layers="all", parallel=6),
    )
    assert judged("chat", *on_cards, gpus=(ONE, TWO)) is None
    shared = (on_cards[0], replace(on_cards[1], gpu="one"))
    found = judged("chat", *shared, gpus=(ONE, TWO))
    assert (found.id, found.exit_code) == ("does-not-fit", ExitCode.REFUSED)
    assert "AMD One (0000:03:00.0)" in found.message


def test_a_server_that_places_its_layers_itself_goes_to_the_cpu_with_what_does_not_fit():
    on_card = {"gpu": "one", "parallel": 6}
    both = (qwen("chat", gpu_layers="all", **on_card), qwen("helper", gpu_layers="auto", **on_card))
    assert judged("helper", *both, gpus=(ONE,), total=64 * GIB) is None
    asked = replace(both[1], gpu_layers="all")
    assert judged("helper", both[0], asked, gpus=(ONE,), total=64 * GIB).exit_code is ExitCode.REFUSED


def test_an_integrated_gpu_is_counted_once_in_the_memory_of_the_machine():
    both = (qwen("chat", gpu="iris", gpu_layers="all", parallel=20), qwen("helper", parallel=20))
    found = judged("chat", *both, gpus=(ONBOARD,))
    assert found.exit_code is ExitCode.REFUSED
    # 30 MiB more than on the CPU: buffers that the host has beside a GPU
    assert "chat needs 13618 MiB of system memory and helper 13588 MiB: together 27206 MiB" in found.message
    assert judged("chat", *both, gpus=(ONBOARD,), total=32 * GIB) is None


def test_one_that_has_little_there_is_not_to_blame_for_what_fills_it():
    three = (
        qwen("card", gpu="one", gpu_layers="all", parallel=3),
        qwen("chat", parallel=30),
        qwen("helper", parallel=20),
    )
    turn = ("card", *TURN)
    assert judged("card", *three, gpus=(ONE,), turn=turn) is None
    assert judged("chat", *three, gpus=(ONE,), turn=turn).exit_code is ExitCode.REFUSED

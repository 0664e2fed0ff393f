"""What a rotated log and the record of the same run tell together: a real log, cut where rotation may cut."""

from __future__ import annotations

from dataclasses import replace

import pytest

from homellm.domain.evidence import LogSummary
from homellm.domain.stack import KvCacheType, Model, Source
from homellm.domain.world import HostGpu
from homellm.health.checks import judge_all
from homellm.health.merge import merge, reaches_back

from . import logs
from .test_checks import CONTAINER, PROPS, SEEN

WHOLE = logs.data("v11669-lavapipe").decode()
GPU = HostGpu(pci="0000:00:02.0", id="8086:9a49", vendor="intel", name="Iris Xe Graphics", render_node="renderD128")
MODEL = Model(
    name="smol",
    source=Source("gguf", "/m/smol.gguf", None),
    image="i",
    gpu="iris",
    gpu_layers="all",
    flash_attention="auto",
    kv_cache_type=KvCacheType("f16", "f16"),
    batch=2048,
)


def after(marker: str, *, without: str = "nothing") -> LogSummary:
    """The log from the first line on that has this text, as after a rotation there."""
    lines = WHOLE.splitlines(keepends=True)
    first = next(number for number, line in enumerate(lines) if marker in line)
    return logs.read("".join(line for line in lines[first:] if without not in line))


def verdicts(log: LogSummary, recorded: frozenset[str] = frozenset()):
    evidence = replace(
        SEEN,
        container=CONTAINER,
        props=replace(PROPS, total_slots=1),
        gpu=GPU,
        log=log,
        log_from_start=reaches_back(log),
        recorded=recorded,
    )
    return {verdict.id: verdict for verdict in judge_all(MODEL, evidence)}


def test_a_whole_log_leads_and_the_record_is_not_asked():
    log = logs.read(WHOLE)
    assert merge(log, replace(log, device="cpu", slots=7)) == (log, frozenset())


@pytest.mark.parametrize("cut", ["Vulkan0 model buffer size", "llama_kv_cache: size", "n_slots", "all slots are idle"])
def test_wherever_rotation_cuts_the_record_gives_the_rest(cut):
    whole = logs.read(WHOLE)
    log, recorded = merge(after(cut), whole)
    assert log == whole
    assert {"model_path", "weights_mib"} <= recorded
    assert merge(LogSummary(), whole)[0] == whole


def test_a_buffer_that_is_left_is_no_proof_of_the_cpu():
    """The GPU's buffer is lost and the CPU's is left: unknown, never `cpu`."""
    cut = after("CPU_Mapped model buffer size", without="Vulkan0 model")
    assert cut.device == "cpu"
    found = verdicts(cut)
    assert {found[check].verdict for check in ("device", "offload", "memory")} == {"unknown"}


def test_the_source_is_the_record_for_what_the_log_has_lost_alone():
    whole = logs.read(WHOLE)
    found = verdicts(*merge(after("initializing, n_slots"), whole))
    assert {
        found[check].source for check in ("device", "offload", "flash-attention", "kv-cache", "batch", "memory")
    } == {"record"}
    assert {found[check].source for check in ("slots", "ctx")} == {"/props"}
    here = verdicts(whole)
    assert {here[check].source for check in ("device", "kv-cache", "batch")} == {"log"}
    assert {check: v.verdict for check, v in found.items()} == {check: v.verdict for check, v in here.items()}


def test_problems_of_both_once_each():
    early, late = logs.read(logs.data("b11669-preserve")), LogSummary(model_path="/m/smol.gguf")
    log, recorded = merge(late, early)
    assert "reasoning-preserve-off" in {problem.id for problem in log.problems}
    assert "problem:reasoning-preserve-off" in recorded
    again, _ = merge(early, early)
    assert len(again.problems) == len(early.problems)


def test_what_grows_is_never_less_than_what_was_seen():
    log, _ = merge(
        LogSummary(model_path="/m", slots_used=1), LogSummary(model_path="/m", slots_used=3, cache_reused=True)
    )
    assert (log.slots_used, log.cache_reused) == (3, True)

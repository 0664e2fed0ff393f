"""All checks together: their order, what a missing witness means, and the state that they make."""

from __future__ import annotations

from dataclasses import replace

from homellm.domain.evidence import Evidence
from homellm.domain.stack import KvCacheType
from homellm.domain.verdicts import State, judge
from homellm.health.checks import judge_all

from .cases import CONTAINER, IRIS, MIB, MODEL, PATH, PROPS, SEEN, checks


def test_gates_stand_first_and_what_is_not_declared_has_no_row() -> None:
    bare, seen = replace(MODEL, port=None), replace(SEEN, container=replace(CONTAINER, ports=()))
    assert list(checks(bare, seen)) == ["ready", "slots", "ctx", "api", "restarts", "memory"]
    assert [v.id for v in checks(bare, seen).values() if v.gate] == ["ready", "slots", "ctx", "api"]


def test_everything_declared_has_its_row_in_the_order_of_the_table() -> None:
    model = replace(
        MODEL,
        gpu="iris",
        gpu_layers="all",
        mlock=True,
        cpuset="0-3",
        port=18080,
        networks=("web",),
        cache_reuse=256,
        reasoning_preserve=True,
        jinja=True,
        flash_attention="on",
        kv_cache_type=KvCacheType("f16", "f16"),
        batch=2048,
        memory_bytes=4096 * MIB,
    )
    assert " ".join(checks(model, replace(SEEN, gpu=IRIS))) == (
        "ready slots ctx device api mlock cpus port exposure networks restarts offload cache-reuse reasoning template "
        "flash-attention kv-cache batch groups limits memory"
    )


def test_without_any_witness_nothing_passes() -> None:
    model = replace(MODEL, gpu="iris", mlock=True, cpuset="0-3", port=1, cache_reuse=1, flash_attention="on", batch=1)
    verdicts = judge_all(model, Evidence(gpu=IRIS, weights_bytes=1))
    assert {verdict.verdict for verdict in verdicts} == {"unknown"}
    assert judge(verdicts) is State.FAILED


def test_failed_advice_degrades_and_a_failed_gate_fails() -> None:
    assert judge(judge_all(MODEL, SEEN, expected_path=PATH)) is State.VERIFIED
    restarted = replace(SEEN, container=replace(CONTAINER, restart_count=3))
    assert judge(judge_all(MODEL, restarted, expected_path=PATH)) is State.DEGRADED
    one_slot = replace(SEEN, props=replace(PROPS, total_slots=1))
    assert judge(judge_all(MODEL, one_slot, expected_path=PATH)) is State.FAILED

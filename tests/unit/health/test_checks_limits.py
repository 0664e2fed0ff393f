"""Limits and the restart policy: as declared, and none that nobody declared."""

from __future__ import annotations

from dataclasses import replace

import pytest

from homellm.domain.stack import OllamaServer
from homellm.health.checks import judge_all, judge_inspected
from homellm.health.checks.ollama import of_server
from tests.unit.health.cases import CONTAINER, MODEL, SEEN, check, checks

GIB = 1024**3


def on(model=MODEL, **container):
    return checks(model, replace(SEEN, container=replace(CONTAINER, **container)))


@pytest.mark.parametrize(
    ("container", "asked", "observed"),
    [
        ({"memory_bytes": GIB}, "memory none", "memory 1.0 GiB"),
        ({"cpuset": "0,1"}, "cpuset none", "cpuset 0-1"),
        ({"cpu_shares": 512}, "cpu_shares none", "cpu_shares 512"),
        ({"cpus": 1.5}, "cpus none", "cpus 1.5"),
        ({"memory_bytes": GIB, "cpuset": "0"}, "memory none, cpuset none", "memory 1.0 GiB, cpuset 0"),
    ],
)
def test_a_limit_that_nobody_declared_was_put_on_by_somebody(container, asked, observed) -> None:
    verdict = on(**container)["limits"]
    assert (verdict.verdict, verdict.gate, verdict.asked) == ("fail", False, None)
    assert (verdict.asked_text, verdict.text) == (asked, observed)
    assert "docker update" in verdict.hint
    assert "--force-recreate" in verdict.hint


def test_beside_a_declared_one_it_is_told_too() -> None:
    verdict = on(replace(MODEL, memory_bytes=GIB), memory_bytes=GIB, cpus=2.0)["limits"]
    assert (verdict.verdict, verdict.observed) == ("fail", f"memory {GIB}, cpus 2.0")
    assert (verdict.asked_text, verdict.text) == ("memory 1.0 GiB, cpus none", "memory 1.0 GiB, cpus 2.0")


def test_as_declared() -> None:
    assert "limits" not in on()
    assert "limits" not in on(shm_size_bytes=64 << 20)  # the engine's own
    assert "limits" not in on(replace(MODEL, cpuset="0-3"), cpuset="3,0-2")
    assert on(replace(MODEL, memory_bytes=GIB), memory_bytes=GIB)["limits"].verdict == "pass"


def test_a_declared_cpuset_that_was_changed_or_dropped() -> None:
    changed = on(replace(MODEL, cpuset="0-3"), cpuset="0")["limits"]
    assert (changed.verdict, changed.asked, changed.observed) == ("fail", "0-3", "0")
    assert "docker update" in changed.hint
    dropped = on(replace(MODEL, cpuset="0-3"))["limits"]
    assert (dropped.verdict, dropped.text) == ("fail", "cpuset none")
    assert "docker info" in dropped.hint


def test_the_restart_policy_is_told_where_it_is_another_one() -> None:
    def settled(model=MODEL, **container):
        seen = replace(SEEN, container=replace(CONTAINER, **container))
        return {verdict.id: verdict for verdict in judge_all(model, seen, settled=True)}

    assert "restart-policy" not in settled()
    verdict = settled(restart_policy="no")["restart-policy"]
    assert (verdict.verdict, verdict.asked, verdict.observed) == ("fail", "unless-stopped", "no")
    assert "homellm up sets it" in verdict.hint
    other = settled(replace(MODEL, restart="on-failure"), restart_policy="on-failure:3")
    assert other["restart-policy"].verdict == "fail"


def test_a_swap_sets_it_last() -> None:
    assert "restart-policy" not in on(restart_policy="no")


def test_what_inspect_alone_tells_are_those_that_fail() -> None:
    model = replace(MODEL, memory_bytes=GIB)
    assert judge_inspected(model, replace(CONTAINER, memory_bytes=GIB)) == ()
    found = judge_inspected(model, replace(CONTAINER, memory_bytes=2 * GIB, restart_policy="always"))
    assert [verdict.id for verdict in found] == ["restart-policy", "limits"]


def test_a_model_on_ollama_has_the_limits_of_its_server() -> None:
    own = replace(MODEL, memory_bytes=GIB, cpuset="0", shm_size_bytes=1, restart="no")
    server = OllamaServer("main", memory_bytes=2 * GIB, cpuset="1", restart="always")
    held = of_server(own, server)
    assert (held.memory_bytes, held.cpuset, held.shm_size_bytes, held.restart) == (2 * GIB, "1", None, "always")


def test_without_a_container_what_is_declared_is_not_known() -> None:
    unseen = replace(SEEN, container=None)
    assert "limits" not in checks(MODEL, unseen)
    assert check("limits", replace(MODEL, memory_bytes=GIB), unseen).verdict == "unknown"

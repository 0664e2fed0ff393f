"""Locked weights, limits in force, and where the weights went."""

from __future__ import annotations

from dataclasses import replace

import pytest

from homellm.domain.evidence import LogSummary, MemoryRow
from homellm.domain.verdicts import Verdict

from . import logs
from .cases import CONTAINER, MIB, MODEL, PROCESS, SEEN, check, says


class TestMlock:
    MODEL = replace(MODEL, mlock=True)

    def mlock(self, locked: int, log: LogSummary | None = None, **more: object) -> Verdict:
        process = replace(PROCESS, locked_bytes=locked)
        return check("mlock", self.MODEL, replace(SEEN, process=process, log=log or LogSummary(), **more))  # type: ignore[arg-type]

    def test_all_of_the_weights(self) -> None:
        verdict = self.mlock(96_576_768)
        assert (verdict.verdict, verdict.source, verdict.gate) == ("pass", "process 4711", True)
        assert verdict.text == "92.1 MiB of 92.1 MiB locked"

    def test_95_percent_is_enough_and_less_is_failed_advice(self) -> None:
        assert self.mlock(round(96_576_768 * 0.951)).verdict == "pass"
        verdict = self.mlock(round(96_576_768 * 0.949))
        assert (verdict.verdict, verdict.gate) == ("fail", False)

    def test_a_repacked_buffer_stays_unlocked(self) -> None:
        """b10434 with the capability: 29 MiB locked, 95 MiB of weights in the AMX buffer were not."""
        verdict = self.mlock(29 * MIB, LogSummary(weights_mib={"AMX": 95.34, "CPU": 28.82}))
        assert (verdict.verdict, verdict.gate, verdict.text) == ("fail", False, "29.0 MiB of 124.2 MiB locked")

    def test_nothing_locked_fails_the_gate(self) -> None:
        verdict = self.mlock(0)
        assert (verdict.verdict, verdict.gate) == ("fail", True)
        assert "IPC_LOCK" in verdict.hint

    def test_the_warning_fails_the_gate_also_where_a_part_is_locked(self) -> None:
        verdict = self.mlock(20 * MIB, says("mlock-failed"))
        assert (verdict.verdict, verdict.gate) == ("fail", True)

    def test_without_the_process_only_the_warning_tells(self) -> None:
        seen = replace(SEEN, process=None)
        assert check("mlock", self.MODEL, seen).verdict == "unknown"
        assert check("mlock", self.MODEL, replace(seen, log=says("mlock-failed"))).verdict == "fail"

    def test_what_lies_on_a_gpu_need_not_be_locked(self) -> None:
        log = logs.read(logs.data("v11669-lavapipe"))  # 28.69 MiB in CPU_Mapped, 92.10 on Vulkan0
        verdict = check(
            "mlock",
            replace(self.MODEL, gpu="iris"),
            replace(SEEN, process=replace(PROCESS, locked_bytes=29 * MIB), log=log),
        )
        assert verdict.verdict == "pass"

    def test_with_a_gpu_and_a_lost_log_nobody_knows_how_much_there_is_to_lock(self) -> None:
        seen = replace(SEEN, process=replace(PROCESS, locked_bytes=29 * MIB))
        assert check("mlock", replace(self.MODEL, gpu="iris"), seen).verdict == "unknown"


class TestMemory:
    def test_limits_in_force(self) -> None:
        model = replace(MODEL, memory_bytes=300 * MIB)
        in_force = replace(SEEN, container=replace(CONTAINER, memory_bytes=300 * MIB))
        assert (check("limits", model, in_force).asked, check("limits", model, in_force).verdict) == (300 * MIB, "pass")
        assert (check("limits", model).observed, check("limits", model).verdict) == (0, "fail")

    def test_several_limits_are_told_by_name(self) -> None:
        model = replace(MODEL, memory_bytes=300 * MIB, cpu_shares=2048)
        seen = replace(SEEN, container=replace(CONTAINER, memory_bytes=300 * MIB, cpu_shares=0))
        verdict = check("limits", model, seen)
        assert (verdict.verdict, verdict.observed) == ("fail", f"memory {300 * MIB}, cpu_shares 0")
        assert (verdict.asked_text, verdict.text) == (
            "memory 300.0 MiB, cpu_shares 2048",
            "memory 300.0 MiB, cpu_shares none",
        )

    def test_limits_that_docker_update_changed_are_not_the_kernels_fault(self) -> None:
        model = replace(MODEL, memory_bytes=300 * MIB, cpu_shares=2048)
        container = replace(CONTAINER, memory_bytes=200 * MIB, cpu_shares=2048)
        changed = check("limits", model, replace(SEEN, container=container))
        assert changed.hint.startswith("Somebody changed the limits after the start (docker update).")
        assert "homellm up --force-recreate" in changed.hint
        dropped = check("limits", model, replace(SEEN, container=replace(container, memory_bytes=0)))
        assert "kernel lacks" in dropped.hint
        assert "homellm up --force-recreate" in dropped.hint

    def test_all_weights_are_in_buffers(self) -> None:
        seen = replace(SEEN, log=logs.read(logs.data("v11669-lavapipe")))
        verdict = check("memory", evidence=seen)
        assert (verdict.verdict, verdict.gate) == ("pass", False)
        assert verdict.text == "28.7 MiB in CPU_Mapped, 92.1 MiB in Vulkan0"
        half = replace(SEEN, log=LogSummary(weights_mib={"CPU": 40.0}))
        assert check("memory", evidence=half).verdict == "fail"
        assert check("memory").verdict == "unknown"

    def test_of_a_log_that_docker_does_not_keep_nobody_promises_lines(self) -> None:
        untold = check("memory", evidence=SEEN)
        assert "first lines are lost" in untold.hint
        unkept = check("memory", evidence=replace(SEEN, container=replace(CONTAINER, log_driver="none")))
        assert (untold.verdict, unkept.verdict) == ("unknown", "unknown")
        assert unkept.hint == (
            "Only the server's log tells it, and Docker keeps none of this container (log driver none). Set "
            "log: {driver: local} and run homellm up, then it is seen."
        )

    def test_what_it_took_is_held_against_the_reckoning(self) -> None:
        """The table of v11669-a-lv4: the host took 243 MiB, weights 92, context 135, compute 16."""
        seen = replace(SEEN, log=logs.read(logs.data("v11669-a-lv4")), reckoned_bytes=round(244.3 * MIB))
        verdict = check("memory", evidence=seen)
        assert (verdict.verdict, verdict.observed, verdict.text) == (
            "pass",
            243 * MIB,
            "243.0 MiB, 1% less than reckoned",
        )
        off = check("memory", evidence=replace(seen, reckoned_bytes=200 * MIB))
        assert (off.verdict, off.gate) == ("fail", False)
        assert "report" in off.hint

    @pytest.mark.parametrize(
        ("reckoned_mib", "taken_mib", "verdict"),
        [
            (9.2, 8, "pass"),  # a tiny LFM2 on the CPU: 13 % less, of which the table's cut to whole MiB is up to one
            (12, 8, "pass"),
            (12.01, 8, "fail"),
            (4, 8, "pass"),
            (3.99, 8, "fail"),
            # From 40 MiB on a tenth is more.
            (100, 110, "pass"),
            (100, 111, "fail"),
            (100, 90, "pass"),
            (100, 89, "fail"),
        ],
    )
    def test_a_few_mib_are_no_difference_and_then_a_tenth_is(self, reckoned_mib, taken_mib, verdict) -> None:
        table = LogSummary(memory=(MemoryRow("Host", None, None, taken_mib, 0, 0, 0, None),))
        seen = replace(SEEN, log=table, reckoned_bytes=round(reckoned_mib * MIB))
        assert check("memory", evidence=seen).verdict == verdict

"""The declared GPU: by its address, by its name, and never by `Vulkan0`."""

from __future__ import annotations

from dataclasses import replace

import pytest

from homellm.domain.evidence import LogSummary
from homellm.domain.verdicts import Verdict
from homellm.domain.world import HostGpu

from . import logs
from .cases import IRIS, MIB, MODEL, PROCESS, SEEN, check

RTX = replace(IRIS, vendor="nvidia", name="NVIDIA GeForce RTX 3070")
APU = replace(IRIS, vendor="amd", name="Radeon Vega Series / Radeon Vega Mobile Series", integrated=True)
NAVI = replace(IRIS, vendor="amd", name="Radeon RX 7900 XT/7900 XTX/7900 GRE/7900M", integrated=False)
UHD = replace(IRIS, name="UHD Graphics 770", integrated=True)
ARC = replace(IRIS, name="Arc A770", integrated=False)


class TestDevice:
    ON_IRIS = LogSummary(device="Vulkan0 Intel(R) Iris(R) Xe Graphics (TGL GT2)", device_pci="0000:00:02.0")
    MODEL = replace(MODEL, gpu="iris")

    def device(self, log: LogSummary, gpu: HostGpu | None = IRIS) -> Verdict:
        return check("device", self.MODEL, replace(SEEN, log=log, gpu=gpu))

    def test_the_declared_gpu_by_its_address(self) -> None:
        verdict = self.device(self.ON_IRIS)
        assert (verdict.asked, verdict.verdict, verdict.source, verdict.gate) == ("iris", "pass", "log", True)
        assert verdict.observed == "Vulkan0 Intel(R) Iris(R) Xe Graphics (TGL GT2)"

    def test_another_address_fails_whatever_its_name(self) -> None:
        assert self.device(replace(self.ON_IRIS, device_pci="0000:03:00.0")).verdict == "fail"

    def test_an_address_with_a_longer_domain_is_the_same(self) -> None:
        assert self.device(replace(self.ON_IRIS, device_pci="00000000:00:02.0")).verdict == "pass"

    @pytest.mark.parametrize(
        ("gpu", "device", "verdict"),
        [
            (IRIS, "Vulkan0 Intel(R) Iris(R) Xe Graphics (TGL GT2)", "pass"),
            (replace(IRIS, name=""), "Vulkan0 Intel(R) Iris(R) Xe Graphics (TGL GT2)", "pass"),
            (IRIS, "Vulkan0 NVIDIA GeForce RTX 3070", "fail"),
            (replace(IRIS, vendor="nvidia", name="NVIDIA GeForce RTX 3070"), "CUDA0 NVIDIA GeForce RTX 3070", "pass"),
            (RTX, "CUDA0 NVIDIA GeForce RTX 4090", "fail"),
            (RTX, "Vulkan0 NVIDIA GeForce RTX 3070 Laptop GPU", "pass"),
            (replace(RTX, name="GeForce RTX 3070 Mobile / Max-Q"), "CUDA0 NVIDIA GeForce RTX 3070 Laptop GPU", "pass"),
            (replace(IRIS, vendor="amd", name="Radeon 680M"), "Vulkan0 AMD Radeon 680M (RADV REMBRANDT)", "pass"),
            (APU, "Vulkan0 AMD Radeon Graphics (RADV RENOIR)", "pass"),
            (APU, "Vulkan0 AMD Radeon RX 7900 XTX (RADV NAVI31)", "fail"),
            (replace(APU, name="Radeon 680M"), "Vulkan0 AMD Radeon 660M (RADV REMBRANDT)", "pass"),
            (NAVI, "Vulkan0 AMD Radeon RX 7900 XTX (RADV NAVI31)", "pass"),
            (NAVI, "Vulkan0 AMD Radeon Graphics (RADV RAPHAEL_MENDOCINO)", "unknown"),
            (replace(NAVI, name="Navi 31"), "Vulkan0 AMD Radeon RX 7900 XTX (RADV NAVI31)", "pass"),
            (NAVI, "Vulkan0 AMD Radeon RX 6600 (RADV NAVI23)", "fail"),
            (UHD, "Vulkan0 Intel(R) UHD Graphics 770 (RPL-S)", "pass"),
            (UHD, "Vulkan0 Intel(R) Graphics (RPL-S)", "pass"),
            (UHD, "Vulkan0 Intel(R) Arc(tm) A770 Graphics (DG2)", "fail"),
            (ARC, "Vulkan0 Intel(R) Arc(tm) A770 Graphics (DG2)", "pass"),
            (ARC, "Vulkan0 Intel(R) UHD Graphics 770 (RPL-S)", "fail"),
            (replace(UHD, integrated=None), "Vulkan0 Intel(R) Arc(tm) A770 Graphics (DG2)", "unknown"),
            (IRIS, "Vulkan0", "unknown"),
            (None, "Vulkan0 Intel(R) Iris(R) Xe Graphics", "unknown"),
        ],
    )
    def test_without_an_address_names_are_compared_and_never_vulkan0(
        self, gpu: HostGpu | None, device: str, verdict: str
    ) -> None:
        assert self.device(LogSummary(device=device), gpu).verdict == verdict

    def test_llvmpipe_fails_although_all_layers_are_on_it(self) -> None:
        verdict = self.device(logs.read(logs.data("v11669-lavapipe")))
        assert verdict.verdict == "fail"
        assert "llvmpipe" in str(verdict.observed)

    @pytest.mark.parametrize("name", ["a-noicd-lv4", "v11434-a", "v11669-a-lv4"])
    def test_the_cpu_fails_although_the_log_may_claim_31_of_31_layers(self, name: str) -> None:
        verdict = self.device(logs.read(logs.data(name)))
        assert (verdict.verdict, verdict.observed) == ("fail", "cpu")

    def test_a_gpu_that_holds_no_weights_is_not_where_the_model_lies(self) -> None:
        log = replace(self.ON_IRIS, weights_mib={"CPU_Mapped": 92.1}, layers_offloaded="0/31")
        assert self.device(log).verdict == "fail"
        unloaded = replace(self.MODEL, gpu_layers=0)
        assert check("device", unloaded, replace(SEEN, log=log, gpu=IRIS)).verdict == "pass"

    def test_a_log_that_cannot_tell_is_unknown(self) -> None:
        assert self.device(logs.read(logs.data("b11669-lavapipe-lv3"))).verdict == "unknown"
        claims = "load_backend: loaded Vulkan backend from x\nload_tensors: offloaded 31/31 layers to GPU\n"
        assert self.device(logs.read(claims)).verdict == "unknown"

    def test_a_log_that_lost_its_beginning_still_says_that_no_gpu_was_found(self) -> None:
        log = LogSummary(device="cpu", weights_mib={"CPU_Mapped": 92.1})
        lost = replace(SEEN, log=log, log_from_start=False, gpu=IRIS)
        assert check("device", self.MODEL, lost).verdict == "unknown"
        assert check("device", self.MODEL, replace(lost, log=replace(log, found_no_gpu=True))).verdict == "fail"

    def test_a_server_that_found_no_gpu_fails(self) -> None:
        assert self.device(logs.read(logs.data("b11669-nodevice"))).verdict == "fail"


class TestMemoryOfGpus:
    """What fdinfo of the process tells, where the log does not."""

    MODEL = replace(MODEL, gpu="iris")

    def device(self, *held: tuple[str, int], device: str | None = None, gpu: HostGpu = IRIS) -> Verdict:
        process = replace(PROCESS, gpu_bytes=held)
        return check("device", self.MODEL, replace(SEEN, log=LogSummary(device=device), gpu=gpu, process=process))

    def test_on_the_declared_gpu(self) -> None:
        verdict = self.device(("0000:00:02.0", 140 * MIB))
        assert (verdict.verdict, verdict.observed, verdict.source) == ("pass", "0000:00:02.0", "process 4711")
        assert verdict.text == "140.0 MiB on 0000:00:02.0"

    def test_on_another_one(self) -> None:
        verdict = self.device(("0000:00:02.0", 4096), ("0000:03:00.0", 140 * MIB))
        assert (verdict.verdict, verdict.observed) == ("fail", "0000:03:00.0")

    def test_two_equal_cards_whose_names_are_one(self) -> None:
        name = "Vulkan0 AMD Radeon RX 7900 XTX (RADV NAVI31)"
        assert self.device(("0000:06:00.0", 140 * MIB), device=name, gpu=NAVI).verdict == "fail"
        assert self.device(("0000:00:02.0", 140 * MIB), device=name, gpu=NAVI).source == "log"

    def test_a_name_that_cannot_be_compared(self) -> None:
        assert self.device(("0000:00:02.0", 140 * MIB), device="Vulkan0").verdict == "pass"

    def test_a_process_that_only_looks_holds_too_little(self) -> None:
        assert self.device(("0000:00:02.0", 8 * MIB)).verdict == "unknown"
        assert self.device().verdict == "unknown"

    def test_the_cpu_stays_the_cpu(self) -> None:
        assert self.device(("0000:00:02.0", 140 * MIB), device="cpu").verdict == "fail"

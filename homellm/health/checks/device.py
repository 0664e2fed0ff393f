"""The GPU: that it is the declared one, and how much of the model is on it."""

from __future__ import annotations

import re

from homellm.domain.verdicts import Verdict
from homellm.domain.world import HostGpu
from homellm.health.checks.case import EVIDENCE_LEVEL, Case, judged
from homellm.health.devices import CPU, is_software, on_host

_VENDOR_WORDS = {
    "intel": frozenset(("intel", "iris", "arc", "uhd")),
    "amd": frozenset(("amd", "radeon", "radv", "ati")),
    "nvidia": frozenset(("nvidia", "geforce", "quadro", "tesla", "rtx", "gtx")),
}
#: Words of device names that tell no two devices of a maker apart.
_COMMON = frozenset(
    (
        "intel",
        "amd",
        "ati",
        "nvidia",
        "corporation",
        "graphics",
        "radeon",
        "geforce",
        "gpu",
        "series",
        "the",
        "controller",
        "rtx",
        "gtx",
    )
)
_MODEL_DIGITS = 3
_NONE = "no GPU found"
_WORD = re.compile(r"[a-z]+|\d+[a-z]*")


def device(case: Case) -> Verdict | None:
    """The model lies on the declared GPU, by its PCI address, else by name; never by `Vulkan0` alone.

    A driver on the CPU is not a GPU, and `offloaded 31/31` or a loaded backend are no proof.
    """
    asked = case.model.gpu
    if asked is None:
        return None
    observed, where = case.log.device, case.where("device")
    if observed is None or (observed == CPU and _may_hide_a_gpu(case)):
        return _unseen(case, asked)
    if observed == CPU:
        hint = (
            "Everything runs on the CPU. Has the image a backend for this GPU? homellm explain tells more from its log."
        )
        return judged("device", asked, CPU, False, where, hint=hint, gate=True)
    if is_software(observed):
        hint = "This is a Vulkan driver on the CPU. Its node or group is missing, or GGML_VK_VISIBLE_DEVICES is set."
        return judged("device", asked, observed, False, where, hint=hint, gate=True)
    if _nothing_on_it(case):
        text = f"{observed}, with no layer of the model on it"
        hint = (
            "The GPU is there and the model is not on it: too little of its memory is free, or gpu_layers forbids it."
        )
        return judged("device", asked, observed, False, where, hint=hint, gate=True, text=text)
    passed = _is_declared(case.evidence.gpu, observed, case.log.device_pci)
    hint = "It runs on another GPU than the declared one; check `pci` of the GPU in the stack file."
    if passed is None:
        hint = "The log names a device that cannot be compared with the declared one."
    return judged("device", asked, observed, passed, where, hint=hint, gate=True)


def _nothing_on_it(case: Case) -> bool:
    """Whether the server computes with a GPU that holds no weights, and nobody asked for that."""
    buffers = case.log.weights_mib
    return bool(buffers) and all(map(on_host, buffers)) and case.model.gpu_layers != 0


def _unseen(case: Case, asked: str) -> Verdict:
    if case.log_says("no-gpu"):
        hint = "The server found no GPU. See homellm explain on its log."
        return judged("device", asked, None, False, case.where("problem:no-gpu"), hint=hint, gate=True, text=_NONE)
    return judged("device", asked, None, None, case.where("device"), hint=EVIDENCE_LEVEL, gate=True)


def _may_hide_a_gpu(case: Case) -> bool:
    """Whether only buffers of the CPU are left of a log that has lost its beginning, and with it perhaps the GPU's."""
    return not case.whole_load and bool(case.log.weights_mib) and not case.log_says("no-gpu")


def _is_declared(gpu: HostGpu | None, observed: str, pci: str | None) -> bool | None:
    """Whether the device that the log names is that GPU; None when neither address nor name can tell."""
    if gpu is None:
        return None
    if pci and gpu.pci:
        return _address(pci) == _address(gpu.pci)
    seen = set(_WORD.findall(observed.lower()))
    vendors = [vendor for vendor, words in _VENDOR_WORDS.items() if words & seen]
    if vendors and gpu.vendor not in vendors:
        return False
    known, told = set(_WORD.findall(gpu.name.lower())) - _COMMON, seen - _COMMON
    if not known:
        return True if vendors else None  # no table of names on this host: the maker is right
    numbers = _model_numbers(known), _model_numbers(told)
    same = numbers[0] & numbers[1] if all(numbers) else known & told
    return True if same else None


def _model_numbers(words: set[str]) -> set[str]:
    """`3070`, `680m`: what tells two cards of one series apart."""
    return {word for word in words if sum(map(str.isdigit, word)) >= _MODEL_DIGITS}


def _address(pci: str) -> tuple[str, ...]:
    """A PCI address without the zeros that some write before its domain."""
    return tuple(part.lstrip("0") for part in re.split(r"[:.]", pci.lower()))


def offload(case: Case) -> Verdict | None:
    """As many layers on the GPU as declared."""
    asked = case.model.gpu_layers
    if asked is None:
        return None
    observed, where = case.log.layers_offloaded, case.where("layers_offloaded", "device")
    on_cpu = case.log.device == CPU
    if on_cpu and _may_hide_a_gpu(case):
        return judged("offload", asked, None, None, where, hint=EVIDENCE_LEVEL)
    if observed is None and on_cpu:
        return judged(
            "offload", asked, 0, asked == 0, where, hint="No GPU is used at all; see the check of the device."
        )
    if observed is None:
        return judged("offload", asked, None, None, where, hint=EVIDENCE_LEVEL)
    offloaded, total = (int(part) for part in observed.split("/"))
    wanted = {"all": total, "auto": 1}.get(str(asked), 0) if isinstance(asked, str) else min(asked, total)
    hint = (
        f"{total - offloaded} of {total} layers are computed by the CPU. Free memory on the GPU, lower ctx or parallel,"
        " or take a smaller quantisation."
    )
    return judged("offload", asked, observed, offloaded >= wanted, where, hint=hint)

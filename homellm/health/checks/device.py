"""The GPU: that it is the declared one, and how much of the model is on it."""

from __future__ import annotations

from homellm.domain.verdicts import Verdict
from homellm.health.checks.case import Case, judged
from homellm.health.checks.memory import size
from homellm.health.devices import CPU, is_software, on_host
from homellm.health.gpu_match import is_declared, same_address

_NONE = "no GPU found"
#: A process that only looks at a GPU holds less of its memory than this, one that computes there far more.
_LEAST_BYTES = 16 * 1024**2
_LEAST_PART = 10


def device(case: Case) -> Verdict | None:
    """The model lies on the declared GPU, by its PCI address, else by name; never by `Vulkan0` alone.

    A driver on the CPU is not a GPU, and `offloaded 31/31` or a loaded backend are no proof. What the process holds of
    the memory of GPUs decides where the log does not tell, or tells no two devices apart.
    """
    asked = case.model.gpu
    if asked is None:
        return None
    observed, where = case.log.device, case.where("device")
    if observed is None or (observed == CPU and _may_hide_a_gpu(case)):
        return _by_memory(case, asked) or _unseen(case, asked)
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
    return _named(case, asked, observed)


def _named(case: Case, asked: str, observed: str) -> Verdict:
    """By what the log calls the device; by the memory that the process holds where that tells more."""
    gpu = case.evidence.gpu
    passed = is_declared(gpu, observed, case.log.device_pci) if gpu is not None else None
    if passed is None or (passed and not case.log.device_pci):
        held = _by_memory(case, asked)
        if held is not None and (passed is None or held.verdict == "fail"):
            return held
    hint = "It runs on another GPU than the declared one; check `pci` of the GPU in the stack file."
    if passed is None:
        hint = "The log names a device that cannot be compared with the declared one."
    return judged("device", asked, observed, passed, case.where("device"), hint=hint, gate=True)


def _nothing_on_it(case: Case) -> bool:
    """Whether the server computes with a GPU that holds no weights, and nobody asked for that."""
    buffers = case.log.weights_mib
    return case.whole_load and bool(buffers) and all(map(on_host, buffers)) and case.model.gpu_layers != 0


def _by_memory(case: Case, asked: str) -> Verdict | None:
    """By the memory of GPUs that the process holds (fdinfo); None where that is not seen or too little to tell."""
    gpu, process = case.evidence.gpu, case.evidence.process
    if gpu is None or not gpu.pci or process is None or not process.gpu_bytes:
        return None
    least = max(_LEAST_BYTES, (case.evidence.weights_bytes or 0) // _LEAST_PART)
    found = {address: held for address, held in process.gpu_bytes if held >= least}
    if not found:
        return None
    text = ", ".join(f"{size(held)} on {address}" for address, held in found.items())
    passed = any(same_address(address, gpu.pci) for address in found)
    hint = "Its memory is on another GPU than the declared one; check `pci` of the GPU in the stack file."
    observed = gpu.pci if passed else ", ".join(found)
    return judged("device", asked, observed, passed, case.process_source, hint=hint, gate=True, text=text)


def _unseen(case: Case, asked: str) -> Verdict:
    if case.log_says("no-gpu"):
        hint = "The server found no GPU. See homellm explain on its log."
        return judged("device", asked, None, False, case.where("problem:no-gpu"), hint=hint, gate=True, text=_NONE)
    return judged("device", asked, None, None, case.where("device"), hint=case.log_lacks, gate=True)


def _may_hide_a_gpu(case: Case) -> bool:
    """Whether only buffers of the CPU are left of a log that has lost its beginning, and with it perhaps the GPU's."""
    return not case.whole_load and bool(case.log.weights_mib) and not case.log.found_no_gpu


def offload(case: Case) -> Verdict | None:
    """As many layers on the GPU as declared."""
    asked = case.model.gpu_layers
    if asked is None:
        return None
    observed, where = case.log.layers_offloaded, case.where("layers_offloaded", "device")
    on_cpu = case.log.device == CPU
    if on_cpu and _may_hide_a_gpu(case):
        return judged("offload", asked, None, None, where, hint=case.log_lacks)
    if observed is None and on_cpu:
        return judged(
            "offload", asked, 0, asked == 0, where, hint="No GPU is used at all; see the check of the device."
        )
    if observed is None:
        return judged("offload", asked, None, None, where, hint=case.log_lacks)
    offloaded, total = (int(part) for part in observed.split("/"))
    wanted = {"all": total, "auto": 1}.get(str(asked), 0) if isinstance(asked, str) else min(asked, total)
    hint = (
        f"{total - offloaded} of {total} layers are computed by the CPU. Free memory on the GPU, lower ctx or parallel,"
        " or take a smaller quantisation."
    )
    return judged("offload", asked, observed, offloaded >= wanted, where, hint=hint)

"""A declared GPU -> the one of the host, or what stands in the way and what to do about it."""

from __future__ import annotations

from dataclasses import replace

from homellm.domain.stack import Gpu
from homellm.domain.world import Host, HostGpu
from homellm.errors import Problem
from homellm.gpu.listing import describe, listing, problem_at
from homellm.gpu.obstacles import KEPT_BY_VM, no_gpu, obstacle, on_wsl2

_MAKERS = {"cuda": ("nvidia",), "rocm": ("amd",), "vulkan": ("intel", "amd", "nvidia")}


def resolve(gpu: Gpu, host: Host) -> HostGpu | Problem:
    """The GPU of the host that `gpu` declares, ready to be passed to a container, or the one thing in its way.

    The value carries all that `passthrough` needs of the host (the group of /dev/kfd, the card's CDI name).
    """
    if not host.readable:
        return problem_at(
            gpu,
            "host-unknown",
            "the engine runs on another machine, so its GPUs and the numbers of their groups cannot be seen from here",
            "Run homellm on that machine, or set HOMELLM_HOST_ROOT to where its root is mounted.",
        )
    if host.wsl2:
        return on_wsl2(gpu, host)
    chosen = _chosen(gpu, host)
    if isinstance(chosen, Problem):
        return chosen
    uuid_name = f"nvidia.com/gpu={chosen.uuid}"
    whole = replace(
        chosen,
        kfd_gid=host.kfd_gid,
        nvidia_hook=host.nvidia_hook,
        cdi=uuid_name if chosen.uuid and uuid_name in host.cdi_devices else None,
    )
    return obstacle(gpu, whole, host) or whole


def _chosen(gpu: Gpu, host: Host) -> HostGpu | Problem:
    if gpu.auto:
        return _only_one(gpu, host)
    if gpu.pci is not None:
        found = [card for card in host.gpus if card.pci == _full_address(gpu.pci)]
        asked = f"at PCI address {gpu.pci}"
    else:
        found = [card for card in host.gpus if card.id == (gpu.id or "").lower()]
        asked = f"with the id {gpu.id}"
    if not found:
        return problem_at(gpu, "gpu-not-there", f"there is no GPU {asked}", listing(host.gpus))
    if len(found) > 1:
        return _several(gpu, found, f"{len(found)} equal GPUs have the id {gpu.id}")
    return found[0] if found[0].vendor in _MAKERS[gpu.api] else _other_api(gpu, found[0])


def _full_address(address: str) -> str:
    """With the domain, which is 0000 on nearly every machine and left out by lspci."""
    return (address if address.count(":") > 1 else f"0000:{address}").lower()


def _only_one(gpu: Gpu, host: Host) -> HostGpu | Problem:
    """For `auto`: the one GPU that can do what is asked. A card that is kept for a virtual machine does not count."""
    able = [card for card in host.gpus if card.vendor in _MAKERS[gpu.api] and card.driver not in KEPT_BY_VM]
    if not able and gpu.api == "vulkan":
        able = [card for card in host.gpus if card.render_node]  # a virtual machine's own, say
    if len(able) > 1:
        return _several(gpu, able, f"`auto` cannot choose among {len(able)} GPUs")
    return able[0] if able else no_gpu(gpu, host)


def _several(gpu: Gpu, found: list[HostGpu], message: str) -> Problem:
    return problem_at(
        gpu,
        "gpu-ambiguous",
        f"{message}: {'; '.join(describe(card) for card in found)}",
        f'Name one by its address: pci: "{found[0].pci}".',
    )


def _other_api(gpu: Gpu, card: HostGpu) -> HostGpu | Problem:
    """A GPU of a maker that the API does not know: an error, but for Vulkan, which any driver may offer."""
    if gpu.api == "vulkan" and card.render_node:
        return card
    needs = {"cuda": "CUDA needs an NVIDIA card", "rocm": "ROCm needs an AMD card"}.get(gpu.api, "it has no Vulkan")
    return problem_at(
        gpu,
        "gpu-wrong-api",
        f"{describe(card)} cannot be used with api: {gpu.api}; {needs}",
        "Name another GPU." if gpu.api == "vulkan" else "Set api: vulkan, which GPUs of every maker have.",
    )

"""GPUs in words, always with the address that tells two of a kind apart; and problems at a declared GPU's place."""

from __future__ import annotations

from collections.abc import Iterable

from homellm.domain.stack import Gpu
from homellm.domain.world import HostGpu
from homellm.errors import Problem

_VENDORS = {"intel": "Intel", "amd": "AMD", "nvidia": "NVIDIA"}


def describe(gpu: HostGpu) -> str:
    """A GPU as people are told of it: `Intel Iris Xe Graphics (0000:00:02.0, 8086:9a49, renderD128, group 993)`."""
    details = [part for part in (gpu.pci, gpu.id, gpu.render_node) if part]
    if gpu.render_gid is not None:
        details.append(f"group {gpu.render_gid}")
    return f"{title(gpu)} ({', '.join(details)})" if details else title(gpu)


def title(gpu: HostGpu) -> str:
    """Maker and name of a GPU."""
    maker = _VENDORS.get(gpu.vendor, "")
    if not gpu.name:
        return f"{maker} GPU".strip()
    return gpu.name if gpu.name.startswith(maker) else f"{maker} {gpu.name}"


def listing(gpus: Iterable[HostGpu]) -> str:
    """The GPUs of a host on one line, or that there are none."""
    described = "; ".join(describe(gpu) for gpu in gpus)
    return f"This machine has {described}." if described else "This machine shows no GPU."


def problem_at(gpu: Gpu, id: str, message: str, hint: str) -> Problem:
    """A problem with a declared GPU, at its place in the stack file."""
    place = gpu.place
    return Problem(
        id=id,
        message=f"GPU {gpu.name}: {message}",
        hint=hint,
        file=place.file if place else None,
        line=place.line if place else None,
        column=place.column if place else None,
        excerpt=place.pointed if place else None,
    )

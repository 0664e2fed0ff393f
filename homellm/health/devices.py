"""Which device holds a model, from its buffers: the only lines that prove it."""

from __future__ import annotations

import re
from collections.abc import Mapping

#: What a log says when everything is on the processor.
CPU = "cpu"

_HOST = re.compile(r"(?:CPU\w*|AMX|BLAS|KLEIDIAI|Host|\w+_Host|host|cpu)$", re.IGNORECASE)
_SOFTWARE = re.compile(r"llvmpipe|lavapipe|softpipe|swiftshader", re.IGNORECASE)


def on_host(buffer: str) -> bool:
    """Whether a buffer of that name lies in the machine's own memory (`CPU_Mapped`, `AMX`, `Vulkan_Host`)."""
    return _HOST.match(buffer) is not None


def is_software(device: str) -> bool:
    """Whether a device of that name is a graphics driver that runs on the CPU."""
    return _SOFTWARE.search(device) is not None


def gpu_names(buffers: Mapping[str, float]) -> list[str]:
    """The devices among buffers, the one that holds most first (`Vulkan0`, `CUDA1`)."""
    names = [name for name in buffers if not on_host(name)]
    return sorted(names, key=lambda name: -buffers[name])


def full_name(device: str, names: Mapping[str, str]) -> str:
    """A device with its description: `Vulkan0 Intel(R) Iris(R) Xe Graphics (TGL GT2)`."""
    description = names.get(device.removesuffix("_Split"), "")
    return f"{device} {description}".strip()


def table_name(device: str) -> str:
    """The same from the memory table, which writes `Vulkan0 (Intel(R) Iris(R) Xe Graphics (TGL GT2))`."""
    handle, _, description = device.partition(" (")
    return f"{handle} {description.removesuffix(')')}".strip()

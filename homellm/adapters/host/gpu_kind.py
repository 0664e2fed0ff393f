"""Is a GPU integrated, and how much memory of its own has it? Each driver tells it elsewhere, some not at all."""

from __future__ import annotations

import struct
from dataclasses import dataclass

from homellm.adapters.host.root import HostRoot

#: Intel's discrete chips by PCI device number (Linux, include/drm/intel/pciids.h: DG1, DG2 and ATS-M, Battlemage,
#: Ponte Vecchio). All others sit in the processor.
_INTEL_DISCRETE = ((0x4905, 0x4909), (0x4F80, 0x4F88), (0x5690, 0x56C2), (0xE202, 0xE223), (0x0BD0, 0x0BDB))
#: Where Intel has put the processor's own graphics since there are any.
_INTEL_INTEGRATED_SLOT = "00:02.0"
#: NVIDIA's chips that share the processor's memory, by the driver's model name.
_NVIDIA_INTEGRATED = ("GB10", "Orin", "Thor", "Tegra")
_AMD_CPU_VENDOR = "0x1022"


@dataclass(frozen=True, slots=True)
class Memory:
    """Bytes of a GPU's own memory, of the machine's that it may take besides, and of both that are used."""

    own: int | None = None
    shared: int | None = None
    used: int | None = None


def amd_integrated(root: HostRoot, device_dir: str, address: str) -> bool | None:
    """Whether an AMD GPU is a part of the processor (an APU); None when neither witness speaks.

    First the header of `gpu_metrics`: format revision 1 is the table of cards, 2 and 3 are those of APUs (Linux,
    kgd_pp_interface.h). Then the neighbours: an APU shares its PCI slot with functions of the processor, vendor
    1022; a card has only functions of vendor 1002 beside it.
    """
    header = root.data(f"{device_dir}/gpu_metrics", 4)
    if header is not None and len(header) == 4:  # noqa: PLR2004 - u16 size, u8 format revision, u8 content revision
        revision = struct.unpack("<HBB", header)[1]
        if revision in (1, 2, 3):
            return bool(revision != 1)
    slot = address.rpartition(".")[0]
    functions = [name for name in root.names("/sys/bus/pci/devices") if name.rpartition(".")[0] == slot]
    vendors = {root.text(f"/sys/bus/pci/devices/{name}/vendor") for name in functions if name != address}
    if _AMD_CPU_VENDOR in vendors:
        return True
    return False if vendors else None


def intel_integrated(device: int, address: str, memory: Memory) -> bool | None:
    """Whether an Intel GPU is a part of the processor; None when it is neither a known card nor in the usual slot."""
    if memory.own or any(first <= device <= last for first, last in _INTEL_DISCRETE):
        return False
    return True if address.endswith(_INTEL_INTEGRATED_SLOT) else None


def nvidia_integrated(model: str) -> bool:
    """Whether an NVIDIA GPU shares the processor's memory: by name, since all others are cards."""
    return any(name in model for name in _NVIDIA_INTEGRATED)


def read_memory(root: HostRoot, device_dir: str, vendor: str) -> Memory:
    """The memory that the driver tells of: amdgpu always, xe and Intel's own i915 where they do, NVIDIA's never."""
    if vendor == "amd":
        return _amd_memory(root, device_dir)
    if vendor == "intel":
        return Memory(own=_intel_tiles(root, device_dir) or _intel_lmem(root, device_dir))
    return Memory()


def _amd_memory(root: HostRoot, device_dir: str) -> Memory:
    used = [root.number(f"{device_dir}/mem_info_{pool}_used") for pool in ("vram", "gtt")]
    known = [number for number in used if number is not None]
    return Memory(
        own=root.number(f"{device_dir}/mem_info_vram_total"),
        shared=root.number(f"{device_dir}/mem_info_gtt_total"),
        used=sum(known) if known else None,
    )


def _intel_tiles(root: HostRoot, device_dir: str) -> int | None:
    """Of xe: one file for each tile, in the PCI device's folder."""
    tiles = [name for name in root.names(device_dir) if name.startswith("tile")]
    sizes = [root.number(f"{device_dir}/{tile}/physical_vram_size_bytes") for tile in tiles]
    return sum(size for size in sizes if size is not None) or None


def _intel_lmem(root: HostRoot, device_dir: str) -> int | None:
    """Of Intel's own build of i915: one file in the folder of the card's node; the kernel's i915 has none."""
    cards = [name for name in root.names(f"{device_dir}/drm") if name.startswith("card")]
    return next(filter(None, (root.number(f"{device_dir}/drm/{card}/lmem_total_bytes") for card in cards)), None)

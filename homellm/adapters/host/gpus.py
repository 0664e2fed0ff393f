"""GPUs of the host: PCI devices of the display class, and every PCI device that has a render node."""

from __future__ import annotations

import re
import stat
from typing import Literal

from homellm.adapters.host import gpu_kind, nvidia
from homellm.adapters.host.pci_names import PciNames
from homellm.adapters.host.root import HostRoot
from homellm.domain.world import HostGpu

_DEVICES = "/sys/bus/pci/devices"
_ADDRESS = re.compile(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")
#: The first byte of a PCI class: 03 is a display controller (VGA, 3D or other).
_DISPLAY = "0x03"

Vendor = Literal["intel", "amd", "nvidia", "other"]
_VENDORS: dict[str, Vendor] = {"8086": "intel", "1002": "amd", "10de": "nvidia"}


def read_gpus(root: HostRoot) -> tuple[HostGpu, ...]:
    """All GPUs by PCI address. GPUs that are no PCI devices (of single-board computers) are not seen."""
    nodes = _render_nodes(root)
    displays = {name for name in root.names(_DEVICES) if (root.text(f"{_DEVICES}/{name}/class") or "")[:4] == _DISPLAY}
    names = PciNames(root)
    return tuple(_gpu(root, address, nodes.get(address), names) for address in sorted(displays | set(nodes)))


def _render_nodes(root: HostRoot) -> dict[str, str]:
    """Address of a PCI device -> name of its render node: by sysfs, and by udev's links where sysfs has no class."""
    found: dict[str, str] = {}
    for name in root.names("/dev/dri/by-path"):
        match = re.fullmatch(r"pci-(.+)-render", name)
        node = root.target(f"/dev/dri/by-path/{name}")
        if match and node and _ADDRESS.fullmatch(match[1]):
            found[match[1]] = node
    by_sysfs: dict[str, str] = {}
    for name in root.names("/sys/class/drm"):
        address = _pci_address(root, f"/sys/class/drm/{name}/device") if name.startswith("renderD") else None
        if address:
            by_sysfs[address] = name
    return {address: node for address, node in found.items() if node not in by_sysfs.values()} | by_sysfs


def _pci_address(root: HostRoot, link: str) -> str | None:
    """The PCI device that a link of sysfs leads to; a virtual GPU is a virtio device below its PCI device."""
    parts = (root.resolve(link) or "").split("/")
    last = parts[-2] if parts[-1].startswith("virtio") else parts[-1]
    return last if _ADDRESS.fullmatch(last) else None


def _gpu(root: HostRoot, address: str, node: str | None, names: PciNames) -> HostGpu:
    folder = f"{_DEVICES}/{address}"
    vendor_id, device_id = _hex(root, f"{folder}/vendor"), _hex(root, f"{folder}/device")
    vendor = _VENDORS.get(vendor_id, "other")
    card = nvidia.read_card(root, address) if vendor == "nvidia" else nvidia.Card()
    memory = gpu_kind.read_memory(root, folder, vendor)
    integrated = None
    if vendor == "amd":
        integrated = gpu_kind.amd_integrated(root, folder, address)
    elif vendor == "intel":
        integrated = gpu_kind.intel_integrated(root.number(f"{folder}/device", 16) or 0, address, memory)
    elif vendor == "nvidia":
        integrated = gpu_kind.nvidia_integrated(card.model)
    status = root.status(f"/dev/dri/{node}") if node else None
    return HostGpu(
        pci=address,
        id=f"{vendor_id}:{device_id}",
        vendor=vendor,
        name=card.model or names.name(vendor_id, device_id),
        driver=root.target(f"{folder}/driver") or "",
        integrated=integrated,
        render_node=node if status else None,
        render_gid=status.st_gid if status else None,
        render_mode=stat.S_IMODE(status.st_mode) if status else None,
        memory_bytes=memory.own,
        shared_bytes=memory.shared,
        used_bytes=memory.used,
        uuid=card.uuid,
        minor=card.minor,
        drm_node=node,
        render_number=root.text(f"/sys/class/drm/{node}/dev") if node else None,
    )


def _hex(root: HostRoot, path: str) -> str:
    """A PCI number (`0x8086`) as four hex digits; `????` when it cannot be read, which matches nothing."""
    number = root.number(path, 16)
    return "????" if number is None else f"{number:04x}"

"""What NVIDIA's driver and container toolkit leave on a machine; nvidia-smi is not needed for it."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from homellm.adapters.host.root import HostRoot

_GPUS = "/proc/driver/nvidia/gpus"

#: Where distributions, and NixOS, put programs of the system.
_PROGRAM_DIRS = ("/usr/bin", "/usr/local/bin", "/run/current-system/sw/bin")
_TOOLKIT = ("nvidia-container-runtime", "nvidia-ctk", "nvidia-container-toolkit", "nvidia-container-cli")
#: The engine's driver `nvidia` looks for exactly this program when the daemon starts (moby, daemon/nvidia_linux.go).
_HOOK = "nvidia-container-runtime-hook"
#: Where the snap of Docker and NVIDIA's own installer put it.
_HOOK_DIRS = ("/snap/docker/current/usr/bin", "/usr/local/nvidia/toolkit")

#: Where CDI files stand (CDI specification, "CDI JSON Specification"). /var/run is a link to /run nearly everywhere.
_CDI_DIRS = ("/etc/cdi", "/var/run/cdi")


@dataclass(frozen=True, slots=True)
class Card:
    """What the driver says of one card."""

    model: str = ""
    uuid: str | None = None
    minor: int | None = None


def read_card(root: HostRoot, address: str) -> Card:
    """The card at a PCI address, from /proc/driver/nvidia/gpus/<address>/information; empty without the driver."""
    text = root.text(f"{_GPUS}/{address}/information") or ""
    fields = dict(re.findall(r"^([^:\n]+):[ \t]*(.*)$", text, re.MULTILINE))
    uuid = fields.get("GPU UUID", "").strip()
    minor = fields.get("Device Minor", "").strip()
    return Card(
        model=fields.get("Model", "").strip(),
        uuid=uuid if uuid.startswith("GPU-") and "?" not in uuid else None,
        minor=int(minor) if minor.isdigit() else None,
    )


def has_devices(root: HostRoot) -> bool:
    """Whether there is a node of any card (/dev/nvidia0, /dev/nvidia1, …)."""
    return any(re.fullmatch(r"nvidia\d+", name) for name in root.names("/dev"))


def has_toolkit(root: HostRoot) -> bool:
    """Whether any part of the container toolkit is installed."""
    return has_hook(root) or any(_program(root, name) for name in _TOOLKIT)


def has_hook(root: HostRoot) -> bool:
    """Whether the part is installed that the engine's driver `nvidia` calls."""
    return any(root.exists(f"{folder}/{_HOOK}") for folder in (*_PROGRAM_DIRS, *_HOOK_DIRS))


def programs_readable(root: HostRoot) -> bool:
    """Whether the machine's programs can be seen from here at all."""
    return any(root.names(folder) for folder in _PROGRAM_DIRS)


def _program(root: HostRoot, name: str) -> bool:
    return any(root.exists(f"{folder}/{name}") for folder in _PROGRAM_DIRS)


def has_wsl_cuda(root: HostRoot) -> bool:
    """Whether Windows' driver has brought its CUDA library into WSL2."""
    return root.exists("/usr/lib/wsl/lib/libcuda.so.1")


def read_cdi(root: HostRoot) -> tuple[str, ...]:
    """The full names of all devices that CDI files of the machine define (`nvidia.com/gpu=GPU-…`), sorted."""
    names: set[str] = set()
    for folder in _CDI_DIRS:
        for name in root.names(folder):
            if name.endswith((".yaml", ".json")):
                names.update(_devices(root.text(f"{folder}/{name}") or "", name.endswith(".json")))
    return tuple(sorted(names))


def _devices(text: str, is_json: bool) -> list[str]:
    spec = _parse(text, is_json)
    devices = spec.get("devices")
    if not isinstance(devices, list):
        return []
    names = [device["name"] for device in devices if isinstance(device, dict) and "name" in device]
    return [f"{spec.get('kind')}={name}" for name in names]


def _parse(text: str, is_json: bool) -> dict[str, object]:
    """A CDI file; empty when it is none."""
    try:
        loaded = json.loads(text) if is_json else YAML(typ="safe").load(text)
    except (ValueError, YAMLError):
        return {}
    return loaded if isinstance(loaded, dict) else {}

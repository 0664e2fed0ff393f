"""GPUs of recorded hosts. The child computes on lavapipe, Mesa's Vulkan on the CPU, and is shown under their name."""

import re
from dataclasses import dataclass
from typing import Any

from standin.settings import Settings
from standin.words import binary_size

LAVAPIPE = re.compile(r"llvmpipe \(LLVM [^)]*\)")
MINIMUM = 457 << 20


@dataclass(frozen=True, slots=True)
class Gpu:
    """One GPU by Vulkan. Sizes in bytes."""

    description: str
    pci_id: str
    integrated: bool
    total: int
    free: int

    def taken(self, settings: Settings) -> bool:
        """Whether this Ollama computes on it: integrated ones only when told."""
        return settings.igpu or not self.integrated

    @property
    def _names(self) -> dict[str, Any]:
        return {"library": "Vulkan", "compute": "0.0", "name": "Vulkan0", "description": self.description}

    @property
    def dropped(self) -> dict[str, Any]:
        return {"id": 0, **self._names, "pci_id": self.pci_id}

    @property
    def compute(self) -> dict[str, Any]:
        where = {"libdirs": "ollama", "driver": "0.0", "pci_id": self.pci_id}
        kind = {"type": "iGPU" if self.integrated else "discrete"}
        sizes = {"total": binary_size(self.total), "available": binary_size(self.free)}
        return {"id": 0, "filter_id": 0, **self._names, **where, **kind, **sizes}

    @property
    def memory(self) -> dict[str, Any]:
        sizes = {"available": binary_size(self.free - MINIMUM), "free": binary_size(self.free)}
        return {"id": 0, "library": "Vulkan", **sizes, "minimum": binary_size(MINIMUM), "overhead": "0 B"}

    def named(self, line: str) -> str:
        """A line of the child with this GPU's name in the place of lavapipe's."""
        return LAVAPIPE.sub(self.description, line)


GIB = 1 << 30
RECORDED = {
    "iris": Gpu(
        "Intel(R) Iris(R) Xe Graphics (TGL GT2)", "0000:00:02.0", integrated=True, total=16 * GIB, free=15 * GIB
    ),
    "radeon": Gpu("AMD Radeon RX 6600 (RADV NAVI23)", "0000:03:00.0", integrated=False, total=8 * GIB, free=7 * GIB),
}

"""Keys of the stack file whose fields in the domain say their unit."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

#: The field of Model or OllamaServer, and the key of the file that it is read from.
KEY_OF_FIELD: Mapping[str, str] = MappingProxyType(
    {
        "memory_bytes": "memory",
        "shm_size_bytes": "shm_size",
        "sleep_idle_s": "sleep_idle",
        "stop_grace_s": "stop_grace",
        "load_timeout_s": "load_timeout",
        "gpu_overhead_bytes": "gpu_overhead",
    }
)

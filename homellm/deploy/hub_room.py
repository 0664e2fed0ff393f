"""Whether the disk of the hub's cache has room for what has to come, told with what could go."""

from __future__ import annotations

from collections.abc import Mapping

from homellm.domain.hub import HubModel
from homellm.errors import Problem
from homellm.ports import ModelHub

#: How many repositories of the cache are named as what could be removed.
NAMED = 3
_GIB, _MIB = 1024**3, 1024**2


def no_room(absent: Mapping[str, HubModel], hub: ModelHub) -> dict[str, Problem]:
    """The sources for which the disk has no room, in the order of the file: what stands first comes first."""
    free = hub.free_bytes()
    if free is None:
        return {}
    left, found = free, {}
    for source, model in absent.items():
        if model.missing_bytes <= left:
            left -= model.missing_bytes
            continue
        others = f", {size_text(free - left)} of it for what else is to be pulled" if left < free else ""
        message = f"{source} needs {size_text(model.missing_bytes)}, and the disk of {hub.location} has"
        found[source] = Problem("disk-full", f"{message} {size_text(free)} free{others}", _what_to_free(source, hub))
    return found


def _what_to_free(source: str, hub: ModelHub) -> str:
    other = "Or set HF_HOME to a folder on a larger disk."
    held = [(repo, size) for repo, size in hub.repositories() if not source.startswith(f"hf:{repo}")][:NAMED]
    if not held:
        return f"Free some space. {other}"
    names = ", ".join(f"{repo} ({size_text(size)})" for repo, size in held)
    folder = f"{hub.location}/models--{held[0][0].replace('/', '--')}"
    return f"The cache holds {names}; where one is not needed any more: rm -r {folder}. {other}"


def size_text(count: int) -> str:
    """Bytes as people read them: `4.6 GiB`, `93 MiB`."""
    if count >= _GIB:
        return f"{count / _GIB:.1f} GiB"
    return f"{count / _MIB:.0f} MiB" if count >= _MIB else f"{count} bytes"

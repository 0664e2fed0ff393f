"""Which model families Ollama gives one slot whatever is asked, and since which version: to predict, never to decide.

Source: the list in `load` of server/sched.go, read at every release from 0.3 to 0.33. It is compared with
`model_family` of the manifest's config, not with the architecture in the GGUF.
"""

from __future__ import annotations

import re

Version = tuple[int, ...]

#: Family -> the first release that refuses it.
REFUSED_SINCE: dict[str, Version] = {
    "mllama": (0, 4, 1),
    "qwen3vl": (0, 12, 7),
    "qwen3vlmoe": (0, 12, 7),
    "qwen3next": (0, 15, 5),
    "lfm2": (0, 15, 5),
    "lfm2moe": (0, 15, 5),
    "nemotron_h": (0, 17, 1),
    "nemotron_h_moe": (0, 17, 1),
    "qwen35": (0, 17, 1),
    "qwen35moe": (0, 17, 1),
    "nemotron_h_omni": (0, 22, 0),
}

#: Releases up to this one refused every model that has a projector (`multimodal models don't support …`).
LAST_WITHOUT_MULTIMODAL: Version = (0, 4, 0)
#: Up to this release all families of the config counted, since then `model_family` alone.
LAST_WITH_FAMILIES: Version = (0, 12, 6)

#: The release that began to merge the parts of a split file when it makes a model; before it each part became a layer,
#: of which the last was loaded, in vain (seen at 0.24.0).
MERGES_SPLIT_SINCE: Version = (0, 30, 0)

#: Families that no engine of today loads at all: nothing can be fallen back on.
UNLOADABLE = frozenset({"mllama"})

_NUMBERS = re.compile(r"v?(\d+)\.(\d+)(?:\.(\d+))?")


def parse_version(text: str) -> Version | None:
    """The numbers of a version (`0.33.0-rc2` counts as 0.33.0); None for one without (a build of one's own)."""
    found = _NUMBERS.match(text.strip())
    return tuple(int(part or 0) for part in found.groups()) if found else None


def predicted_refusal(
    version: str, family: str, families: tuple[str, ...] = (), *, projector: bool = False
) -> str | None:
    """Why that version of Ollama would give this model one slot: a family, or `multimodal`; None when it would not.

    A version that cannot be read, and 0.0.0, which builds of one's own bear, count as newer than every release.
    """
    known = parse_version(version)
    release = known if known and any(known) else (999,)
    if release <= LAST_WITHOUT_MULTIMODAL:
        return "multimodal" if projector else None
    candidates = (family, *families) if release <= LAST_WITH_FAMILIES else (family,)
    return next((name for name in candidates if name in REFUSED_SINCE and release >= REFUSED_SINCE[name]), None)

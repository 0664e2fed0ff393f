"""What the llama-server image is made of, where no image registry answers. Its hash is its tag: made once, kept."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass

REPOSITORY = "homellm/llama-server-debian"


@dataclass(frozen=True, slots=True)
class Recipe:
    """A root file system of Debian packages with an entrypoint.

    `script` is the debootstrap script: older releases of debootstrap know newer suites only by that of sid.
    """

    suite: str
    script: str
    variant: str
    packages: tuple[str, ...]
    entrypoint: tuple[str, ...]
    left_out: tuple[str, ...]

    @property
    def digest(self) -> str:
        """12 hex digits that change with every part of the recipe."""
        return hashlib.sha256(json.dumps(asdict(self), sort_keys=True).encode()).hexdigest()[:12]

    @property
    def tag(self) -> str:
        """The image's name."""
        return f"{REPOSITORY}:{self.digest}"


#: llama-server with a CPU backend for each generation of x86-64 and with Vulkan, from Debian's own packages.
LLAMA_SERVER = Recipe(
    suite="forky",
    script="/usr/share/debootstrap/scripts/sid",
    variant="minbase",
    packages=("llama.cpp-tools", "libggml0-backend-vulkan", "mesa-vulkan-drivers"),
    entrypoint=("/usr/bin/llama-server",),
    left_out=("./var/cache/apt", "./var/lib/apt/lists", "./usr/share/doc", "./usr/share/man", "./usr/share/locale"),
)

#: What the official project publishes; taken where its registry answers.
OFFICIAL_IMAGE = "ghcr.io/ggml-org/llama.cpp:server"

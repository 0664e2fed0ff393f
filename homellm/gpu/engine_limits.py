"""What the engine itself keeps from a GPU that the host has ready."""

from __future__ import annotations

from homellm.domain.stack import Gpu
from homellm.domain.world import EngineInfo, Host, HostGpu
from homellm.errors import Problem
from homellm.gpu.listing import describe, problem_at
from homellm.gpu.obstacles import INSTALL_TOOLKIT, no_toolkit
from homellm.gpu.passthrough import CDI_ENGINE, cdi_usable


def engine_limit(gpu: Gpu, card: HostGpu, host: Host, engine: EngineInfo) -> Problem | None:
    """Why `engine` cannot pass the GPU that `resolve` found; None when it can."""
    if engine.desktop and not (host.wsl2 and gpu.api == "cuda"):
        return problem_at(
            gpu,
            "docker-desktop-gpu",
            "Docker Desktop runs containers in a virtual machine of its own, which has no GPU of this machine",
            "Use the Docker Engine of the distribution (docker context use default), which passes GPUs.",
        )
    if card.vendor != "nvidia" or card.driver not in ("nvidia", "dxgkrnl") or engine.desktop:
        return None
    if card.nvidia_hook or "nvidia" in engine.runtimes or not host.programs_readable or cdi_usable(card, engine):
        return None
    if card.cdi is not None:
        return _no_cdi(gpu, card, engine)
    return no_toolkit(gpu, f"{describe(card)} is there", host)


def _no_cdi(gpu: Gpu, card: HostGpu, engine: EngineInfo) -> Problem:
    if engine.major < CDI_ENGINE:
        why, hint = f"Docker {engine.version} does not pass devices by CDI (25 does)", INSTALL_TOOLKIT
    else:
        why = f"CDI is switched off in Docker {engine.version}"
        hint = 'Set "features": {"cdi": true} in /etc/docker/daemon.json, then sudo systemctl restart docker.'
    return problem_at(gpu, "nvidia-toolkit-missing", f"a CDI file names {describe(card)}, but {why}", hint)

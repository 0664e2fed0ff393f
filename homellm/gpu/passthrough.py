"""What a container needs to use one GPU of the host and no other."""

from __future__ import annotations

from dataclasses import dataclass

from homellm.domain.dialect import Dialect
from homellm.domain.spec import Arg, Device, EnvVar, GpuRequest
from homellm.domain.stack import Gpu
from homellm.domain.world import EngineInfo, HostGpu
from homellm.gpu.listing import title

#: The first engine that passes devices by CDI.
CDI_ENGINE = 25
_EVERYONE = 0o006


@dataclass(frozen=True, slots=True)
class Passthrough:
    """Devices, groups, variables and requests of a container, each with its reason; `notes` are for people."""

    devices: tuple[Device, ...] = ()
    group_add: tuple[int, ...] = ()
    env: tuple[EnvVar, ...] = ()
    gpu_requests: tuple[GpuRequest, ...] = ()
    notes: tuple[str, ...] = ()


def passthrough(gpu: Gpu, host_gpu: HostGpu, engine: EngineInfo) -> Passthrough:
    """What a container of `engine` needs for the GPU that `resolve` found.

    NVIDIA's driver is passed by its toolkit for CUDA and for Vulkan; every other driver by the render node. An index
    is never used: neither GGML_VK_VISIBLE_DEVICES nor a count of cards.
    """
    if host_gpu.vendor == "nvidia" and host_gpu.driver in ("nvidia", "dxgkrnl"):
        return _by_toolkit(gpu, host_gpu, engine)
    return _by_node(gpu, host_gpu, engine)


def _by_node(gpu: Gpu, host_gpu: HostGpu, engine: EngineInfo) -> Passthrough:
    node = f"/dev/dri/{host_gpu.render_node}"
    which = f"{title(host_gpu)} at {host_gpu.pci}"
    devices = [Device(node, node, f"the render node of {which}, and of no other GPU")]
    groups = [] if host_gpu.render_gid is None else [host_gpu.render_gid]
    env: tuple[EnvVar, ...] = ()
    if gpu.api == "rocm":
        devices.insert(0, Device("/dev/kfd", "/dev/kfd", "ROCm's own interface, shared by all AMD GPUs"))
        groups += [host_gpu.kfd_gid] if host_gpu.kfd_gid is not None else []
    elif gpu.api == "vulkan":
        env = (_select(host_gpu),)
    return Passthrough(
        devices=tuple(devices),
        group_add=tuple(dict.fromkeys(groups)),
        env=env,
        notes=_group_notes(host_gpu, engine),
    )


def _select(host_gpu: HostGpu) -> EnvVar:
    return EnvVar(
        "MESA_VK_DEVICE_SELECT",
        f"{host_gpu.id}!",
        f"{title(host_gpu)} and no other Vulkan device, by its id and never by a number",
    )


def _group_notes(host_gpu: HostGpu, engine: EngineInfo) -> tuple[str, ...]:
    """Where the engine maps groups, the node's number means another group inside."""
    everyone = host_gpu.render_mode is not None and host_gpu.render_mode & _EVERYONE == _EVERYONE
    if everyone or not (engine.rootless or engine.userns_remap):
        return ()
    how = "rootless" if engine.rootless else "with userns-remap"
    return (
        f"Docker runs {how}: group {host_gpu.render_gid} in the container is not group {host_gpu.render_gid} of the"
        f" machine. If the GPU cannot be opened, let everyone use it: sudo chmod 666 /dev/dri/{host_gpu.render_node}"
        " (a udev rule makes it last).",
    )


def _by_toolkit(gpu: Gpu, host_gpu: HostGpu, engine: EngineInfo) -> Passthrough:
    request = _request(host_gpu, engine)
    env: list[EnvVar] = []
    if gpu.api == "vulkan":
        env.append(_select(host_gpu))
        if request.driver == "nvidia":
            because = "the toolkit brings NVIDIA's Vulkan driver only when graphics are asked for"
            env.append(EnvVar("NVIDIA_DRIVER_CAPABILITIES", "compute,graphics,utility", because))
    return Passthrough(env=tuple(env), gpu_requests=(request,))


def _request(host_gpu: HostGpu, engine: EngineInfo) -> GpuRequest:
    if host_gpu.uuid is None:  # WSL2: Windows' driver passes all cards together
        return GpuRequest("nvidia", ("all",), "WSL2 passes all NVIDIA cards together")
    because = f"{title(host_gpu)} at {host_gpu.pci}, by its UUID and never by a number"
    if cdi_usable(host_gpu, engine) and host_gpu.cdi is not None:
        return GpuRequest("cdi", (host_gpu.cdi,), because)
    return GpuRequest("nvidia", (host_gpu.uuid,), because)


def cdi_usable(host_gpu: HostGpu, engine: EngineInfo) -> bool:
    """Whether the engine passes devices by CDI and a CDI file names this card."""
    return engine.major >= CDI_ENGINE and engine.cdi and host_gpu.cdi is not None


def device_flag(gpu: Gpu, host_gpu: HostGpu, dialect: Dialect) -> Arg | None:
    """`--device` with the server's name of the one GPU that the container sees; None where that is not known.

    With one GPU passed its number is 0. The flag makes a missing GPU an error at once (`invalid device: Vulkan0`),
    where the server would else go on with the CPU. It proves nothing about which GPU it is: the device check does.
    """
    if not dialect.has("--device") or (gpu.api == "cuda" and host_gpu.uuid is None):
        return None
    name = {"vulkan": "Vulkan0", "cuda": "CUDA0", "rocm": "ROCm0"}[gpu.api]
    return Arg("--device", name, "the one GPU that is passed: without it the server would go on with the CPU")


def ollama_env(gpu: Gpu, host_gpu: HostGpu) -> tuple[EnvVar, ...]:
    """Variables that an Ollama server needs beyond `passthrough` to take the GPU.

    Since 0.30 it drops integrated GPUs unless told otherwise; versions from 0.12.11 on take Vulkan when asked to.
    """
    env: list[EnvVar] = []
    if gpu.api == "vulkan":
        env.append(EnvVar("OLLAMA_VULKAN", "1", "versions before Vulkan was the default need it asked for"))
    if host_gpu.integrated is not False:
        reason = "is integrated" if host_gpu.integrated else "may be integrated"
        because = f"{title(host_gpu)} {reason}, and Ollama drops such GPUs since 0.30"
        env.append(EnvVar("OLLAMA_IGPU_ENABLE", "1", because))
    return tuple(env)

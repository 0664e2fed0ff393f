"""What keeps a GPU from being used on a host, and the module, setting or package that would help."""

from __future__ import annotations

from homellm.domain.stack import Gpu
from homellm.domain.world import Host, HostGpu
from homellm.errors import Problem
from homellm.gpu.listing import describe, problem_at

#: Drivers that keep a device for a virtual machine.
KEPT_BY_VM = ("vfio-pci", "pci-stub", "xen-pciback")
#: The group that the kernel shows for one that is not mapped into a user namespace (overflowgid).
_UNMAPPED = 65534
_EVERYONE = 0o006

_DRIVERS = {
    "intel": "i915 (xe for cards of 2024 and newer)",
    "amd": "amdgpu",
    "nvidia": "nvidia",
}
_INSTALL_DRIVER = {
    "intel": "Load it: sudo modprobe i915, or sudo modprobe xe. If it does not take the GPU, the kernel is older than"
    " the GPU: install a newer one.",
    "amd": "Load it: sudo modprobe amdgpu. If it does not take the GPU, install a newer kernel and the package of its"
    " firmware (firmware-amd-graphics, linux-firmware).",
    "nvidia": "Install NVIDIA's driver (Debian: nvidia-driver, Ubuntu: sudo ubuntu-drivers install) and restart.",
}
INSTALL_TOOLKIT = (
    "Install it from NVIDIA's package repository: sudo apt install nvidia-container-toolkit (or dnf, zypper), then"
    " sudo nvidia-ctk runtime configure --runtime=docker, then sudo systemctl restart docker."
)
_ON_CPU = "To serve on the CPU, take `gpu` out of the model."


def on_wsl2(gpu: Gpu, host: Host) -> HostGpu | Problem:
    """WSL2 offers CUDA by Windows' driver and nothing else; there a card has no address of its own."""
    if gpu.api != "cuda":
        return problem_at(
            gpu,
            "wsl2-no-vulkan",
            f"this is WSL2, whose GPU is reached by /dev/dxg and has no render node, so {_API[gpu.api]} cannot be"
            " passed to a container here",
            "An NVIDIA card works: set api: cuda, with `auto` for its address. Otherwise run homellm on Linux itself.",
        )
    if not gpu.auto:
        return problem_at(
            gpu,
            "wsl2-no-address",
            "under WSL2 a card has no PCI address or id of its own; Windows' driver passes all NVIDIA cards together",
            "Declare it with `auto`.",
        )
    if not host.wsl_cuda:
        return problem_at(
            gpu,
            "no-gpu",
            "this is WSL2 and Windows' driver has brought no CUDA library (/usr/lib/wsl/lib/libcuda.so.1)",
            "Install NVIDIA's driver on Windows, not in Linux, then run wsl --shutdown and try again.",
        )
    hook = host.nvidia_hook
    return HostGpu(pci="", id="", vendor="nvidia", name="NVIDIA GPU by WSL2", driver="dxgkrnl", nvidia_hook=hook)


_API = {"vulkan": "Vulkan", "rocm": "ROCm", "cuda": "CUDA"}


def no_gpu(gpu: Gpu, host: Host) -> Problem:
    """`auto` found nothing that can do what is asked: say what there is, and where a GPU might hide."""
    what = {"cuda": "no NVIDIA card", "rocm": "no AMD GPU", "vulkan": "no GPU with Vulkan"}[gpu.api]
    others = "; ".join(describe(card) for card in host.gpus)
    if host.contained:
        return _contained(gpu, f"{what} can be seen from inside this container")
    if host.hypervisor:
        hint = f"This is a virtual machine ({host.hypervisor}): pass the GPU through in its settings. {_ON_CPU}"
    elif host.gpus and gpu.api != "vulkan":
        hint = f"Set api: vulkan, which GPUs of every maker have. {_ON_CPU}"
    else:
        hint = f"Check that the card is seated and switched on in the firmware (lspci lists it). {_ON_CPU}"
    return problem_at(gpu, "no-gpu", f"this machine has {what}{f', only {others}' if others else ''}", hint)


def obstacle(gpu: Gpu, card: HostGpu, host: Host) -> Problem | None:
    """The first thing that keeps `card` from being used with the declared API; None when it is ready."""
    if card.driver in KEPT_BY_VM:
        return problem_at(
            gpu,
            "gpu-kept-for-vm",
            f"{describe(card)} is kept for a virtual machine by the driver {card.driver}",
            "Give it back to the machine, or name another GPU.",
        )
    if not card.driver and not card.drm_node:
        return _no_driver(gpu, card)
    if card.vendor == "nvidia" and card.driver == "nvidia":
        return _nvidia(gpu, card, host)
    if gpu.api == "cuda":
        return problem_at(
            gpu,
            "gpu-wrong-driver",
            f"{describe(card)} is driven by {card.driver}, and CUDA needs NVIDIA's own driver",
            f"{_INSTALL_DRIVER['nvidia']} Or set api: vulkan.",
        )
    if card.driver == "radeon":
        return problem_at(
            gpu,
            "gpu-wrong-driver",
            f"{describe(card)} is driven by radeon, which has no Vulkan",
            "Start the kernel with radeon.si_support=0 radeon.cik_support=0 amdgpu.si_support=1 amdgpu.cik_support=1.",
        )
    return _node(gpu, card, host) or (_kfd(gpu, host) if gpu.api == "rocm" else None)


def _no_driver(gpu: Gpu, card: HostGpu) -> Problem:
    driver = _DRIVERS.get(card.vendor, "for it")
    return problem_at(
        gpu,
        "gpu-no-driver",
        f"{describe(card)} has no driver, so there is no render node to pass; it wants {driver}",
        _INSTALL_DRIVER.get(card.vendor, _ON_CPU),
    )


def _nvidia(gpu: Gpu, card: HostGpu, host: Host) -> Problem | None:
    """NVIDIA's driver: its container toolkit passes the card, for Vulkan as for CUDA."""
    if card.uuid is None:
        return problem_at(
            gpu,
            "gpu-no-uuid",
            f"NVIDIA's driver does not list {describe(card)} in /proc/driver/nvidia/gpus/{card.pci}/information, so it"
            " cannot be named to the container toolkit",
            "Run nvidia-smi on the machine: it starts the driver, or says what is wrong with it.",
        )
    if host.programs_readable and not host.nvidia_hook and card.cdi is None:
        return no_toolkit(gpu, f"{describe(card)} is there", host)
    return None


def no_toolkit(gpu: Gpu, found: str, host: Host) -> Problem:
    """There is a card and no toolkit, or not the part of it that the engine needs."""
    if host.nvidia_toolkit:
        return problem_at(
            gpu,
            "nvidia-toolkit-missing",
            f"{found}, but only a part of the NVIDIA container toolkit is: the engine needs its"
            " nvidia-container-runtime-hook, or a CDI file that names the card",
            f"{INSTALL_TOOLKIT} With Docker 25 or newer a CDI file does as well:"
            " sudo nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml.",
        )
    return problem_at(
        gpu,
        "nvidia-toolkit-missing",
        f"{found}, but the NVIDIA container toolkit is not, without which no container can use it",
        INSTALL_TOOLKIT,
    )


def _node(gpu: Gpu, card: HostGpu, host: Host) -> Problem | None:
    """No render node, or one that its group cannot open."""
    if card.render_node is None:
        return _no_node(gpu, card, host)
    everyone = card.render_mode is not None and card.render_mode & _EVERYONE == _EVERYONE
    if host.unprivileged and card.render_gid == _UNMAPPED and not everyone:
        return problem_at(
            gpu,
            "render-group-unmapped",
            f"/dev/dri/{card.render_node} belongs to a group that this LXC container does not have (it shows as"
            f" {_UNMAPPED}), so nothing in it can open the node",
            f"On the machine that runs LXC give it one: Proxmox: pct set ID -dev0 /dev/dri/{card.render_node},gid=104;"
            " Incus: incus config device add NAME gpu gpu gid=104. Take the number of the group render in here.",
        )
    return None


def _no_node(gpu: Gpu, card: HostGpu, host: Host) -> Problem:
    node = f"/dev/dri/{card.drm_node or 'renderD128'}"
    if host.contained:
        return _contained(gpu, f"{describe(card)} is there, but {node} cannot be seen from inside this container")
    if host.lxc:
        return problem_at(
            gpu,
            "no-render-node",
            f"{describe(card)} is there, but this LXC container has no {node}",
            f"On the machine that runs LXC: Proxmox: pct set ID -dev0 {node},gid=GROUP (the number of the group render"
            f" in here); Incus: incus config device add NAME gpu gpu pci={card.pci}.",
        )
    if card.drm_node:
        return problem_at(
            gpu,
            "no-render-node",
            f"the driver {card.driver} has made {card.drm_node} for {describe(card)}, but {node} is not there",
            "Let udev make it: sudo udevadm trigger --subsystem-match=drm.",
        )
    return problem_at(
        gpu,
        "no-render-node",
        f"the driver {card.driver} drives {describe(card)} but offers no render node",
        f"See why: sudo dmesg | grep -i {card.driver or card.pci} (firmware that is missing, or nomodeset among the"
        f" kernel's parameters). {_ON_CPU}",
    )


def _kfd(gpu: Gpu, host: Host) -> Problem | None:
    if host.kfd_gid is not None:
        return None
    if host.lxc:
        hint = "On the machine that runs LXC: Proxmox: pct set ID -dev1 /dev/kfd,gid=GROUP."
    else:
        hint = "Load amdgpu with a kernel that has it (CONFIG_HSA_AMD), or set api: vulkan, which does not need it."
    return problem_at(gpu, "no-kfd", "ROCm needs /dev/kfd, which is not there", hint)


def _contained(gpu: Gpu, message: str) -> Problem:
    return problem_at(
        gpu,
        "host-unknown",
        f"{message}: homellm itself runs in a container",
        "Start it with the machine's root mounted and named: -v /:/host:ro -e HOMELLM_HOST_ROOT=/host.",
    )

"""What a host or a kind of engine keeps from containers, whatever the stack: worth knowing before the first `up`."""

from __future__ import annotations

from homellm.domain.stack import OLLAMA_PORT, Stack
from homellm.domain.world import UNLIMITED, EngineInfo, Host, Listener
from homellm.errors import ExitCode, Problem

_MOUNT_ROOT = "Start it with -v /:/host:ro -e HOMELLM_HOST_ROOT=/host."


def host_advice(host: Host) -> tuple[Problem, ...]:
    """What the kind of system means for models on it."""
    if not host.readable:
        return (
            _advice(
                "host-unknown",
                "the engine runs on another machine, of which nothing can be read from here",
                "Run homellm on that machine, or set HOMELLM_HOST_ROOT to where its root is mounted.",
            ),
        )
    found = []
    if host.contained:
        found.append(
            _advice("host-unknown", "homellm itself runs in a container and sees a part of the machine", _MOUNT_ROOT)
        )
    if host.wsl2:
        found.append(_wsl2())
    if host.unprivileged:
        found.append(_unprivileged(host))
    return tuple(found)


def _wsl2() -> Problem:
    return _advice(
        "wsl2",
        "this is WSL2: a container can use an NVIDIA card by CUDA, and no GPU by Vulkan or ROCm",
        "Declare the card with api: cuda and `auto`. For any other GPU run homellm on Linux itself.",
    )


def _unprivileged(host: Host) -> Problem:
    kind = "an unprivileged LXC container" if host.lxc else "a system whose root is not the machine's"
    limit = host.memlock_bytes
    if limit is None:
        locked = "how much memory a container may lock is not known"
    else:
        locked = "" if limit == UNLIMITED else f"a container may lock at most {limit / 1024**2:.0f} MiB of memory"
    return _advice(
        "unprivileged",
        f"this is {kind}: devices must be passed to it by the machine below" + (f", and {locked}" if locked else ""),
        "On the machine that runs it: lxc.prlimit.memlock: unlimited for mlock; Proxmox: pct set ID -dev0 for the GPU's"
        " node.",
    )


def engine_advice(engine: EngineInfo) -> tuple[Problem, ...]:
    """What the kind of engine means for models in it."""
    found = []
    if engine.desktop:
        found.append(
            _advice(
                "docker-desktop",
                "Docker Desktop runs containers in a virtual machine of its own: no Vulkan, and nothing of their"
                " processes can be seen",
                "Use the Docker Engine of the distribution: docker context use default.",
            )
        )
    if engine.rootless or engine.userns_remap:
        kind = "rootless" if engine.rootless else "with userns-remap"
        found.append(
            _advice(
                "user-namespace",
                f"Docker runs {kind}: IPC_LOCK has no effect in containers, and the number of a device's group means"
                " another group inside",
                "For a GPU let everybody open its node, or use Docker as root; for mlock raise LimitMEMLOCK.",
            )
        )
    if engine.snap:
        found.append(
            _advice(
                "snap-docker",
                "Docker is installed as a snap, which sees /home, /media and /mnt and no other folder of this machine",
                "Keep models below /home, or install Docker from its own package repository.",
            )
        )
    if engine.log_driver == "none":
        found.append(
            _advice(
                "no-logs",
                "Docker keeps no logs (log driver none), so what a server printed is no evidence",
                "Set log: {driver: local} under defaults, or log-driver in /etc/docker/daemon.json.",
            )
        )
    return tuple(found)


def ollama_advice(host: Host, stack: Stack | None) -> tuple[Problem, ...]:
    """An Ollama that runs on the host itself, unless the stack declares it by its `url`."""
    found = _ollama(host.listeners or ())
    if found is None or _declared(found, stack):
        return ()
    port = found.port
    named = found.unit or (f"pid {found.pid}" if found.pid else f"user {found.user}")
    stop = f"sudo systemctl disable --now {found.unit or 'ollama'}" if found.unit or not found.pid else "stop it"
    return (
        _advice(
            "ollama-on-host",
            f"an Ollama runs on this host itself ({named}) and holds port {port}: its models take memory beside those"
            " of the stack",
            f"Declare it, and its slots are checked: ollama: {{main: {{url: http://127.0.0.1:{port}, log_from: journal"
            f"}}}}. Or do without it: {stop}.",
        ),
    )


def _ollama(listeners: tuple[Listener, ...]) -> Listener | None:
    """Its own port first: the servers that it starts for models are children with other ports."""
    own = [one for one in listeners if one.process == "ollama" or (one.process is None and one.user == "ollama")]
    return min(own, key=lambda one: (one.port != OLLAMA_PORT, one.port), default=None)


def _declared(found: Listener, stack: Stack | None) -> bool:
    servers = stack.ollama if stack is not None else ()
    return any(server.url is not None and server.url.rstrip("/").endswith(f":{found.port}") for server in servers)


def _advice(id: str, message: str, hint: str) -> Problem:
    return Problem(id=id, message=message, hint=hint, exit_code=ExitCode.OK)

"""Why weights cannot be locked in memory, by what host and engine allow."""

from __future__ import annotations

from homellm.domain.places import problem_at
from homellm.domain.stack import Model
from homellm.domain.world import UNLIMITED, EngineInfo, Host
from homellm.errors import ExitCode, Problem

#: What systemd and the kernel allow by default since 2021; every model is larger.
_DEFAULT_MEMLOCK_BYTES = 8 * 1024**2


def mlock_problem(model: Model, host: Host, engine: EngineInfo, weights_bytes: int | None = None) -> Problem | None:
    """Why the weights of `model` cannot be locked, or cannot be seen to be; None when nothing speaks against it.

    IPC_LOCK lifts the limit of locked memory only in the machine's own user namespace (Linux, can_do_mlock): with a
    rootless or remapped daemon and in unprivileged LXC the limit that containers inherit holds all the same.
    `weights_bytes` is what has to be locked, where it is known.
    """
    if not model.mlock:
        return None
    if not host.readable or host.contained or engine.desktop:
        return _unseen(model, host, engine)
    where = _user_namespace(host, engine)
    limit = host.memlock_bytes
    if not where or limit == UNLIMITED or (limit and weights_bytes is not None and weights_bytes <= limit):
        return None
    certain = limit is not None and (limit <= _DEFAULT_MEMLOCK_BYTES or (weights_bytes or 0) > limit)
    most = "an unknown amount of memory" if limit is None else f"at most {limit / 1024**2:.0f} MiB"
    return problem_at(
        model,
        "mlock",
        id="mlock-capped",
        message=f"mlock: {where}, where IPC_LOCK has no effect: a container may lock {most}",
        hint=f"{_raise_limit(host, engine)} Or set mlock: false.",
        exit_code=ExitCode.REFUSED if certain else ExitCode.OK,
    )


def _unseen(model: Model, host: Host, engine: EngineInfo) -> Problem:
    if engine.desktop:
        where = "Docker Desktop runs it in a virtual machine"
    elif host.contained:
        where = "homellm itself runs in a container"
    else:
        where = "the engine runs on another machine"
    return problem_at(
        model,
        "mlock",
        id="mlock-unseen",
        message=f"mlock: {where}, so the server's process cannot be seen and what it locks cannot be proved",
        hint="Set HOMELLM_HOST_ROOT to where the root of the engine's machine is mounted, or set mlock: false.",
        exit_code=ExitCode.OK,
    )


def _user_namespace(host: Host, engine: EngineInfo) -> str:
    if engine.rootless:
        return "Docker runs rootless"
    if engine.userns_remap:
        return "Docker runs with userns-remap"
    return "this is an unprivileged LXC container" if host.unprivileged else ""


def _raise_limit(host: Host, engine: EngineInfo) -> str:
    if engine.rootless:
        return (
            "Raise the limit: LimitMEMLOCK=infinity by sudo systemctl edit user@.service and by systemctl --user edit"
            " docker, then log in again."
        )
    if host.unprivileged:
        return "On the machine that runs LXC set lxc.prlimit.memlock: unlimited for this container and restart it."
    return "Raise the limit: LimitMEMLOCK=infinity by sudo systemctl edit containerd, then restart it and docker."

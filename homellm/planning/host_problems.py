"""What the host and the kind of engine stand in the way of, told before anything is created."""

from __future__ import annotations

from pathlib import PurePath

from homellm.domain.stack import Gpu, Model, Stack
from homellm.domain.world import UNLIMITED, EngineInfo, Host, Listener
from homellm.errors import ExitCode, Problem
from homellm.gpu import engine_limit, resolve
from homellm.planning.preflight import overlapping

#: Programs that hold ports on behalf of containers: which container it is, the engine itself tells better.
#: The kernel keeps fifteen characters of a name.
_ENGINES_OWN = ("docker-proxy", "dockerd", "rootlesskit", "rootlessport", "slirp4netns", "com.docker.back")

#: What the snap of Docker can see, besides folders of its own (its interfaces `home` and `removable-media`).
_SEEN_BY_SNAP = ("/home", "/media", "/mnt", "/run/media")

#: What systemd and the kernel allow by default since 2021; every model is larger.
_DEFAULT_MEMLOCK_BYTES = 8 * 1024**2


def host_problems(stack: Stack, host: Host, engine: EngineInfo) -> tuple[Problem, ...]:
    """Everything about host and engine that stands in the way of `stack`, model by model.

    A problem with exit code OK is advice: it may stand in the way, which cannot be told from here, and blocks
    nothing. All others would make the start fail. A port that an unknown process holds is left to the planner, which
    knows the ports of containers.
    """
    found: list[Problem | None] = []
    for model in stack.models:
        found += [
            _gpu(model, stack.gpu(model.gpu), host, engine),
            mlock_problem(model, host, engine),
            _port(model, host),
            _snap(model, engine),
            _selinux(model, host, engine),
        ]
    return tuple(problem for problem in found if problem is not None)


def _at(model: Model, key: str, problem: Problem) -> Problem:
    """The problem as one of `model`, at the place of `key`, or of the model's name, unless it has a place."""
    place = None if problem.file else model.places.get(key) or model.places.get("")
    return Problem(
        id=problem.id,
        message=problem.message,
        hint=problem.hint,
        model=model.name,
        file=place.file if place else problem.file,
        line=place.line if place else problem.line,
        column=place.column if place else problem.column,
        excerpt=place.pointed if place else problem.excerpt,
        exit_code=problem.exit_code,
    )


def _gpu(model: Model, gpu: Gpu | None, host: Host, engine: EngineInfo) -> Problem | None:
    if gpu is None:
        return None
    card = resolve(gpu, host)
    problem = card if isinstance(card, Problem) else engine_limit(gpu, card, host, engine)
    return None if problem is None else _at(model, "gpu", problem)


def mlock_problem(model: Model, host: Host, engine: EngineInfo, weights_bytes: int | None = None) -> Problem | None:
    """Why the weights of `model` cannot be locked, or cannot be seen to be; None when nothing speaks against it.

    IPC_LOCK lifts the limit of locked memory only in the machine's own user namespace (Linux, can_do_mlock): with a
    rootless or remapped daemon and in unprivileged LXC the limit that containers inherit holds all the same.
    `weights_bytes` is what has to be locked, where it is known.
    """
    if not model.mlock:
        return None
    if not host.readable or host.contained or engine.desktop:
        return _at(model, "mlock", _unseen(host, engine))
    where = _user_namespace(host, engine)
    limit = host.memlock_bytes
    if not where or limit == UNLIMITED or (limit and weights_bytes is not None and weights_bytes <= limit):
        return None
    certain = limit is not None and (limit <= _DEFAULT_MEMLOCK_BYTES or (weights_bytes or 0) > limit)
    most = "an unknown amount of memory" if limit is None else f"at most {limit / 1024**2:.0f} MiB"
    problem = Problem(
        id="mlock-capped",
        message=f"mlock: {where}, where IPC_LOCK has no effect: a container may lock {most}",
        hint=f"{_raise_limit(host, engine)} Or set mlock: false.",
        exit_code=ExitCode.REFUSED if certain else ExitCode.OK,
    )
    return _at(model, "mlock", problem)


def _unseen(host: Host, engine: EngineInfo) -> Problem:
    if engine.desktop:
        where = "Docker Desktop runs it in a virtual machine"
    elif host.contained:
        where = "homellm itself runs in a container"
    else:
        where = "the engine runs on another machine"
    return Problem(
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


def _port(model: Model, host: Host) -> Problem | None:
    for listener in host.listeners or ():
        if listener.port != model.port or not overlapping(model.bind, listener.address):
            continue
        if listener.process is not None and listener.process not in _ENGINES_OWN:
            return _at(model, "port", _held(model, listener))
    return None


def _held(model: Model, listener: Listener) -> Problem:
    who = f"{listener.process} (pid {listener.pid}{f', {listener.unit}' if listener.unit else ''})"
    stop = f"sudo systemctl disable --now {listener.unit}" if listener.unit else f"sudo kill {listener.pid}"
    return Problem(
        id="port-taken",
        message=f"port {model.port} on {listener.address} is held by {who}",
        hint=f"Stop it ({stop}), or give {model.name} another port.",
    )


def _snap(model: Model, engine: EngineInfo) -> Problem | None:
    path = model.source.path
    if not engine.snap or path is None or any(path.is_relative_to(PurePath(seen)) for seen in _SEEN_BY_SNAP):
        return None
    problem = Problem(
        id="snap-docker",
        message=f"Docker is installed as a snap, which sees {', '.join(_SEEN_BY_SNAP)} and no {path.parent}",
        hint="Move the model below /home, or install Docker from its own package repository.",
        exit_code=ExitCode.OK,
    )
    return _at(model, "source", problem)


def _selinux(model: Model, host: Host, engine: EngineInfo) -> Problem | None:
    path = model.source.path
    if not host.selinux or not engine.selinux or path is None:
        return None
    problem = Problem(
        id="selinux-label",
        message=f"SELinux keeps containers from files without its label, and {path.parent} may have none",
        hint=f"If the server cannot read the model: sudo chcon -Rt container_file_t {path.parent}.",
        exit_code=ExitCode.OK,
    )
    return _at(model, "source", problem)

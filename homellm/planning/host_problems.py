"""What the host and the kind of engine stand in the way of, told before anything is created."""

from __future__ import annotations

from dataclasses import replace
from pathlib import PurePath

from homellm.domain.places import problem_at
from homellm.domain.stack import Declared, Gpu, Model, Stack
from homellm.domain.world import EngineInfo, Host
from homellm.errors import ExitCode, Problem
from homellm.gpu import engine_limit, resolve
from homellm.planning.mlock import mlock_problem
from homellm.planning.ports import port_problem

#: What the snap of Docker can see, besides folders of its own (its interfaces `home` and `removable-media`).
_SEEN_BY_SNAP = ("/home", "/media", "/mnt", "/run/media")


def host_problems(stack: Stack, host: Host, engine: EngineInfo | None) -> tuple[Problem, ...]:
    """Everything about host and engine that stands in the way of `stack`, model by model; of the host alone for None.

    A problem with exit code OK is advice: it may stand in the way, which cannot be told from here, and blocks
    nothing. All others would make the start fail. Ports that containers hold are left to the planner, which knows them.
    """
    found: list[Problem | None] = []
    for model in stack.models:
        found += [_gpu(model, stack.gpu(model.gpu), host, engine), port_problem(model, (), None, host)]
        if engine is not None:
            found += [mlock_problem(model, host, engine), *file_advice(model, host, engine)]
    for server in (one for one in stack.ollama if one.ours and (one.declared or stack.models_on(one))):
        found += [_gpu(server, stack.gpu(server.gpu), host, engine), port_problem(server, (), None, host)]
    return tuple(dict.fromkeys(problem for problem in found if problem is not None))


def file_advice(model: Model, host: Host, engine: EngineInfo) -> tuple[Problem, ...]:
    """What may keep a container from the model's file though it is there: a snap's confinement, SELinux' labels."""
    found = (_snap(model, engine), _selinux(model, host, engine))
    return tuple(problem for problem in found if problem is not None)


def _gpu(declared: Declared, gpu: Gpu | None, host: Host, engine: EngineInfo | None) -> Problem | None:
    if gpu is None:
        return None
    card = resolve(gpu, host)
    if isinstance(card, Problem):
        problem: Problem | None = card
    else:
        problem = engine_limit(gpu, card, host, engine) if engine is not None else None
    return None if problem is None else replace(problem, model=declared.name if isinstance(declared, Model) else None)


def _snap(model: Model, engine: EngineInfo) -> Problem | None:
    path = model.source.path
    if not engine.snap or path is None or any(path.is_relative_to(PurePath(seen)) for seen in _SEEN_BY_SNAP):
        return None
    return problem_at(
        model,
        "source",
        id="snap-docker",
        message=f"Docker is installed as a snap, which sees {', '.join(_SEEN_BY_SNAP)} and no {path.parent}",
        hint="Move the model below /home, or install Docker from its own package repository.",
        exit_code=ExitCode.OK,
    )


def _selinux(model: Model, host: Host, engine: EngineInfo) -> Problem | None:
    path = model.source.path
    if not host.selinux or not engine.selinux or path is None:
        return None
    return problem_at(
        model,
        "source",
        id="selinux-label",
        message=f"SELinux keeps containers from files without its label, and {path.parent} may have none",
        hint=f"If the server cannot read the model: sudo chcon -Rt container_file_t {path.parent}.",
        exit_code=ExitCode.OK,
    )

"""The machine that the engine runs on, as far as it can be seen without asking the engine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from homellm.errors import StackFileError

if TYPE_CHECKING:
    from homellm.adapters.host.linux import LinuxHost

#: A device named by a number, where Mesa wants `vendor:device`: those of this machine are then worth seeing.
_BY_INDEX = "mesa-index"


def this_machine(environ: Mapping[str, str]) -> LinuxHost:
    """The port to it; nothing of it is known when the engine is another machine's and no root of it is named."""
    from homellm.adapters.docker_address import resolve
    from homellm.adapters.host.linux import LinuxHost
    from homellm.errors import EngineUnreachable

    root = environ.get("HOMELLM_HOST_ROOT", "")
    try:
        local = resolve(environ, Path(environ.get("HOME") or "/nonexistent")).socket is not None
    except EngineUnreachable:
        local = True
    return LinuxHost(Path(root or "/"), local=bool(root) or local)


def with_gpus(error: StackFileError, environ: Mapping[str, str]) -> StackFileError:
    """The same error; where a GPU is chosen by an index, its hint lists the GPUs of this machine as vendor:device."""
    if not any(problem.id == _BY_INDEX for problem in error.problems):
        return error
    from homellm.gpu import listing

    host = this_machine(environ).snapshot()
    if not host.readable:
        return error
    seen = listing(host.gpus)
    problems = tuple(
        replace(problem, hint=f"{problem.hint} {seen}") if problem.id == _BY_INDEX else problem
        for problem in error.problems
    )
    return StackFileError(str(error), problems=problems)

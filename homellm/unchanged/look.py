"""One look at everything that a witness rests on: what is asked is its subject, what is seen are its facts.

The same look is taken when a witness is kept and when it is held against what is now; the facts have to be equal.
"""

from __future__ import annotations

from homellm.unchanged import call, engine, files, machine, servers
from homellm.unchanged.wire import ask

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

#: All answers together take 10 to 40 ms; more is a reason to let the ordinary way wait, which gives more time.
WAIT_S = 2.0


def near(subject: dict[str, Any], environ: Mapping[str, str]) -> dict[str, Any]:
    """Facts that cost nobody anything: the program, the stack file and its variables, other files, the machine."""
    return {
        "code": files.code_facts(),
        "file": stack_facts(subject["file"]),
        "variables": call.variables(subject["variables"], environ),
        "files": files.of_files(subject["files"]),
        "machine": machine.machine_facts(gpus=subject["gpus"]),
    }


def stack_facts(file: str) -> list[Any]:
    """A stack file: it is small enough to be read."""
    return [files.file_facts(file), files.content(file)]


def far(subject: dict[str, Any]) -> tuple[dict[str, Any], engine.Seen]:
    """What engine, servers and their processes say now. Raises wire.NoAnswer, OSError, ValueError, KeyError.

    All are asked at once, but for a server whose key only the engine tells.
    """
    served = subject["served"]
    plain, keyed = ([one for one in served if one["keyed"] is wanted] for wanted in (False, True))
    asked = engine.requests(subject)
    replies = ask(asked + servers.requests(plain, {}), WAIT_S)
    seen = engine.read(subject, replies[: len(asked)])
    live = servers.read(plain, replies[len(asked) :])
    if keyed:
        live |= servers.read(keyed, ask(servers.requests(keyed, seen.inspected), WAIT_S))
    return {"engine": seen.facts, "servers": live, "processes": servers.processes(served, seen.inspected)}, seen

"""Servers that others are to reach and that ask for no key: worth knowing before they run (`check` has them later)."""

from __future__ import annotations

from homellm.domain.addresses import is_every, is_loopback, plain
from homellm.domain.places import problem_at
from homellm.domain.stack import Declared, Model, Stack
from homellm.errors import ExitCode, Problem


def exposure_advice(stack: Stack, bridges: frozenset[str]) -> tuple[Problem, ...]:
    """What the file itself leaves open: it stops nothing, and the check `exposure` will fail.

    `bridges` are addresses that only this machine's containers reach.
    """
    found: list[Declared] = [one for one in stack.models if one.runner == "llama-server" and one.api_key is None]
    found += [one for one in stack.ollama if one.ours and (one.declared or stack.models_on(one))]
    return tuple(
        _advice(one)
        for one in found
        if one.port is not None and not is_loopback(one.bind) and plain(one.bind) not in bridges
    )


def _advice(declared: Declared) -> Problem:
    where = "this machine" if is_every(declared.bind) else declared.bind
    if isinstance(declared, Model):
        what, lacks, can = "", "it asks for no key", "use it"
        way = "Set api_key, or bind: 127.0.0.1"
    else:
        what, lacks, can = f"Ollama {declared.name} is ", "it knows no key", "use and delete its models"
        way = "Set bind: 127.0.0.1, and let a proxy that asks for a key stand before it"
    return problem_at(
        declared,
        "bind",
        id="exposure",
        message=f"{what}published on {declared.bind}, and {lacks}: everybody who reaches {where} can {can}",
        hint=f"{way}; other containers reach it through the stack's network. Until then up and check end with 5.",
        exit_code=ExitCode.OK,
    )

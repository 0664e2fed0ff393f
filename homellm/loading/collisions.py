"""What two models of one stack cannot both have: a port, a container's name, a name in the network."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Sequence
from itertools import combinations

from homellm.domain.names import FAILED, NEXT, PREVIOUS, is_wildcard, legal
from homellm.loading.findings import Findings
from homellm.loading.merge import MergedModel
from homellm.loading.nodes import Mark
from homellm.loading.paths import shorten

_DEFAULT_BIND = "127.0.0.1"
#: What homellm makes of a container's name for its successor, its failure and its predecessors.
_RESERVED = re.compile(rf"(?:{re.escape(NEXT)}|{re.escape(FAILED)}|{re.escape(PREVIOUS)}[0-9]+)")


def check_collisions(models: Sequence[MergedModel], stack: str, findings: Findings) -> None:
    """Note every pair of models that wants the same port, container name or network alias, with both lines."""
    for first, second in combinations(models, 2):
        _check_ports(first, second, findings)
        _check_names(first, second, stack, findings)


def _check_ports(first: MergedModel, second: MergedModel, findings: Findings) -> None:
    port = first.values.get("port")
    binds = [model.values.get("bind", _DEFAULT_BIND) for model in (first, second)]
    if port is None or port != second.values.get("port") or not overlap(binds[0], binds[1]):
        return
    lines = _lines(first, second, lambda model: model.mark("port").line)
    message = f"models {lines} both publish port {port} on {_addresses(binds)}"
    findings.add("port-twice", second.mark("port"), message, "Give one of them another port.", second.name)


def overlap(one: str, other: str) -> bool:
    """Whether two bind addresses cannot publish the same port: equal, or one of them every address of the family."""
    families = {ipaddress.ip_address(address).version for address in (one, other)}
    return len(families) == 1 and (one == other or is_wildcard(one) or is_wildcard(other))


def _addresses(binds: list[str]) -> str:
    return binds[0] if binds[0] == binds[1] else f"{binds[0]} and {binds[1]}, which overlap"


def _check_names(first: MergedModel, second: MergedModel, stack: str, findings: Findings) -> None:
    names = [model.values.get("container_name") or legal(f"{stack}-{model.name}") for model in (first, second)]
    lines = _lines(first, second, lambda model: _name_mark(model).line)
    mark = _name_mark(second)
    aliases = [legal(model.name).lower() for model in (first, second)]
    if names[0] == names[1]:
        message = f"models {lines} would both be the container `{shorten(names[0])}`"
        hint = "Rename one of them, or give it a `container_name`."
        findings.add("container-name-twice", mark, message, hint, second.name)
    elif _RESERVED.fullmatch(names[1].removeprefix(names[0])) or _RESERVED.fullmatch(names[0].removeprefix(names[1])):
        longer, shorter = sorted(names, key=len, reverse=True)
        message = (
            f"models {lines}: `{shorten(longer)}` is the name that homellm keeps for a twin of `{shorten(shorter)}`"
        )
        hint = "Rename one of them, or give it a `container_name`."
        findings.add("container-name-twice", mark, message, hint, second.name)
    elif aliases[0] == aliases[1]:
        message = f"models {lines} would both be `{shorten(aliases[0])}` in the stack's network"
        findings.add("network-alias-twice", second.mark(), message, "Rename one of them.", second.name)


def _name_mark(model: MergedModel) -> Mark:
    return model.mark("container_name") if "container_name" in model.values else model.mark()


def _lines(first: MergedModel, second: MergedModel, line: Callable[[MergedModel], int]) -> str:
    told = [f"`{shorten(model.name)}` (line {line(model)})" for model in (first, second)]
    return " and ".join(told)

"""What two models or Ollama servers of one stack cannot both have: a port, a container's name, a network name."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import combinations

from homellm.domain.addresses import overlapping
from homellm.domain.names import FAILED, NEXT, PREVIOUS, legal
from homellm.loading.findings import Findings
from homellm.loading.merge import MergedModel
from homellm.loading.nodes import Mark
from homellm.loading.paths import shorten

_DEFAULT_BIND = "127.0.0.1"
_KINDS = {"models": "model", "ollama": "Ollama server"}
#: What homellm makes of a container's name for its successor, its failure and its predecessors.
_RESERVED = re.compile(rf"(?:{re.escape(NEXT)}|{re.escape(FAILED)}|{re.escape(PREVIOUS)}[0-9]+)")


def check_collisions(models: Sequence[MergedModel], stack: str, findings: Findings) -> None:
    """Note every pair that wants the same port, container name or network alias, with both lines."""
    names = {id(model): _container_name(model, stack) for model in models}
    for first, second in combinations(sorted(models, key=lambda model: model.mark()), 2):
        _check_ports(first, second, findings)
        _check_names((first, names[id(first)]), (second, names[id(second)]), findings)


def _container_name(model: MergedModel, stack: str) -> str:
    return model.values.get("container_name") or legal(f"{stack}-{model.name}")


def _check_ports(first: MergedModel, second: MergedModel, findings: Findings) -> None:
    port = first.values.get("port")
    if port is None or port != second.values.get("port"):
        return
    binds = [model.values.get("bind", _DEFAULT_BIND) for model in (first, second)]
    if overlapping(binds[0], binds[1]):
        told = _told(first, first.mark("port"), second, second.mark("port"))
        message = f"{told} both publish port {port} on {_addresses(binds)}"
        findings.add("port-twice", second.mark("port"), message, "Give one of them another port.", second.model)


def _addresses(binds: list[str]) -> str:
    return binds[0] if binds[0] == binds[1] else f"{binds[0]} and {binds[1]}, which overlap"


def _check_names(first: tuple[MergedModel, str], second: tuple[MergedModel, str], findings: Findings) -> None:
    (one, one_name), (other, other_name) = first, second
    if one_name == other_name:
        problem, end = "container-name-twice", f"would both be the container `{shorten(one_name)}`"
    elif _is_twin(one_name, other_name) or _is_twin(other_name, one_name):
        longer, shorter = sorted((one_name, other_name), key=len, reverse=True)
        problem = "container-name-twice"
        end = f"collide: `{shorten(longer)}` is the name that homellm keeps for a twin of `{shorten(shorter)}`"
    elif (alias := legal(one.name).lower()) == legal(other.name).lower():
        problem, end = "network-alias-twice", f"would both be `{shorten(alias)}` in the stack's network"
    else:
        return
    of_model = problem == "network-alias-twice"
    marks = [model.mark() if of_model else _name_mark(model) for model in (one, other)]
    hint = "Rename one of them." if of_model else "Rename one of them, or give it a `container_name`."
    findings.add(problem, marks[1], f"{_told(one, marks[0], other, marks[1])} {end}", hint, other.model)


def _is_twin(name: str, of: str) -> bool:
    return name.startswith(of) and _RESERVED.fullmatch(name, len(of)) is not None


def _name_mark(model: MergedModel) -> Mark:
    return model.mark("container_name") if "container_name" in model.values else model.mark()


def _told(first: MergedModel, first_mark: Mark, second: MergedModel, second_mark: Mark) -> str:
    words = [f"`{shorten(one.name)}` (line {mark.line})" for one, mark in ((first, first_mark), (second, second_mark))]
    if first.section == second.section:
        return f"{_KINDS[first.section]}s {words[0]} and {words[1]}"
    return f"{_KINDS[first.section]} {words[0]} and {_KINDS[second.section]} {words[1]}"

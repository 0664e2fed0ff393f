"""The engine's errors in plain words: what happened, why, what to type next. Pure: a text in, an error out.

What the table in docker_error_rules does not know keeps the engine's own words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from homellm.adapters.docker_error_rules import PORT_TAKEN, RULES
from homellm.domain.addresses import overlapping
from homellm.errors import EngineRefused

_UNKNOWN_HINT = "These are the engine's own words; its log may say more: journalctl -u docker"
_SHORT_ID = 12


def translate(text: str, *, doing: str, holder: str | None = None) -> EngineRefused:
    """An error of the engine in plain words. The original stays in `.original`.

    `text` is what the engine said, `doing` what was asked of it (`start nuc-lfm`), `holder` names the container that
    holds a port where the caller knows it.
    """
    for rule in RULES:
        found = rule.find(text)
        if found:
            groups = _groups(found)
            message = rule.message.format_map(groups)
            if rule.id == PORT_TAKEN and holder:
                message = f"Port {groups['port']} of {groups['ip']} is taken by the container {holder}."
            return rule.kind(message, hint=rule.hint.format_map(groups), id=rule.id, original=text)
    words = text.strip() or "nothing at all"
    return EngineRefused(f"The engine refuses to {doing}: {words}", hint=_UNKNOWN_HINT, original=text)


def taken_port(text: str) -> tuple[str, int] | None:
    """The address and port that an error text of the engine says are taken, None when it says no such thing."""
    for rule in RULES:
        if rule.id == PORT_TAKEN and (found := rule.find(text)):
            groups = _groups(found)
            return groups["ip"], int(groups["port"])
    return None


def holder_of(taken: tuple[str, int], published: Iterable[tuple[str, int, str]]) -> str | None:
    """The container that holds an address and port, out of (address, port, container) of those that run."""
    return next((name for ip, port, name in published if port == taken[1] and overlapping(ip, taken[0])), None)


class _Groups(dict[str, str]):
    """Named groups for a format string; one that did not take part is empty."""

    def __missing__(self, key: str) -> str:
        return ""


def _groups(found: re.Match[str]) -> Mapping[str, str]:
    groups = _Groups()
    for name, value in found.groupdict().items():
        # `port2` is `port` in the wording of another version.
        if value:
            groups[name.rstrip("2")] = value.strip("[]") if name.startswith("ip") else value
    if len(groups.get("holder", "")) > _SHORT_ID:
        groups["holder"] = groups["holder"][:_SHORT_ID]
    return groups

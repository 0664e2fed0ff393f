"""The servers and their processes, as live as the ordinary way asks them when there is nothing to do."""

from __future__ import annotations

import json
import re

from homellm.unchanged.digest import digest
from homellm.unchanged.wire import NoAnswer, Reply, Request

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_OK = 200
#: What the server's container has its key from (runners.container), and what a header can carry.
_KEY = "LLAMA_API_KEY="
_VALUE = re.compile(r"[\x21-\x7e]+")
#: What verdicts rest on (domain.evidence.Props).
_PROPS = ("total_slots", "model_alias", "model_path", "build_info", "is_sleeping", "chat_template_caps", "modalities")
_OF_PROCESS = re.compile(r"^(?:Cpus_allowed_list|VmLck|Groups):.*$", re.MULTILINE)


def requests(served: list[dict[str, Any]], inspected: dict[str, dict[str, Any]]) -> list[Request]:
    """/health and /props of each server at the place where the ordinary way found it.

    A key is read from the container's own variables, and kept nowhere. Raises NoAnswer for one that cannot be sent.
    """
    asked: list[Request] = []
    for one in served:
        address = (one["host"], one["port"])
        key = _key(inspected[one["id"]]) if one["keyed"] else ()
        asked += [Request(address, "/health"), Request(address, "/props", headers=key)]
    return asked


def read(served: list[dict[str, Any]], replies: list[Reply]) -> dict[str, Any]:
    """What was answered to them, by container id. Raises NoAnswer where one gives no /props."""
    found: dict[str, Any] = {}
    for one, health, props in zip(served, replies[::2], replies[1::2], strict=True):
        if props.status != _OK:
            raise NoAnswer(f"HTTP {props.status}")
        found[one["id"]] = {"health": health.status, "props": _props(json.loads(props.body))}
    return found


def _key(inspected: dict[str, Any]) -> tuple[str, ...]:
    given = [text[len(_KEY) :] for text in inspected["Config"]["Env"] or () if text.startswith(_KEY)]
    if not given or not given[-1]:
        return ()
    if not _VALUE.fullmatch(given[-1]):
        raise NoAnswer("a key that no header can carry")
    return (f"Authorization: Bearer {given[-1]}",)


def _props(doc: dict[str, Any]) -> dict[str, Any]:
    kept = {name: doc.get(name) for name in _PROPS}
    return {**kept, "n_ctx": (doc.get("default_generation_settings") or {}).get("n_ctx")}


def processes(
    served: list[dict[str, Any]], inspected: dict[str, dict[str, Any]], proc: str = "/proc"
) -> dict[str, Any]:
    """CPUs, locked memory and groups of each server's own process, for those that the ordinary way could read.

    The cgroup tells whose process it is, and is read last: a number that changed hands meanwhile is then told.
    Raises OSError for one that is gone.
    """
    found: dict[str, Any] = {}
    for one in served:
        if not one["process"]:
            continue
        folder = f"{proc}/{inspected[one['id']]['State']['Pid']}"
        status = _OF_PROCESS.findall(_text(f"{folder}/status"))
        found[one["id"]] = {"status": status, "cgroup": digest(_text(f"{folder}/cgroup"))}
    return found


def _text(path: str) -> str:
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()

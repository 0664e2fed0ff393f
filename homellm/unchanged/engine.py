"""The engine: what it tells of itself, of the stack's containers and of their images, in one round of questions.

A list alone would not do: it tells neither when a container was started, nor its restart policy, nor what `docker
update` changed. An inspect costs the engine a fifth of a millisecond, and all are asked for at once.
"""

from __future__ import annotations

import base64
import json
import time

from homellm.unchanged.digest import digest
from homellm.unchanged.wire import NoAnswer, Reply, Request

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

#: Where a verification is kept inside a container (deploy.record), and the header in which the engine tells of a file.
_RECORD = "%2F.homellm.json"
_STAT = "x-docker-container-path-stat"
_LABEL_STACK, _LABEL_UNIT, _LABEL_ROLE, _PROBE = "homellm.stack", "homellm.unit", "homellm.role", "probe"

_OF_ENGINE = (
    *("ID", "ServerVersion", "DockerRootDir", "NCPU", "MemTotal", "LoggingDriver", "OperatingSystem"),
    *("SecurityOptions", "Runtimes", "CDISpecDirs"),
)
_OF_CONTAINER = ("Id", "Created", "Name", "Path", "Args", "Image", "RestartCount", "Config", "HostConfig")
_OF_STATE = (
    *("Status", "Running", "Paused", "Restarting", "OOMKilled", "Dead"),
    *("Pid", "ExitCode", "Error", "StartedAt", "FinishedAt"),
)
_OK, _NOT_FOUND = 200, 404
#: What `up` sweeps up is older (deploy.probes): a younger one may be another homellm's question to an image.
_LEFT_AFTER_S = 60.0


class Seen:
    """`facts` are what must not change; the rest is what the engine said, by container id, for those who ask on."""

    __slots__ = ("facts", "info", "inspected", "records")

    def __init__(
        self,
        facts: dict[str, Any],
        info: dict[str, Any],
        inspected: dict[str, dict[str, Any]],
        records: dict[str, dict[str, Any]],
    ) -> None:
        self.facts = facts
        self.info = info
        self.inspected = inspected
        self.records = records


def requests(subject: dict[str, Any]) -> list[Request]:
    """Questions to the engine about itself, the containers of a stack and their records, and images by their names."""
    socket, ids = subject["socket"], _ids(subject)
    asked = [Request(socket, "/info"), Request(socket, "/containers/json?all=1")]
    asked += [Request(socket, f"/containers/{ref}/json") for ref in ids]
    asked += [Request(socket, f"/containers/{ref}/archive?path={_RECORD}", method="HEAD") for ref in ids]
    return asked + [Request(socket, f"/images/{image}/json") for image in subject["images"]]


def read(subject: dict[str, Any], replies: list[Reply]) -> Seen:
    """What was answered to them. Raises NoAnswer where anything of it is missing."""
    ids = _ids(subject)
    about, listed, *others = replies
    info, count = _json(about, dict), len(ids)
    inspected = dict(zip(ids, (_json(reply, dict) for reply in others[:count]), strict=True))
    records = dict(zip(ids, map(_stat, others[count : 2 * count]), strict=True))
    here = [_json(reply, dict)["Id"] for reply in others[2 * count :]]
    facts = {
        "engine": _of_engine(info),
        "containers": {ref: digest(_of_container(doc)) for ref, doc in inspected.items()},
        "records": records,
        "images": dict(zip(subject["images"], here, strict=True)),
        **_beside(_json(listed, list), subject["stack"], inspected),
    }
    return Seen(facts, info, inspected, records)


def _ids(subject: dict[str, Any]) -> list[str]:
    return [one["id"] for one in subject["served"]]


def _json(reply: Reply, kind: type) -> Any:
    if reply.status != _OK:
        raise NoAnswer(f"HTTP {reply.status}")
    found = json.loads(reply.body)
    if not isinstance(found, kind):
        raise NoAnswer("another kind of answer")
    return found


def _stat(reply: Reply) -> dict[str, Any]:
    """Size, mode and time of the record; empty where there is none."""
    if reply.status == _NOT_FOUND:
        return {}
    if reply.status != _OK:
        raise NoAnswer(f"HTTP {reply.status}")
    found: dict[str, Any] = json.loads(base64.b64decode(reply.headers[_STAT]))
    return {name: found[name] for name in ("size", "mode", "mtime")}


def _of_engine(info: dict[str, Any]) -> str:
    kept = {name: info.get(name) for name in _OF_ENGINE}
    return digest({**kept, "Runtimes": sorted(kept["Runtimes"] or ())})


def _of_container(doc: dict[str, Any]) -> dict[str, Any]:
    """All of an inspect that is not a matter of time; what the engine tells in no order is put into one."""
    settings = doc["NetworkSettings"]
    ports = {port: sorted(map(digest, bound or ())) for port, bound in (settings["Ports"] or {}).items()}
    return {
        **{name: doc[name] for name in _OF_CONTAINER},
        "State": {name: doc["State"].get(name) for name in _OF_STATE},
        "Mounts": sorted(map(digest, doc["Mounts"] or ())),
        "Ports": ports,
        "Networks": settings["Networks"],
    }


def _beside(listed: list[dict[str, Any]], stack: str, inspected: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """What else there is: all containers of the stack, who else publishes a port of it, what `up` would sweep up."""
    ports = {port for doc in inspected.values() for port in _published(doc)}
    found: dict[str, Any] = {"stack": [], "others": [], "probes": []}
    for entry in listed:
        labels, names = entry.get("Labels") or {}, sorted(entry.get("Names") or ())
        if labels.get(_LABEL_ROLE) == _PROBE:
            found["probes"] += [names] if _is_left(entry) else []
        elif labels.get(_LABEL_STACK) == stack:
            unit = labels.get(_LABEL_UNIT, "")
            found["stack"].append([entry["Id"], names, unit, entry["State"], entry["ImageID"], digest(labels)])
        if entry["Id"] not in inspected:
            held = (port.get("PublicPort") for port in entry.get("Ports") or () if port.get("Type") == "tcp")
            found["others"] += [[names, port] for port in sorted({port for port in held if port in ports})]
    return {name: sorted(entries) for name, entries in found.items()}


def _is_left(probe: dict[str, Any]) -> bool:
    """Whether a throwaway container was left behind by a run that was killed (deploy.probes)."""
    age_s: float = time.time() - probe["Created"]
    return age_s > _LEFT_AFTER_S and probe["State"] != "running"


def _published(doc: dict[str, Any]) -> list[int]:
    bindings = (doc["NetworkSettings"]["Ports"] or {}).values()
    return [int(binding["HostPort"]) for bound in bindings for binding in bound or () if binding["HostPort"]]

"""What the fake engine refuses, in the real one's own words (Docker Engine 20.10), which the adapter translates."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NoReturn

from homellm.adapters.docker_errors import translate
from tests.fakes.container import FakeContainer

MIB = 2**20
_NAME = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9_.-]+")
_WILDCARDS = ("", "0.0.0.0")
_FILE_OPTIONS = frozenset({"max-size", "max-file", "compress", "labels", "env", "tag", "mode"})


def refuse(text: str, doing: str, *, holder: str | None = None) -> NoReturn:
    """Raise what the adapter makes of the engine's text."""
    raise translate(text, doing=doing, holder=holder)


def no_container(ref: str) -> NoReturn:
    """There is none of that id or name."""
    refuse(f"No such container: {ref}", f"find {ref}")


def not_removed(container_id: str) -> str:
    """What the engine says when something was still written into the folder of a container that it removes."""
    folder = f"/var/lib/docker/containers/{container_id}"
    return f"unable to remove filesystem for {container_id}: unlinkat {folder}: directory not empty"


def name_conflict(name: str, holder: str, *, renaming: bool = False) -> NoReturn:
    """Another container has the name."""
    prefix = "Error when allocating new name: " if renaming else ""
    refuse(
        f'{prefix}Conflict. The container name "/{name}" is already in use by container "{holder}". '
        "You have to remove (or rename) that container to be able to reuse that name.",
        f"create {name}",
    )


def check_name(name: str) -> None:
    """Refuse what is no name."""
    if not _NAME.fullmatch(name):
        refuse(f"Invalid container name ({name}), only [a-zA-Z0-9][a-zA-Z0-9_.-] are allowed", f"name {name}")


def check_body(
    body: Mapping[str, Any], *, cpus: int, runtimes: Iterable[str], path_exists: Callable[[str], bool]
) -> None:
    """Refuse what the real engine refuses when a container is made."""
    host = body.get("HostConfig") or {}
    _check_cpuset(host.get("CpusetCpus") or "", cpus)
    if 0 < (host.get("Memory") or 0) < 6 * MIB:
        refuse("Minimum memory limit allowed is 6MB", "create a container")
    _check_log(host.get("LogConfig") or {})
    for mount in host.get("Mounts") or ():
        if mount["Type"] == "bind" and not path_exists(mount["Source"]):
            refuse(
                f'invalid mount config for type "bind": bind source path does not exist: {mount["Source"]}',
                "create a container",
            )
    runtime = host.get("Runtime")
    if runtime and runtime not in runtimes:
        refuse(f"Unknown runtime specified {runtime}", "create a container")
    endpoints = list((body.get("NetworkingConfig") or {}).get("EndpointsConfig") or {})
    if len(endpoints) > 1:
        refuse(f"Container cannot be connected to network endpoints: {', '.join(endpoints)}", "create a container")


def check_start(container: FakeContainer, *, devices: Iterable[str], nvidia: bool) -> None:
    """Refuse what the real engine refuses when a container is started."""
    host, doing = container.host_config, f"start {container.name}"
    for device in host.get("Devices") or ():
        if device["PathOnHost"] not in devices:
            refuse(
                "error gathering device information while adding custom device "
                f'"{device["PathOnHost"]}": no such file or directory',
                doing,
            )
    for group in host.get("GroupAdd") or ():
        if not str(group).isdecimal():
            refuse(f"Unable to find group {group}: no matching entries in group file", doing)
    for request in host.get("DeviceRequests") or ():
        driver = request.get("Driver") or ""
        if driver == "cdi" or not nvidia:
            refuse(f'could not select device driver "{driver}" with capabilities: [[gpu]]', doing)
    if container.behaviour.start_error:
        refuse(container.behaviour.start_error, doing)


def check_port(
    container: FakeContainer,
    ip: str,
    port: int,
    *,
    published: Iterable[tuple[str, int, str]],
    listeners: Iterable[tuple[str, int]],
) -> None:
    """Refuse a port that a container or a program of the host holds."""
    prefix = f"driver failed programming external connectivity on endpoint {container.name} ({'0' * 64}): "
    doing, shown = f"start {container.name}", ip or "0.0.0.0"
    for held_ip, held_port, holder in published:
        if held_port == port and held_ip == shown:
            refuse(f"{prefix}Bind for {shown}:{port} failed: port is already allocated", doing, holder=holder)
        if held_port == port and _overlap(held_ip, shown):
            _in_use(prefix, shown, port, doing, holder)
    for held_ip, held_port in listeners:
        if held_port == port and (held_ip == shown or _overlap(held_ip, shown)):
            _in_use(prefix, shown, port, doing, None)


def _in_use(prefix: str, ip: str, port: int, doing: str, holder: str | None) -> NoReturn:
    family, shown = ("6", f"[{ip}]") if ":" in ip else ("4", ip)
    refuse(
        f"{prefix}Error starting userland proxy: listen tcp{family} {shown}:{port}: bind: address already in use",
        doing,
        holder=holder,
    )


def _overlap(one: str, other: str) -> bool:
    if (":" in one) != (":" in other):
        return False
    return one != other and any(ip in (*_WILDCARDS, "::") for ip in (one, other))


def _check_cpuset(asked: str, cpus: int) -> None:
    for part in filter(None, asked.split(",")):
        first, _, last = part.partition("-")
        if not first.isdecimal() or not (last or first).isdecimal():
            refuse(f"Invalid value {asked} for cpuset cpus: invalid format: {part}", "create a container")
        if int(last or first) >= cpus:
            there = f"0-{cpus - 1}" if cpus > 1 else "0"
            refuse(
                f"Requested CPUs are not available - requested {asked}, available: {there}",
                "create a container",
            )


def _check_log(log: Mapping[str, Any]) -> None:
    driver = log.get("Type") or "json-file"
    if driver not in ("json-file", "local", "journald", "none"):
        refuse(f'error looking up logging plugin {driver}: plugin "{driver}" not found', "create a container")
    known = _FILE_OPTIONS if driver in ("json-file", "local") else frozenset({"labels", "env", "tag"})
    for option in log.get("Config") or {}:
        if driver != "none" and option not in known:
            refuse(f"unknown log opt '{option}' for {driver} log driver", "create a container")

"""Whether two containers are equal as the engine's own inspect shows them.

Compared in full are the image, path, args, Config, HostConfig, Mounts and NetworkSettings. Left out is what belongs
to the one container and not to its making: its host name, attached streams, labels of Compose and of homellm,
addresses and ids of networks, and aliases that the engine or Compose give by themselves. Alike are null, [] and {},
`CAP_X` and X, the networks `default` and `bridge`, and every order of Env and of what the engine keeps as a set.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

Json = Mapping[str, object]

_SECTIONS = ("Image", "Path", "Args", "Config", "HostConfig", "Mounts", "NetworkSettings")
_OWN_TO_ONE = {
    "Config": frozenset({"Hostname", "AttachStdin", "AttachStdout", "AttachStderr"}),
    # `docker run` tells the engine the size of the terminal that it was typed in.
    "HostConfig": frozenset({"ConsoleSize", "ContainerIDFile"}),
    "NetworkSettings": frozenset({"SandboxID", "SandboxKey", "EndpointID", "IPAddress", "GlobalIPv6Address"})
    | frozenset({"Gateway", "IPv6Gateway", "MacAddress", "IPPrefixLen", "GlobalIPv6PrefixLen"}),
}
#: What the engine gives a container on each network, once it runs.
_OF_AN_ENDPOINT = _OWN_TO_ONE["NetworkSettings"] | {"NetworkID", "DNSNames", "Aliases"}
_LABELS_OF_TOOLS = ("com.docker.compose.", "homellm.")
_SERVICE_LABEL = "com.docker.compose.service"
_SHORT_ID = 12
#: Lists whose order means nothing.
_SETS = frozenset({"HostConfig.CapAdd", "HostConfig.GroupAdd", "Config.Env", "Mounts"})


@dataclass(frozen=True, slots=True)
class Difference:
    """One place at which two containers differ; a value of None is absent or empty."""

    path: str
    one: object
    other: object

    def __str__(self) -> str:
        return f"{self.path}: {json.dumps(self.one)} is not {json.dumps(self.other)}"


def differences(one: Json, other: Json) -> list[Difference]:
    """Every place at which two inspects differ; none when the containers are equal."""
    return [
        difference
        for section in _SECTIONS
        for difference in _compare(section, _section(one, section), _section(other, section))
    ]


def _section(inspected: Json, section: str) -> object:
    value = inspected.get(section)
    if section == "Config":
        return _config(_mapping(value))
    if section == "HostConfig":
        return _host_config(_mapping(value))
    if section == "NetworkSettings":
        return _network_settings(_mapping(value), inspected)
    return value


def _config(config: Json) -> Json:
    kept = _without(config, _OWN_TO_ONE["Config"])
    labels = _mapping(kept.get("Labels"))
    return {**kept, "Labels": {k: v for k, v in labels.items() if not k.startswith(_LABELS_OF_TOOLS)}}


def _host_config(config: Json) -> Json:
    kept = dict(_without(config, _OWN_TO_ONE["HostConfig"]))
    for name in ("CapAdd", "CapDrop"):
        kept[name] = [str(capability).removeprefix("CAP_") for capability in _list(kept.get(name))]
    # Compose asks for them in another order each time, and the engine mounts by the depth of the target anyway.
    kept["Mounts"] = sorted(_list(kept.get("Mounts")), key=lambda mount: str(_mapping(mount).get("Target")))
    if kept.get("NetworkMode") == "default":
        kept["NetworkMode"] = "bridge"
    return kept


def _network_settings(settings: Json, inspected: Json) -> Json:
    kept = _without(settings, _OWN_TO_ONE["NetworkSettings"])
    by_themselves = _aliases_given(inspected)
    networks = {
        name: {
            **_without(_mapping(endpoint), _OF_AN_ENDPOINT),
            "Aliases": sorted({str(alias) for alias in _list(_mapping(endpoint).get("Aliases"))} - by_themselves),
        }
        for name, endpoint in _mapping(settings.get("Networks")).items()
    }
    return {**kept, "Networks": networks}


def _aliases_given(inspected: Json) -> set[str]:
    """Aliases that nobody declared: the short id (engine), the container's name and the service's (Compose)."""
    labels = _mapping(_mapping(inspected.get("Config")).get("Labels"))
    names = {str(inspected.get("Id", ""))[:_SHORT_ID], str(inspected.get("Name", "")).lstrip("/")}
    return names | ({str(labels[_SERVICE_LABEL])} if _SERVICE_LABEL in labels else set())


def _compare(path: str, one: object, other: object) -> Iterator[Difference]:
    one, other = _or_none(one), _or_none(other)
    if isinstance(one, Mapping) or isinstance(other, Mapping):
        yield from _compare_mappings(path, one, other)
    elif path in _SETS:
        yield from _compare_values(path, _sorted(one), _sorted(other))
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for number, (left, right) in enumerate(zip(one, other, strict=True)):
            yield from _compare(f"{path}[{number}]", left, right)
    else:
        yield from _compare_values(path, one, other)


def _compare_mappings(path: str, one: object, other: object) -> Iterator[Difference]:
    if not isinstance(one, Mapping | None) or not isinstance(other, Mapping | None):
        yield Difference(path, one, other)
        return
    left, right = one or {}, other or {}
    for key in sorted({*left, *right}):
        yield from _compare(f"{path}.{key}", left.get(key), right.get(key))


def _compare_values(path: str, one: object, other: object) -> Iterator[Difference]:
    if one != other:
        yield Difference(path, one, other)


def _or_none(value: object) -> object:
    """null, [] and {} are one; what is in them stays."""
    return None if value is None or (isinstance(value, list | Mapping) and not value) else value


def _sorted(value: object) -> list[str]:
    return sorted(json.dumps(item, sort_keys=True) for item in _list(value))


def _without(values: Json, names: frozenset[str]) -> Json:
    return {name: value for name, value in values.items() if name not in names}


def _mapping(value: object) -> Json:
    return value if isinstance(value, Mapping) else {}


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []

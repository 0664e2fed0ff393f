"""The engine's JSON read into the domain's words. Pure: no engine is asked here."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from types import MappingProxyType

from homellm.domain.secret import fingerprint
from homellm.domain.spec import HealthCheck
from homellm.domain.world import NEVER, Container, EngineInfo, Image, Network

#: How many nanoseconds a second has, and billionths the time of one CPU.
_NANOSECONDS = 1_000_000_000
#: The period that a quota is of where none is said (kernel: cpu.cfs_period_us).
_CPU_PERIOD_US = 100_000
#: The first engine that injects devices by CDI (Docker Engine 25 release notes).
_CDI_SINCE = 25
#: Our containers have a key by the first alone; argv and the other are refused in a stack file (domain.settings).
_KEYS = ("LLAMA_API_KEY=", "LLAMA_ARG_API_KEY_FILE=")

_TIME = re.compile(r"(?P<second>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(?P<fraction>\d{1,9}))?(?P<zone>Z|[+-]\d\d:\d\d)")


def container(doc: Mapping[str, object]) -> Container:
    """A container from `GET /containers/{id}/json`."""
    state, config, host = _map(doc, "State"), _map(doc, "Config"), _map(doc, "HostConfig")
    settings = _map(doc, "NetworkSettings")
    running = _bool(state, "Running") and not _bool(state, "Restarting")  # nothing is published between two crashes
    return Container(
        id=_text(doc, "Id"),
        name=_text(doc, "Name").removeprefix("/"),
        image_id=_text(doc, "Image"),
        image=_text(config, "Image"),
        status=_text(state, "Status"),
        labels=_texts(config, "Labels"),
        exit_code=_int(state, "ExitCode"),
        oom_killed=_bool(state, "OOMKilled"),
        error=_text(state, "Error"),
        pid=_int(state, "Pid"),
        restart_policy=_policy(_map(host, "RestartPolicy")),
        restart_count=_int(doc, "RestartCount"),
        created_at=_text(doc, "Created") or NEVER,
        started_at=_text(state, "StartedAt") or NEVER,
        finished_at=_text(state, "FinishedAt") or NEVER,
        health=_text(_map(state, "Health"), "Status"),
        log_driver=_text(_map(host, "LogConfig"), "Type"),
        memory_bytes=_int(host, "Memory"),
        cpu_shares=_int(host, "CpuShares"),
        shm_size_bytes=_int(host, "ShmSize"),
        cpuset=_text(host, "CpusetCpus"),
        cpus=_cpu_time(host),
        path=_text(doc, "Path"),
        args=_words(doc, "Args"),
        addresses=_in_networks(_map(settings, "Networks"), "IPAddress", "GlobalIPv6Address"),
        aliases=_aliases(_map(settings, "Networks")),
        gateways=_in_networks(_map(settings, "Networks"), "Gateway", "IPv6Gateway"),
        ports=_ports(_map(settings, "Ports") if running else _map(host, "PortBindings")),
        has_key=_has_key(config),
        variables=_variables(config),
    )


def has_terminal(doc: Mapping[str, object]) -> bool:
    """Whether a container has a terminal, whose log is not multiplexed; from its inspect JSON."""
    return _bool(_map(doc, "Config"), "Tty")


def image(doc: Mapping[str, object]) -> Image:
    """An image from `GET /images/{name}/json`."""
    config = _map(doc, "Config")
    return Image(
        id=_text(doc, "Id"),
        tags=_words(doc, "RepoTags"),
        digests=_words(doc, "RepoDigests"),
        entrypoint=_words(config, "Entrypoint"),
        command=_words(config, "Cmd"),
        env=_words(config, "Env"),
        health_check=_health_check(_map(config, "Healthcheck")),
        user=_text(config, "User"),
    )


def network(doc: Mapping[str, object]) -> Network:
    """A network from `GET /networks`."""
    return Network(id=_text(doc, "Id"), name=_text(doc, "Name"), labels=_texts(doc, "Labels"))


def engine_info(info: Mapping[str, object], *, address: str) -> EngineInfo:
    """The engine from `GET /info`; `address` is where it was reached (`unix:///var/run/docker.sock`)."""
    version = _text(info, "ServerVersion")
    return EngineInfo(
        id=_text(info, "ID"),
        version=version,
        root_dir=_text(info, "DockerRootDir"),
        cpus=_int(info, "NCPU"),
        memory_bytes=_int(info, "MemTotal"),
        log_driver=_text(info, "LoggingDriver"),
        os=_text(info, "OperatingSystem"),
        security=_words(info, "SecurityOptions"),
        runtimes=tuple(sorted(_map(info, "Runtimes"))),
        cdi=_major(version) >= _CDI_SINCE and bool(_words(info, "CDISpecDirs")),
        local=address.startswith("unix://"),
        address=address,
    )


def published(doc: Mapping[str, object]) -> tuple[tuple[str, int, str], ...]:
    """(host address, TCP port, container name) for one entry of `GET /containers/json`."""
    names = _words(doc, "Names")
    # A legacy link shows as `/other/alias`; the container's own name has one slash only.
    name = next((name for name in names if name.count("/") == 1), names[0] if names else "").removeprefix("/")
    return tuple(
        (_text(port, "IP"), _int(port, "PublicPort"), name)
        for port in _maps(doc, "Ports")
        if _text(port, "Type") == "tcp" and _int(port, "PublicPort")
    )


def working_set(stats: Mapping[str, object]) -> int | None:
    """Bytes that a container uses, from `GET /containers/{id}/stats`; None when it does not run.

    As `docker stats` counts: usage without the page cache that can be dropped at once, which cgroup v1 calls
    `total_inactive_file` and cgroup v2 `inactive_file` (calculateMemUsageUnixNoCache of the docker command).
    """
    memory = _map(stats, "memory_stats")
    usage = memory.get("usage")
    if not isinstance(usage, int):
        return None
    detail = _map(memory, "stats")
    for key in ("total_inactive_file", "inactive_file"):
        droppable = detail.get(key)
        if isinstance(droppable, int):
            return usage - droppable if droppable < usage else usage
    return usage


def since_parameter(time: str) -> str | None:
    """A time as the log API takes it, `seconds.nanoseconds` of the Unix epoch, from the engine's own text of it.

    None for a time that never was, which asks for the whole log. A float would lose the nanoseconds. Raises
    ValueError for a text that is no RFC 3339 time.
    """
    found = _TIME.fullmatch(time)
    if not found:
        raise ValueError(f"no RFC 3339 time: {time!r}")
    moment = datetime.fromisoformat(found["second"] + found["zone"].replace("Z", "+00:00")).astimezone(UTC)
    seconds = int((moment - datetime.fromtimestamp(0, UTC)).total_seconds())
    if seconds < 0:
        return None
    return f"{seconds}.{(found['fraction'] or '').ljust(9, '0')}"


def label_filters(labels: Mapping[str, str | None]) -> dict[str, list[str]]:
    """Labels as the filter of a list; a value of None asks for the label alone."""
    return {"label": [name if value is None else f"{name}={value}" for name, value in labels.items()]}


def version_numbers(version: str) -> tuple[int, ...]:
    """The numbers of a version, to compare by."""
    return tuple(int(part) for part in version.split(".") if part.isdecimal())


def _health_check(doc: Mapping[str, object]) -> HealthCheck | None:
    test = _words(doc, "Test")
    if not test or test == ("NONE",):
        return None
    return HealthCheck(
        test=test,
        start_period_s=_int(doc, "StartPeriod") // _NANOSECONDS,
        interval_s=_int(doc, "Interval") / _NANOSECONDS,
        timeout_s=_int(doc, "Timeout") / _NANOSECONDS,
        retries=_int(doc, "Retries"),
    )


def _in_networks(networks: Mapping[str, object], key: str, key_of_ipv6: str) -> Mapping[str, str]:
    entries = {name: _map(networks, name) for name in networks}
    return MappingProxyType({name: _text(entry, key) or _text(entry, key_of_ipv6) for name, entry in entries.items()})


def _aliases(networks: Mapping[str, object]) -> Mapping[str, tuple[str, ...]]:
    return MappingProxyType({name: _words(_map(networks, name), "Aliases") for name in networks})


def _ports(bindings: Mapping[str, object]) -> tuple[tuple[str, int, int], ...]:
    found: list[tuple[str, int, int]] = []
    for inside, outside in bindings.items():
        port, _, protocol = inside.partition("/")
        if protocol not in ("", "tcp") or not port.isdecimal() or not isinstance(outside, Sequence):
            continue
        for binding in outside:
            if isinstance(binding, Mapping) and (host_port := _text(binding, "HostPort")).isdecimal():
                found.append((_text(binding, "HostIp") or "0.0.0.0", int(host_port), int(port)))
    return tuple(sorted(set(found)))


def _variables(config: Mapping[str, object]) -> Mapping[str, str]:
    pairs = (entry.partition("=") for entry in _words(config, "Env"))
    return MappingProxyType({name: fingerprint(value) for name, _, value in pairs})


def _policy(policy: Mapping[str, object]) -> str:
    """The restart policy as `docker run --restart` takes it: one that gives up after some tries is another one."""
    name, tries = _text(policy, "Name") or "no", _int(policy, "MaximumRetryCount")
    return f"{name}:{tries}" if tries else name


def _cpu_time(host: Mapping[str, object]) -> float:
    """Of how many CPUs a container may have all the time, by either way of saying it (`--cpus`, `--cpu-quota`)."""
    nano, quota = _int(host, "NanoCpus"), _int(host, "CpuQuota")
    if nano > 0:
        return nano / _NANOSECONDS
    return quota / (_int(host, "CpuPeriod") or _CPU_PERIOD_US) if quota > 0 else 0


def _has_key(config: Mapping[str, object]) -> bool:
    """Whether a variable gives llama-server a key that callers must have (server README: LLAMA_API_KEY, …_KEY_FILE)."""
    return any(entry.startswith(_KEYS) and not entry.endswith("=") for entry in _words(config, "Env"))


def _major(version: str) -> int:
    digits = re.match(r"\d+", version)
    return int(digits[0]) if digits else 0


def _map(doc: Mapping[str, object], key: str) -> Mapping[str, object]:
    value = doc.get(key)
    return value if isinstance(value, Mapping) else {}


def _maps(doc: Mapping[str, object], key: str) -> Iterable[Mapping[str, object]]:
    value = doc.get(key)
    return [entry for entry in value if isinstance(entry, Mapping)] if isinstance(value, list | tuple) else []


def _text(doc: Mapping[str, object], key: str) -> str:
    value = doc.get(key)
    return value if isinstance(value, str) else ""


def _int(doc: Mapping[str, object], key: str) -> int:
    value = doc.get(key)
    return value if isinstance(value, int) else 0


def _bool(doc: Mapping[str, object], key: str) -> bool:
    return doc.get(key) is True


def _words(doc: Mapping[str, object], key: str) -> tuple[str, ...]:
    value = doc.get(key)
    return tuple(str(word) for word in value) if isinstance(value, list | tuple) else ()


def _texts(doc: Mapping[str, object], key: str) -> Mapping[str, str]:
    return MappingProxyType({str(name): str(value) for name, value in _map(doc, key).items()})

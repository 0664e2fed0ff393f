"""ContainerSpec to the body of the Engine API's create call.

Field names are those of the API (v1.41 on); only fields that every engine from 20.10 on takes at creation are used.
Mounts and never Binds: a source that is missing is then an error and no directory appears in its place. One network
at creation, since 20.10 takes no more; the others are joined before the start. Never `Init`: State.Pid would then be
docker-init's, whose locked memory is 0.
"""

from __future__ import annotations

from collections.abc import Mapping

from homellm.domain.secret import reveal
from homellm.domain.spec import ContainerSpec, GpuRequest, HealthCheck, LogConfig, Mount
from homellm.domain.stack import RestartPolicy

NANOSECONDS = 1_000_000_000


def api_body(spec: ContainerSpec, labels: Mapping[str, str], *, restart: RestartPolicy) -> dict[str, object]:
    """The JSON body of `POST /containers/create`.

    `labels` are added to the user's own and win over them; `restart` is the policy to create with, which during a
    swap is not the declared one. The body holds secrets in the clear: it goes to the engine and nowhere else.
    """
    entrypoint, command = entrypoint_and_command(spec)
    body: dict[str, object] = {
        "Image": spec.image,
        "Cmd": list(command),
        "Env": [f"{variable.name}={reveal(variable.value)}" for variable in spec.env],
        "Labels": {**spec.labels, **labels},
        "ExposedPorts": {f"{port.container_port}/tcp": {} for port in spec.ports},
        "StopTimeout": spec.stop_grace_s,
        "HostConfig": _host_config(spec, restart),
    }
    if entrypoint is not None:
        body["Entrypoint"] = [entrypoint]
    if spec.health_check is not None:
        body["Healthcheck"] = _health_check(spec.health_check)
    if spec.networks:
        first = spec.networks[0]
        body["NetworkingConfig"] = {"EndpointsConfig": {first.name: {"Aliases": list(first.aliases)}}}
    return body


def entrypoint_and_command(spec: ContainerSpec) -> tuple[str | None, tuple[str, ...]]:
    """The entrypoint as the one word that `docker run --entrypoint` takes, and the command with what is left of it."""
    if not spec.entrypoint:
        return None, spec.argv
    return spec.entrypoint[0], (*spec.entrypoint[1:], *spec.argv)


def _host_config(spec: ContainerSpec, restart: RestartPolicy) -> dict[str, object]:
    config: dict[str, object] = {
        "Mounts": [_mount(mount) for mount in spec.mounts],
        "PortBindings": _port_bindings(spec),
        "RestartPolicy": {"Name": restart, "MaximumRetryCount": 0},
        "CapAdd": list(spec.cap_add),
        "Devices": [
            {"PathOnHost": device.host, "PathInContainer": device.container, "CgroupPermissions": "rwm"}
            for device in spec.devices
        ],
        "GroupAdd": [str(gid) for gid in spec.group_add],
        "DeviceRequests": [_gpu_request(request) for request in spec.gpu_requests],
    }
    if spec.networks:
        config["NetworkMode"] = spec.networks[0].name
    if spec.log is not None:
        config["LogConfig"] = _log_config(spec.log)
    optional = {
        "CpusetCpus": spec.cpuset,
        "CpuShares": spec.cpu_shares,
        "Memory": spec.memory_bytes,
        "ShmSize": spec.shm_size_bytes,
    }
    config.update({name: value for name, value in optional.items() if value is not None})
    return config


def _port_bindings(spec: ContainerSpec) -> dict[str, list[dict[str, str]]]:
    bindings: dict[str, list[dict[str, str]]] = {}
    for port in spec.ports:
        binding = {"HostIp": port.host_ip, "HostPort": str(port.host_port)}
        bindings.setdefault(f"{port.container_port}/tcp", []).append(binding)
    return bindings


def _mount(mount: Mount) -> dict[str, object]:
    plain = {"Type": mount.kind, "Source": mount.source, "Target": mount.target, "ReadOnly": mount.read_only}
    if mount.kind == "bind":
        return {**plain, "BindOptions": {"CreateMountpoint": False}}
    # Compose uses Mounts for a named volume only with an option of its own; without one the renderings would differ.
    return {**plain, "VolumeOptions": {"NoCopy": True}}


def _gpu_request(request: GpuRequest) -> dict[str, object]:
    if request.driver == "cdi":
        return {"Driver": "cdi", "DeviceIDs": list(request.device_ids)}
    return {"Driver": "nvidia", "DeviceIDs": list(request.device_ids), "Capabilities": [["gpu"]]}


def _log_config(log: LogConfig) -> dict[str, object]:
    return {"Type": log.driver, "Config": dict(log.options)}


def _health_check(check: HealthCheck) -> dict[str, object]:
    """Only what is changed: the engine fills in the test and the rest from the image itself."""
    times = {
        "StartPeriod": check.start_period_s,
        "Interval": check.interval_s,
        "Timeout": check.timeout_s,
    }
    health: dict[str, object] = {name: int(value * NANOSECONDS) for name, value in times.items() if value}
    if check.retries:
        health["Retries"] = check.retries
    return health

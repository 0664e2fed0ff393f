"""ContainerSpec: one description of a container, from which the API body, `docker run` and compose are rendered."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal

from homellm.domain.secret import Secret
from homellm.domain.stack import RestartPolicy


@dataclass(frozen=True, slots=True)
class Arg:
    """One argument of the server: flag, its value (None for a switch), and the reason it stands there."""

    flag: str
    value: str | None = None
    because: str = ""

    @property
    def words(self) -> tuple[str, ...]:
        """The words of argv."""
        return (self.flag,) if self.value is None else (self.flag, self.value)


@dataclass(frozen=True, slots=True)
class EnvVar:
    """One environment variable of a container and the reason for it."""

    name: str
    value: str | Secret
    because: str = ""


@dataclass(frozen=True, slots=True)
class Mount:
    """A bind mount of a host path, or a named volume."""

    kind: Literal["bind", "volume"]
    source: str
    target: str
    read_only: bool = True
    because: str = ""


@dataclass(frozen=True, slots=True)
class PublishedPort:
    """A TCP port published on the host. `host_ip` is an address without brackets."""

    host_ip: str
    host_port: int
    container_port: int


@dataclass(frozen=True, slots=True)
class Device:
    """A device node passed through; `host` is the path on the machine that runs the engine."""

    host: str
    container: str
    because: str = ""


@dataclass(frozen=True, slots=True)
class GpuRequest:
    """NVIDIA GPUs asked of the engine, by UUID; `driver` is `nvidia` (the toolkit) or `cdi` (Engine 25 on)."""

    driver: Literal["nvidia", "cdi"]
    device_ids: tuple[str, ...]
    because: str = ""


@dataclass(frozen=True, slots=True)
class LogConfig:
    """The engine's log driver and its options."""

    driver: str
    options: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True, slots=True)
class HealthCheck:
    """The image's own health check, given a start period so that a slow load is not called unhealthy.

    `test` is the image's own (`["CMD", …]`); times in seconds, 0 means the image's or the engine's default.
    """

    test: tuple[str, ...]
    start_period_s: int
    interval_s: float = 0
    timeout_s: float = 0
    retries: int = 0


@dataclass(frozen=True, slots=True)
class NetworkAttachment:
    """A network that the container joins and its names there. The first one is given at creation."""

    name: str
    aliases: tuple[str, ...] = ()
    external: bool = False


@dataclass(frozen=True, slots=True)
class ContainerSpec:
    """Everything that decides what a container is, but for its name during a swap and its labels of ours.

    `image` is what is written (a tag or digest), `restart` the declared policy: a swap creates with `no` and sets it
    after the verification. `labels` are the user's own; ours are added at creation and never rendered.
    """

    name: str
    image: str
    args: tuple[Arg, ...] = ()
    entrypoint: tuple[str, ...] | None = None
    env: tuple[EnvVar, ...] = ()
    mounts: tuple[Mount, ...] = ()
    ports: tuple[PublishedPort, ...] = ()
    networks: tuple[NetworkAttachment, ...] = ()
    restart: RestartPolicy = "unless-stopped"
    cpuset: str | None = None
    cpu_shares: int | None = None
    memory_bytes: int | None = None
    shm_size_bytes: int | None = None
    cap_add: tuple[str, ...] = ()
    devices: tuple[Device, ...] = ()
    group_add: tuple[int, ...] = ()
    gpu_requests: tuple[GpuRequest, ...] = ()
    log: LogConfig | None = None
    health_check: HealthCheck | None = None
    stop_grace_s: int = 10
    labels: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def argv(self) -> tuple[str, ...]:
        """The server's arguments as words."""
        return tuple(word for arg in self.args for word in arg.words)

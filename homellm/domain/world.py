"""What the engine and the host are right now: frozen snapshots that the pure rooms decide by."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal

from homellm.domain.dialect import Dialect
from homellm.domain.spec import HealthCheck

#: What the engine says for a time that never was.
NEVER = "0001-01-01T00:00:00Z"


@dataclass(frozen=True, slots=True)
class EngineInfo:
    """The Docker Engine: `info` and `version`, as far as homellm reads them.

    `local` tells whether it is reached by a Unix socket of this machine: only then do host paths, /proc and container
    addresses mean anything here. Sizes in bytes.
    """

    id: str
    version: str
    root_dir: str
    cpus: int
    memory_bytes: int
    log_driver: str
    os: str = ""
    security: tuple[str, ...] = ()
    runtimes: tuple[str, ...] = ()
    cdi: bool = False
    local: bool = True
    address: str = ""

    @property
    def rootless(self) -> bool:
        """Whether the daemon runs without root (SecurityOptions)."""
        return any("rootless" in option for option in self.security)


@dataclass(frozen=True, slots=True)
class Image:
    """An image that is here. `id` is its content's digest (`sha256:…`); `digests` its names in registries."""

    id: str
    tags: tuple[str, ...] = ()
    digests: tuple[str, ...] = ()
    entrypoint: tuple[str, ...] = ()
    command: tuple[str, ...] = ()
    env: tuple[str, ...] = ()
    health_check: HealthCheck | None = None
    user: str = ""


@dataclass(frozen=True, slots=True)
class Container:
    """A container as inspect shows it. Times are the engine's own text (RFC 3339, nanoseconds).

    `status` is created, running, paused, restarting, removing, exited or dead. `addresses` maps a network's name to
    the container's address there. `pid` is 0 when it does not run.
    """

    id: str
    name: str
    image_id: str
    image: str
    status: str
    labels: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    exit_code: int = 0
    oom_killed: bool = False
    error: str = ""
    pid: int = 0
    restart_policy: str = "no"
    restart_count: int = 0
    created_at: str = NEVER
    started_at: str = NEVER
    finished_at: str = NEVER
    health: str = ""
    log_driver: str = ""
    memory_bytes: int = 0
    path: str = ""
    args: tuple[str, ...] = ()
    addresses: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    ports: tuple[tuple[str, int, int], ...] = ()

    @property
    def running(self) -> bool:
        """Whether its process is up now; not so between two crashes of a loop."""
        return self.status in ("running", "paused")

    def label(self, name: str) -> str:
        """A label's value, empty when absent."""
        return self.labels.get(name, "")


@dataclass(frozen=True, slots=True)
class Network:
    """A network of the engine."""

    id: str
    name: str
    labels: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True, slots=True)
class Listener:
    """A TCP port in use on the host: address as text, and who holds it where that can be read."""

    address: str
    port: int
    pid: int | None = None
    process: str | None = None


@dataclass(frozen=True, slots=True)
class ModelFile:
    """What stands at a model's path. `needed_bytes` is what its header promises, None when there is no header to read.

    `state` is ok, missing, unreadable, directory, not-gguf or truncated; `reason` says more in words.
    """

    path: str
    state: Literal["ok", "missing", "unreadable", "directory", "not-gguf", "truncated"]
    size_bytes: int = 0
    needed_bytes: int | None = None
    weights_bytes: int | None = None
    architecture: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True)
class HostGpu:
    """A GPU of the host. `id` is `vendor:device` in hex, `render_node` a name below /dev/dri, `render_gid` its group.

    `memory_bytes` is its own memory where the driver tells; `uuid` and `minor` are NVIDIA's.
    """

    pci: str
    id: str
    vendor: Literal["intel", "amd", "nvidia", "other"]
    name: str = ""
    driver: str = ""
    integrated: bool | None = None
    render_node: str | None = None
    render_gid: int | None = None
    memory_bytes: int | None = None
    uuid: str | None = None
    minor: int | None = None


@dataclass(frozen=True, slots=True)
class Host:
    """The machine that runs the engine, as far as its roots can be read; None where they cannot.

    `online_cpus` are the CPUs that a container may use. `performance_cpus` and `efficiency_cpus` are told apart by
    the kernel on hybrid processors, else both empty.
    """

    readable: bool = False
    gpus: tuple[HostGpu, ...] = ()
    online_cpus: tuple[int, ...] = ()
    performance_cpus: tuple[int, ...] = ()
    efficiency_cpus: tuple[int, ...] = ()
    numa_nodes: tuple[tuple[int, ...], ...] = ()
    memory_bytes: int | None = None
    available_bytes: int | None = None
    wsl2: bool = False
    dxg: bool = False
    lxc: bool = False
    selinux: bool = False
    nvidia_devices: bool = False
    nvidia_toolkit: bool = False
    listeners: tuple[Listener, ...] | None = None


@dataclass(frozen=True, slots=True)
class Process:
    """The effect, read from /proc of a container's own process. Sizes in bytes; `cpus` as the kernel writes a list."""

    pid: int
    cpus: str
    locked_bytes: int
    resident_bytes: int
    groups: tuple[int, ...] = ()
    read_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class World:
    """All that a plan is made from.

    `containers` are those that carry the stack's label; `name_holders` maps a name that the stack wants and a
    container without our label holds to that container. `images` and `dialects` are by the image as the file writes
    it; an image that is not here is absent. `model_files` are by absolute path. `published` maps an address and port
    held by a container to its name.
    """

    engine: EngineInfo
    host: Host
    containers: tuple[Container, ...] = ()
    name_holders: Mapping[str, Container] = field(default_factory=lambda: MappingProxyType({}))
    images: Mapping[str, Image] = field(default_factory=lambda: MappingProxyType({}))
    dialects: Mapping[str, Dialect] = field(default_factory=lambda: MappingProxyType({}))
    model_files: Mapping[str, ModelFile] = field(default_factory=lambda: MappingProxyType({}))
    published: tuple[tuple[str, int, str], ...] = ()
    networks: Mapping[str, Network] = field(default_factory=lambda: MappingProxyType({}))

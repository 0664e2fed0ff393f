"""What the engine and the host are right now: frozen snapshots that the pure rooms decide by."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal, NamedTuple

from homellm.domain.dialect import Dialect
from homellm.domain.gguf import GgufHeader
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

    @property
    def userns_remap(self) -> bool:
        """Whether containers run in a user namespace of their own (`userns-remap`), as those of rootless always do."""
        return any("userns" in option for option in self.security)

    @property
    def selinux(self) -> bool:
        """Whether the daemon labels containers for SELinux."""
        return any("selinux" in option for option in self.security)

    @property
    def desktop(self) -> bool:
        """Whether it is Docker Desktop, whose containers run in a virtual machine of its own."""
        return "Docker Desktop" in self.os

    @property
    def snap(self) -> bool:
        """Whether it is the snap, which sees only some folders of the machine."""
        return self.root_dir.startswith("/var/snap/docker")

    @property
    def major(self) -> int:
        """The first number of its version; 0 when that is no number."""
        number = self.version.partition(".")[0]
        return int(number) if number.isdigit() else 0


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

    `status` is created, running, paused, restarting, removing, exited or dead. `aliases` are its names in each network,
    by which other containers reach it. `addresses` maps a network's name to
    the container's address there, `gateways` to that of the bridge. `ports` are (host address, host port, port
    inside): what is published while it runs, else what it asks for. `has_key` tells whether its llama-server was
    started with an API key; the key itself is not kept. `variables` has the fingerprints of its variables by their
    names, those of its image among them. `pid` is 0 when it does not run. Limits are 0 or empty where none is in force:
    `cpuset` as the engine writes it, `cpus` the time of so many CPUs.
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
    cpu_shares: int = 0
    shm_size_bytes: int = 0
    cpuset: str = ""
    cpus: float = 0
    path: str = ""
    args: tuple[str, ...] = ()
    addresses: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    aliases: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: MappingProxyType({}))
    gateways: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    ports: tuple[tuple[str, int, int], ...] = ()
    has_key: bool = False
    variables: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}), repr=False)

    def published(self, inside: int) -> tuple[tuple[str, int], ...]:
        """(host address, host port) of each publication of a port of its inside."""
        return tuple((ip, port) for ip, port, at in self.ports if at == inside and port)

    @property
    def running(self) -> bool:
        """Whether its process is up now; not so between two crashes of a loop."""
        return self.status in ("running", "paused")

    @property
    def being_removed(self) -> bool:
        """Whether a removal of it has begun. One that is `dead` is what a removal left that could not be ended."""
        return self.status in ("removing", "dead")

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
    """A TCP port in use on the host: address as text, and who holds it where that can be read.

    `user` is the owner's name, or number where it has none; `unit` the systemd unit that the process belongs to.
    `v6only` tells of a socket on `::` that it takes no IPv4; False also where that cannot be read.
    """

    address: str
    port: int
    pid: int | None = None
    process: str | None = None
    user: str | None = None
    unit: str | None = None
    v6only: bool = False


class FileStamp(NamedTuple):
    """What tells without reading a model's files that they may have changed: all bytes, and the newest time.

    `mtime_ns` counts from the Unix epoch. `inode` is that of every part (FileState), one behind the other.
    """

    size_bytes: int
    mtime_ns: int
    inode: tuple[int, ...] = ()


#: What is known of a file that is to be what it was: its inode is, or a sample of the content, or size and date alone;
#: or it is another one.
Likeness = Literal["untouched", "sampled", "dated", "other"]


@dataclass(frozen=True, slots=True)
class FileState:
    """One file, as the kernel tells of it without opening it, links followed; times in nanoseconds of the Unix epoch.

    `changed_ns` is when its inode or a link on the way to it last changed (ctime), which no program can set: a file of
    an older date that was moved here is young by it. `inode` is device, number and ctime of the file itself: the same
    three are the same file, that nobody wrote to since. It is empty where the file system's ctime is too coarse for
    that. `sample` stands for what the file says (ports.ModelFiles.sample); empty until it is taken. Two states are
    equal when path, size and time of content are; planning.loaded_files.likeness compares the rest.
    """

    path: str
    size_bytes: int
    mtime_ns: int
    changed_ns: int = field(default=0, compare=False)
    inode: tuple[int, ...] = field(default=(), compare=False)
    sample: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class ModelFile:
    """What stands at a model's path. `needed_bytes` is what its header promises, None when there is no header to read.

    `state` is ok, missing, unreadable, directory, not-gguf or truncated; `reason` says more in words. Sizes are those
    of all parts of a model that is split over several files, which `parts` names. `header` is there when it was read.
    One that is `dangling` is a symbolic link to what is not there. `link_folders` is empty for plain files; where they
    are symbolic links, it names every folder that must be seen to follow them, as real paths: the model's own first.
    """

    path: str
    state: Literal["ok", "missing", "dangling", "unreadable", "directory", "not-gguf", "truncated"]
    size_bytes: int = 0
    needed_bytes: int | None = None
    weights_bytes: int | None = None
    architecture: str = ""
    reason: str = ""
    header: GgufHeader | None = None
    parts: tuple[str, ...] = ()
    link_folders: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class HostGpu:
    """A GPU of the host. `id` is `vendor:device` in hex, `render_node` a name below /dev/dri, `render_gid` its group.

    `render_node` is None when nothing stands there; `drm_node` is the name that the kernel gives it all the same, and
    `render_number` its `major:minor`. `memory_bytes` is its own memory where the driver tells, `shared_bytes` what it
    may take of the machine's besides, `used_bytes` what is used of both; `uuid` and `minor` are NVIDIA's. Under WSL2
    a card is known by neither address nor id: both are empty. `render_mode` are the permission bits of the node.
    `kfd_gid`, `cdi` (the card's name in a CDI file) and `nvidia_hook` are the host's, added when a declared GPU is
    resolved, so that one value tells all that a container needs.
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
    drm_node: str | None = None
    render_number: str | None = None
    shared_bytes: int | None = None
    used_bytes: int | None = None
    render_mode: int | None = None
    kfd_gid: int | None = None
    cdi: str | None = None
    nvidia_hook: bool = False


#: A limit that is none, as the kernel counts it (RLIM_INFINITY).
UNLIMITED = 2**64 - 1


@dataclass(frozen=True, slots=True)
class Host:
    """The machine that runs the engine, as far as its roots can be read; None where they cannot.

    `online_cpus` are the CPUs that a container may use. `performance_cpus` and `efficiency_cpus` are told apart by
    the kernel on hybrid processors, else both empty. `contained` tells that homellm itself runs in a container and
    sees its own /dev and /proc in place of the machine's. `hypervisor` names the virtual machine's maker, empty on
    bare metal or where it is not told. `unprivileged` is a system whose root is not the machine's (LXC).
    `nvidia_toolkit` is any part of NVIDIA's toolkit, `nvidia_hook` the part that the engine's own request needs;
    `cdi_devices` are the names that CDI files define (`nvidia.com/gpu=GPU-…`); `wsl_cuda` is CUDA as WSL2 brings it.
    `programs_readable` tells whether /usr/bin can be seen at all: where it cannot, a missing toolkit means nothing.
    `bridges` are its addresses on Docker's own bridges, where only its containers are.
    `kfd_gid` is the group of /dev/kfd, which ROCm needs. `memlock_bytes` is the most memory that a process of the
    daemon may lock without the capability (UNLIMITED for no limit).
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
    contained: bool = False
    hypervisor: str = ""
    unprivileged: bool = False
    nvidia_hook: bool = False
    cdi_devices: tuple[str, ...] = ()
    wsl_cuda: bool = False
    kfd_gid: int | None = None
    memlock_bytes: int | None = None
    programs_readable: bool = True
    bridges: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Process:
    """The effect, read from /proc of a container's own process. Sizes in bytes; `cpus` as the kernel writes a list.

    `gpu_bytes` is the GPU memory that it holds by PCI address, as its open files of /dev/dri tell (fdinfo); None
    where they cannot be read, empty where they tell nothing.
    """

    pid: int
    cpus: str
    locked_bytes: int
    resident_bytes: int
    groups: tuple[int, ...] = ()
    read_bytes: int | None = None
    gpu_bytes: tuple[tuple[str, int], ...] | None = None


@dataclass(frozen=True, slots=True)
class World:
    """All that a plan is made from.

    `containers` are those that carry the stack's label; `name_holders` maps a name that the stack wants and a
    container without our label holds to that container. `images` and `dialects` are by the image as the file writes
    it; an image that is not here is absent. `model_files` are by absolute path. `loadable` are the files that a model's
    server would load now and that may change at their paths, by the model's name; absent where they cannot be seen.
    `published` maps an address and port held by a container to its name. `gathered_for` are the names of the models
    whose turn it is; those of the stack's other models that run have their files here too, since they hold memory.
    `ollama_weights` are the files of the models on Ollama servers of ours, by the model's name, as far as these servers
    matter: without a header, and with the reason, where it is not known what a model takes.
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
    loadable: Mapping[str, tuple[FileState, ...]] = field(default_factory=lambda: MappingProxyType({}))
    gathered_for: frozenset[str] = frozenset()
    ollama_weights: Mapping[str, ModelFile] = field(default_factory=lambda: MappingProxyType({}))

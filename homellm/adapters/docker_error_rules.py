"""What the engine's error texts mean: a table, searched from the top by docker_errors.

The texts were taken from a Docker Engine 20.10 by making each error; where newer engines (24 to 28) word them
otherwise, both wordings stand here.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from homellm.errors import ContainerGone, EngineRefused, NameTaken, NotRemoved

#: `id` of the error of a kill that came too late; the adapter takes it for success.
NOT_RUNNING = "not-running"
PORT_TAKEN = "port-taken"
PATH_MISSING = "path-missing"
NETWORK_MISSING = "network-missing"
NETWORK_TAKEN = "network-taken"
NO_SUCH_IMAGE = "no-such-image"
BEING_REMOVED = "being-removed"


@dataclass(frozen=True, slots=True)
class Rule:
    """What a text of the engine means. `message` and `hint` are format strings over the named groups of `pattern`."""

    pattern: str
    id: str
    message: str
    hint: str = ""
    kind: type[EngineRefused] = EngineRefused

    def find(self, text: str) -> re.Match[str] | None:
        """Where a text says this. Compiled when an error has to be read, which is seldom: there are many rules."""
        return re.search(self.pattern, text, re.IGNORECASE | re.DOTALL)


_ADDRESS = r"(?P<ip>\[?[0-9a-f:.]*\]?):(?P<port>\d+)"
_TOOLKIT_HINT = (
    "Is there an NVIDIA GPU at all (ls /dev/nvidia0)? If so, install nvidia-container-toolkit, then "
    "sudo nvidia-ctk runtime configure --runtime=docker && sudo systemctl restart docker"
)
_PORT_HINT = "See who holds it: sudo ss -ltnp 'sport = :{port}'. Stop that, or set another `port`."

#: The first rule whose pattern is found wins.
RULES = (
    Rule(r"is not running", NOT_RUNNING, "The container does not run."),
    Rule(
        r"No such container: (?P<name>\S+)",
        "container-gone",
        "There is no container {name} (any more).",
        "Somebody removed it, or it never was: homellm ps shows what is there.",
        ContainerGone,
    ),
    Rule(
        r'The container name "/?(?P<name>[^"]+)" is already in use by container "?(?P<holder>[0-9a-f]+)',
        "name-taken",
        "The name {name} is in use by another container, {holder}.",
        "Look at it with docker inspect {name}; rename or remove it, or set `container_name`.",
        NameTaken,
    ),
    Rule(
        r"network with name (?P<name>\S+) already exists",
        NETWORK_TAKEN,
        "There is already a network named {name}.",
        "docker network inspect {name} shows whose it is.",
        NameTaken,
    ),
    Rule(
        r"Invalid container name \(/?(?P<name>[^)]*)\)",
        "invalid-name",
        "The engine does not take {name} as a container's name.",
        "Letters, digits, `_`, `.` and `-` are allowed, the first one a letter or digit: set `container_name`.",
    ),
    Rule(
        r"Renaming a container with the same name",
        "same-name",
        "The container has that name already.",
    ),
    # -- processors and memory
    Rule(
        r"Requested CPUs are not available - requested (?P<asked>[^,\s]+(?:,[^,\s]+)*), available: (?P<there>\S+)",
        "cpus-unavailable",
        "The cpuset {asked} asks for CPUs that the engine cannot give: it has {there}.",
        "Change `cpuset` to CPUs within {there}.",
    ),
    Rule(
        r"Invalid value (?P<value>.*?) for cpuset cpus",
        "cpuset-invalid",
        "The engine cannot read the cpuset {value}.",
        'Write numbers and ranges, as in cpuset: "0-3,6".',
    ),
    Rule(
        r"Minimum memory limit allowed is (?P<least>\S+)",
        "memory-too-small",
        "The memory limit is below the least that the engine takes, {least}.",
        "Raise `memory` well above the size of the model.",
    ),
    Rule(
        r"memoryswap limit should be larger than memory limit",
        "memory-swap",
        "The limit of memory and swap together is below the limit of memory.",
        "Raise or remove the swap limit.",
    ),
    Rule(
        r"minimum allowed cpu-shares is (?P<least>\d+)",
        "cpu-shares-too-small",
        "The cpu_shares are below the least that the kernel takes, {least}.",
        "Raise `cpu_shares`; 1024 is the usual share.",
    ),
    Rule(
        r"error setting rlimit type 8: operation not permitted",
        "memlock-not-permitted",
        "The engine may not raise the limit of locked memory (memlock) here.",
        "Remove the memlock ulimit; `mlock: true` needs none. Rootless engines and containers of LXC cap it.",
    ),
    # -- files and devices
    Rule(
        r"bind source path does not exist: (?P<path>[^\n\"]+)",
        "mount-missing",
        "{path} is to be mounted and does not exist on the machine that runs the engine.",
        "Correct the path, or make the file or folder there.",
    ),
    Rule(
        r"error gathering device information while adding custom device \"(?P<path>[^\"]+)\": (?P<why>[^\n]+)",
        "device-missing",
        "The device {path} cannot be passed on: {why}.",
        "homellm doctor shows which devices this machine has.",
    ),
    Rule(
        r"Unable to find group (?P<name>.+?): no matching entries",
        "group-by-name",
        "The image has no group named {name}: names of groups are looked up inside the image.",
        "Pass the group's number on this machine instead: getent group {name}",
    ),
    Rule(
        r"unable to find user (?P<name>.+?): no matching entries",
        "user-missing",
        "The image has no user named {name}: names of users are looked up inside the image.",
        "Pass the user's number instead.",
    ),
    Rule(
        r"Could not find the file (?P<path>.+?) in container (?P<name>\S+)",
        PATH_MISSING,
        "There is no {path} in container {name}.",
    ),
    Rule(
        r"lstat \S*/merged(?P<path>/.+?): not a directory",
        PATH_MISSING,
        "There is no {path}: a part of it is no folder.",
    ),
    Rule(
        r"marked read-only",
        "read-only",
        "The root of the container is read-only: nothing can be written into it.",
    ),
    # -- NVIDIA
    Rule(
        r'could not select device driver "cdi"|CDI.*not enabled',
        "cdi-unsupported",
        "This engine does not inject devices by CDI, which needs Docker Engine 25 or newer.",
        "Update Docker, or install nvidia-container-toolkit and configure its runtime.",
    ),
    Rule(
        r"unresolvable CDI devices (?P<name>[^\n:]+)",
        "cdi-device-missing",
        "No CDI specification on this machine describes {name}.",
        "Write it: sudo nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml",
    ),
    Rule(
        r'could not select device driver "(nvidia)?" with capabilities'
        r"|unknown (?:or invalid )?runtime (?:name: |specified )nvidia",
        "no-nvidia-toolkit",
        "The engine cannot hand an NVIDIA GPU to a container: it knows no driver for it.",
        _TOOLKIT_HINT,
    ),
    Rule(
        r"nvidia-container-cli: (?P<why>[^\n]+)",
        "nvidia-driver",
        "NVIDIA's container tool fails: {why}",
        "Does nvidia-smi work on the machine itself? After an update of the driver a reboot may be due.",
    ),
    Rule(
        r"unknown (?:or invalid )?runtime (?:name: |specified )(?P<name>\S+)",
        "unknown-runtime",
        "The engine has no runtime named {name}.",
        "docker info lists its runtimes.",
    ),
    # -- ports
    Rule(
        rf"Bind for {_ADDRESS} failed: port is already allocated",
        PORT_TAKEN,
        "Port {port} of {ip} is taken by another container.",
        "See which one: docker ps --filter publish={port}. Stop it, or set another `port`.",
    ),
    Rule(
        rf"listen (?:tcp|udp)[46]? {_ADDRESS}: bind: address already in use"
        rf"|failed to bind host port (?:for )?(?P<ip2>\[?[0-9a-f:.]*?\]?):(?P<port2>\d+)\S*: address already in use",
        PORT_TAKEN,
        "Port {port} of {ip} is taken by another program of this machine.",
        _PORT_HINT,
    ),
    Rule(
        rf"{_ADDRESS}: bind: cannot assign requested address",
        "address-not-here",
        "{ip} is no address of the machine that runs the engine, so port {port} cannot be published on it.",
        "ip -brief address lists what it has; set `bind` to one of them, or to 127.0.0.1.",
    ),
    Rule(
        rf"{_ADDRESS}: bind: permission denied",
        "port-privileged",
        "The engine may not publish port {port}: a rootless engine takes none below 1024.",
        "Set a `port` above 1023.",
    ),
    Rule(
        r"invalid port specification: \"?(?P<port>[^\"\n]+)",
        "port-invalid",
        "{port} is no port.",
        "A port is a number from 1 to 65535.",
    ),
    Rule(
        r"iptables.*(?:No chain/target/match|failed)",
        "firewall-rules-lost",
        "The engine cannot write its firewall rules; something has removed its chains.",
        "A firewall that was reloaded does that: sudo systemctl restart docker (this restarts all containers).",
    ),
    # -- images and programs
    Rule(
        r"No such image: (?P<name>[^\s\"]+)",
        NO_SUCH_IMAGE,
        "The image {name} is not here.",
        "Bring it with homellm pull, or docker pull {name}.",
    ),
    Rule(
        r"does not match the specified platform|exec format error",
        "image-platform",
        "The image was built for another kind of processor.",
        "Choose a tag of the image for this machine (uname -m).",
    ),
    Rule(
        r"invalid reference format",
        "image-name-invalid",
        "The engine does not take the image's name.",
        "An image is written registry/name:tag, in lower case.",
    ),
    Rule(
        r"exec: \"(?P<path>[^\"]+)\": .*?(?:no such file or directory|executable file not found)",
        "no-such-program",
        "The image has no program {path}.",
        "Is it the right image? docker image inspect shows what it starts.",
    ),
    Rule(
        r"exec: \"(?P<path>[^\"]+)\": .*?permission denied",
        "program-not-executable",
        "{path} cannot be executed in the image.",
        "Is it the right image?",
    ),
    Rule(
        r"unknown capability: \"(?P<name>[^\"]+)\"",
        "unknown-capability",
        "The engine knows no capability {name}.",
        "man 7 capabilities lists them.",
    ),
    # -- logs
    Rule(
        r"unknown log opt '(?P<option>[^']+)' for (?P<driver>\S+) log driver",
        "unknown-log-option",
        "The log driver {driver} takes no option {option}.",
        "Set `log` with the driver json-file or local, or leave that option out.",
    ),
    Rule(
        r"error looking up logging plugin (?P<driver>[^:]+)",
        "unknown-log-driver",
        "The engine has no log driver {driver}.",
        "docker info lists its log plugins; json-file is always there.",
    ),
    Rule(
        r"logging driver does not support reading",
        "log-unreadable",
        "The container's log driver keeps nothing that could be read.",
        "Set `log` with the driver json-file or local.",
    ),
    # -- networks and the rest
    Rule(
        r"error while removing network: network (?P<name>\S+).* has active endpoints",
        "network-in-use",
        "The network {name} is in use by a container that runs.",
        "docker network inspect {name} lists who uses it.",
    ),
    Rule(
        r"error while removing network: unknown network (?P<name>\S+)",
        NETWORK_MISSING,
        "There is no network {name} any more.",
        "Somebody has removed it at this moment.",
    ),
    Rule(
        r"network (?P<name>\S+) not found|could not find (?:a )?network (?P<name2>\S+)",
        NETWORK_MISSING,
        "There is no network {name}.",
        "Make it with docker network create {name}, or leave it out of `networks`.",
    ),
    Rule(
        r"endpoint with name (?P<name>\S+) already exists in network (?P<network>\S+)",
        "already-connected",
        "The container {name} has joined the network {network} already.",
    ),
    Rule(
        r"non-overlapping IPv4 address pool|predefined address pools have been fully subnetted",
        "address-pools-used-up",
        "The engine has no address range left for a further network.",
        "docker network prune removes networks that nobody uses.",
    ),
    Rule(
        r"cannot be connected to network endpoints",
        "several-networks",
        "This engine takes one network when a container is made.",
        "Further networks are joined after that.",
    ),
    Rule(
        r"You cannot remove a (?P<state>\w+) container|container is (?P<state2>running|restarting|paused): ",
        "still-running",
        "The container is {state}: only a stopped one is removed.",
        "Stop it first.",
    ),
    Rule(
        r"(?:unable to remove filesystem for [0-9a-f]+|failed to remove root filesystem): (?P<why>[^\n]+)",
        "not-removed",
        "The engine began to remove the container and could not end it: {why}.",
        "Try again: docker ps -a --filter status=dead lists what is left, docker rm removes it.",
        NotRemoved,
    ),
    Rule(
        r"marked for removal|removal of container \S+ is already in progress",
        BEING_REMOVED,
        "The container is being removed right now.",
        "Try again in a moment. If docker ps -a shows it as dead, docker rm removes what is left of it.",
    ),
    Rule(
        r"no space left on device",
        "disk-full",
        "The disk that the engine keeps its data on is full.",
        "See what takes the space: docker system df, df -h",
    ),
)

"""Why a container has what it has besides its argv: the words of the comments in both renderings."""

from __future__ import annotations

from ipaddress import ip_address

from homellm.domain.spec import NetworkAttachment, PublishedPort

NAME = "one fixed name, for docker logs and docker stop"
ENTRYPOINT = "this program of the image, in place of the one that it starts by itself"
ALIAS = "its name there"
GROUP = "the number of the device's group on this host"
CPUSET = "the CPUs it may run on"
CPU_SHARES = "its weight when CPUs are contended"
MEMORY = "the most memory it may take, in bytes"
SHM_SIZE = "size of /dev/shm, in bytes"
CAPABILITY = "without it the kernel refuses to lock the weights in memory"
LOG = "rotated by the engine: a log that is not grows without bound"
HEALTH = "the image's own health check, which must not call a slow load unhealthy"
STOP = "what a busy server may take to stop, in seconds"
RESTART = "what the engine does when the server ends"
LABEL = "a label of your own"


def network(attachment: NetworkAttachment) -> str:
    """Why a network is joined."""
    if attachment.external:
        return "a network that is there already, whose containers are to reach it"
    return "the stack's own network, on which containers reach each other by name"


def published(port: PublishedPort) -> str:
    """Who reaches a published port."""
    try:
        address = ip_address(port.host_ip)
    except ValueError:
        return "the API, on the host"
    if address.is_loopback:
        return "the API, for this machine alone"
    if address.is_unspecified:
        return "the API, for every machine that reaches this one"
    return f"the API, for whoever reaches {port.host_ip}"

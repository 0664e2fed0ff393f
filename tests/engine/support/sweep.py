"""Removes what one test made on the engine: everything whose name holds the test's own prefix, and nothing else."""

from collections.abc import Iterable

import docker

from tests.engine.support.removal import remove_by_force, unless_gone


def sweep(api: docker.APIClient, prefix: str) -> None:
    """Remove containers, networks and volumes with `prefix` (`homellm-test-<id>`) in their name or stack label."""
    assert prefix.startswith("homellm-test-"), prefix
    for container in api.containers(all=True):
        names = [*(container["Names"] or ()), container["Labels"].get("homellm.stack", "")]
        if _carries(prefix, names):
            remove_by_force(api, container["Id"])
    for network in api.networks():
        if _carries(prefix, [network["Name"]]):
            unless_gone(lambda ref=network["Id"]: api.remove_network(ref), network["Name"])
    for volume in api.volumes()["Volumes"] or ():
        if _carries(prefix, [volume["Name"]]):
            unless_gone(lambda ref=volume["Name"]: api.remove_volume(ref), volume["Name"])


def leftovers(api: docker.APIClient, prefix: str) -> list[str]:
    """The names of containers and networks that carry `prefix`."""
    containers = [name.lstrip("/") for row in api.containers(all=True) for name in row["Names"] or ()]
    networks = [row["Name"] for row in api.networks()]
    return sorted(name for name in [*containers, *networks] if prefix in name)


def _carries(prefix: str, names: Iterable[str]) -> bool:
    return any(prefix in name for name in names)

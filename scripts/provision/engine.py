"""`python -m scripts.provision.engine`: says in one line which Docker Engine answers, or why none does (exit 1)."""

from __future__ import annotations

import docker
from docker.errors import DockerException

from scripts.provision.errors import ProvisionError, run_main


def connect(timeout_s: int = 60) -> docker.APIClient:
    """A client of the engine that answers. Raises ProvisionError when none does."""
    try:
        client = docker.from_env(timeout=timeout_s).api
        client.ping()
    except DockerException as error:
        raise ProvisionError(f"no Docker Engine answers ({error})", "sudo scripts/quickstart") from error
    return client


def main() -> None:
    """Print the engine's version and where its data lie."""
    info = connect(timeout_s=5).info()
    print(f"Docker Engine {info['ServerVersion']} answers (data in {info['DockerRootDir']})")


if __name__ == "__main__":
    run_main(main)

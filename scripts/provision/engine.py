"""`python -m scripts.provision.engine`: says in one line which Docker Engine answers, or why none does.

Exit 0: one answers. 3: none runs on this machine, and none is named elsewhere, so that starting one would help. 1: any
other reason, with what to type.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import docker
from docker.errors import DockerException
from docker.tls import TLSConfig
from requests.exceptions import RequestException

from homellm.adapters.docker_address import Address, resolve
from homellm.adapters.docker_unreachable import unreachable
from homellm.errors import EngineUnreachable
from scripts.provision.errors import ProvisionError, report, run_main

NOT_RUNNING = 3


def connect(timeout_s: int = 60) -> docker.APIClient:
    """A client of the engine that homellm would use. Raises ProvisionError when it does not answer."""
    try:
        return _connect(_address(), timeout_s)
    except EngineUnreachable as error:
        raise ProvisionError(str(error), error.hint) from error


def _address() -> Address:
    return resolve(os.environ, Path.home())


def _connect(address: Address, timeout_s: int) -> docker.APIClient:
    files = address.tls
    tls = files and TLSConfig(
        client_cert=(str(files.cert), str(files.key)) if files.cert and files.key else None,
        ca_cert=str(files.ca) if files.ca else None,
        verify=files.verify,
    )
    try:
        return docker.APIClient(base_url=address.url, tls=tls or False, timeout=timeout_s)
    except (DockerException, RequestException) as error:
        raise unreachable(address, error, timeout_s=timeout_s) from error


def main() -> None:
    """Print the engine's version and where its data lie."""
    try:
        address = _address()
        with _connect(address, timeout_s=5) as client:
            info = client.info()
    except EngineUnreachable as error:
        report(str(error))
        if error.problems[0].id == "engine-not-running" and not address.rootless:
            sys.exit(NOT_RUNNING)
        raise ProvisionError("this engine cannot be used", error.hint) from error
    print(f"Docker Engine {info['ServerVersion']} answers (data in {info['DockerRootDir']})")


if __name__ == "__main__":
    run_main(main)

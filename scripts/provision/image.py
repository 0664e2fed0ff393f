"""`python -m scripts.provision.image [--official-first]`: sees to a llama-server image and prints its name."""

from __future__ import annotations

import os
import signal
import sys
import tempfile
from pathlib import Path

import docker
from docker.errors import DockerException, ImageNotFound
from requests.exceptions import RequestException

from scripts.provision.debian_image import build
from scripts.provision.engine import connect
from scripts.provision.errors import report, run_main
from scripts.provision.recipe import LLAMA_SERVER, OFFICIAL_IMAGE

REGISTRY_PATIENCE_S = 15
PULL_PATIENCE_S = 120
PERSISTENT_TMP = Path("/var/tmp")  # noqa: S108 - the folder made in it has a random name and mode 0700


def ensure_debian_image(client: docker.APIClient) -> str:
    """The name of the image built from Debian's packages; built now unless it is here."""
    if not is_here(client, LLAMA_SERVER.tag):
        build(client, LLAMA_SERVER, work_folder())
    return LLAMA_SERVER.tag


def ensure_image(client: docker.APIClient) -> str:
    """The name of a llama-server image that is here now: the official one where it can be had."""
    for name in (OFFICIAL_IMAGE, LLAMA_SERVER.tag):
        if is_here(client, name):
            report(f"uses the image {name}, which is here")
            return name
    return OFFICIAL_IMAGE if pull_official() else ensure_debian_image(client)


def is_here(client: docker.APIClient, name: str) -> bool:
    """Whether the engine has that image."""
    try:
        client.inspect_image(name)
    except ImageNotFound:
        return False
    return True


def pull_official() -> bool:
    """Pull the official image; False when its registry does not answer within REGISTRY_PATIENCE_S or breaks off."""
    try:
        connect(REGISTRY_PATIENCE_S).inspect_distribution(OFFICIAL_IMAGE)
        report(f"pulls {OFFICIAL_IMAGE}")
        for row in connect(PULL_PATIENCE_S).pull(OFFICIAL_IMAGE, stream=True, decode=True):
            if "error" in row:
                report(f"the pull broke off: {row['error']}")
                return False
    except (DockerException, RequestException) as error:
        report(f"the official image cannot be had: {_last_words(error)}")
        return False
    return True


def work_folder() -> Path:
    """Where a root of some hundred MB may lie for a while: TMPDIR, else /var/tmp (/tmp is often memory)."""
    return Path(os.environ.get("TMPDIR") or (PERSISTENT_TMP if PERSISTENT_TMP.is_dir() else tempfile.gettempdir()))


def _last_words(error: Exception) -> str:
    explanation = getattr(error, "explanation", None)
    return str(explanation or error)


def main() -> None:
    """Print the name of the image on stdout."""
    # Ended by SIGTERM, it cleans up as it does on Ctrl-C.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    client = connect(timeout_s=600)
    print(ensure_image(client) if "--official-first" in sys.argv[1:] else ensure_debian_image(client))


if __name__ == "__main__":
    run_main(main)

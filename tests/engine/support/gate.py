"""What a server of a test waits for: a file in its container that the test writes, instead of a number of seconds."""

from __future__ import annotations

import io
import tarfile

import docker
from docker.errors import NotFound

from tests.engine.support.wait import wait_for

#: Where the gate stands in the container: the value of INSTANT_READY_WHEN or INSTANT_CHAT_WHEN.
PATH = "/gate"


class Gate:
    """The gate of one container. It is shut in a container that was just made."""

    def __init__(self, api: docker.APIClient, container: str) -> None:
        self._api = api
        self._container = container

    def open(self) -> None:
        """Let what waits go on, from now on and at each start to come; the container may be about to be made."""
        wait_for(lambda: self._written(b"open"), f"a container {self._container}")

    def shut(self) -> None:
        """Let what comes from now on wait."""
        assert self._written(b""), f"there is no container {self._container}"

    def _written(self, content: bytes) -> bool:
        archive = io.BytesIO()
        with tarfile.open(fileobj=archive, mode="w") as tar:
            entry = tarfile.TarInfo(PATH.lstrip("/"))
            entry.size, entry.mode = len(content), 0o644
            tar.addfile(entry, io.BytesIO(content))
        try:
            return bool(self._api.put_archive(self._container, "/", archive.getvalue()))
        except NotFound:
            return False

"""Removal by hand, as people do it with `docker rm -f`; the engine now and then needs to be asked twice."""

import fcntl
from array import array
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from docker import APIClient
from docker.errors import APIError, NotFound

from tests.engine.support.wait import wait_for

#: What the engine says while somebody removes it, and where something was written into its folder at that moment. The
#: container is dead after the latter, and another removal ends it.
_AGAIN = ("already in progress", "unable to remove filesystem", "failed to remove root filesystem")


#: FS_IOC_GETFLAGS, FS_IOC_SETFLAGS and FS_IMMUTABLE_FL of linux/fs.h, as on every machine of 64 bits.
_GET_FLAGS, _SET_FLAGS, _IMMUTABLE = 0x80086601, 0x40086602, 0x10


def remove_by_force(api: APIClient, ref: str) -> None:
    """Remove a container, running or not, with its anonymous volumes; returns once it is gone, whatever its name is."""
    try:
        found = api.inspect_container(ref)["Id"]
    except NotFound:
        return
    unless_gone(lambda: api.remove_container(found, force=True, v=True), f"the container {ref}")


def unless_gone(remove: Callable[[], object], what: str) -> None:
    """Remove something; what is gone is done, and a removal that the engine could not end is tried again."""

    def gone() -> bool:
        try:
            remove()
        except NotFound:
            return True
        except APIError as error:
            if not any(words in str(error) for words in _AGAIN):
                raise
            return False
        return True

    wait_for(gone, f"the removal of {what}")


@contextmanager
def holding_folder(api: APIClient, ref: str) -> Iterator[None]:
    """While it is entered, the engine of this machine cannot end a removal of that container.

    By a file in its folder that the kernel lets nobody delete: what otherwise does it is a race that cannot be had at
    will.
    """
    file = Path(api.info()["DockerRootDir"], "containers", api.inspect_container(ref)["Id"], "held")
    file.touch()
    _set_immutable(file, True)
    try:
        yield
    finally:
        _set_immutable(file, False)


def _set_immutable(path: Path, immutable: bool) -> None:
    """Give a file the attribute that keeps everybody from deleting it, or take it away (chattr(1); root alone may)."""
    with path.open("rb") as file:
        flags = array("l", [0])
        fcntl.ioctl(file, _GET_FLAGS, flags)
        flags[0] = flags[0] | _IMMUTABLE if immutable else flags[0] & ~_IMMUTABLE
        fcntl.ioctl(file, _SET_FLAGS, flags)

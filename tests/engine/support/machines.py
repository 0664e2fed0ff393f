"""Described machines (tests/fakes/hosts.py) whose render nodes are real device nodes, as containers are given them."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from homellm.adapters.host import LinuxHost
from tests.fakes.host_tree import HostTree, build
from tests.fakes.hosts import HOSTS

#: The kernel's number of render nodes.
DRM = 226
#: A node beyond all cards of the largest servers, and another one in each run of the suite.
SPARE_NODE = f"renderD{192 + os.getpid() % 60}"


def machine_with_nodes(name: str, folder: Path, *, node: str = "") -> HostTree:
    """The tree of a machine whose render nodes are made by mknod, with the group of the description.

    With `node` its (one) render node bears that name.
    """
    text = HOSTS[name].replace("renderD128", node) if node else HOSTS[name]
    tree = build(text, folder / name)
    for gpu in LinuxHost(tree.root, local=True).snapshot().gpus:
        path = tree.path(f"/dev/dri/{gpu.render_node}")
        path.unlink()
        make_node(path, *map(int, gpu.render_number.split(":")), gid=gpu.render_gid)
    return tree


def make_node(path: Path, major: int, minor: int, *, gid: int = 0) -> None:
    """A character device that root and that group may open. No driver stands behind it."""
    os.mknod(path, 0o660 | stat.S_IFCHR, os.makedev(major, minor))
    path.chmod(0o660)  # mknod heeds the umask
    os.chown(path, 0, gid)


@contextmanager
def node_on_this_machine(name: str = SPARE_NODE) -> Iterator[Path]:
    """`/dev/dri/NAME` on the machine that runs the engine, as long as it is wanted: engines pass their own nodes."""
    folder, path = Path("/dev/dri"), Path("/dev/dri") / name
    made_folder = not folder.exists()
    folder.mkdir(exist_ok=True)
    path.unlink(missing_ok=True)  # of a run that was killed
    make_node(path, DRM, int(name.removeprefix("renderD")))
    try:
        yield path
    finally:
        path.unlink(missing_ok=True)
        with suppress(OSError):  # somebody else's node came meanwhile
            if made_folder:
                folder.rmdir()

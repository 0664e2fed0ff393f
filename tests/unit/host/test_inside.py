"""A file inside a container is read by its own process, and nothing that a container puts there leads out of it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from homellm.adapters.host import LinuxHost
from homellm.adapters.host.inside import MOST_BYTES
from homellm.domain.world import Container
from tests.fakes.host_tree import HostTree

ID = "3f2a9c" + "0" * 58
CONTAINER = Container(id=ID, name="nuc-x", image_id="sha256:1", image="x", status="running", pid=4711)
NAME = ".homellm.json"


@pytest.fixture
def tree(tmp_path: Path) -> HostTree:
    made = HostTree(tmp_path / "root")
    made.file("/proc/4711/cgroup", f"0::/system.slice/docker-{ID}.scope\n")
    made.file("/proc/4711/root/etc/hostname", "x\n")
    return made


def found(tree: HostTree, container: Container = CONTAINER) -> bytes | None:
    return LinuxHost(tree.root, local=True).file_of(container, NAME)


def test_a_file_is_read_and_one_that_is_not_there_is_empty(tree: HostTree) -> None:
    assert found(tree) == b""
    tree.file(f"/proc/4711/root/{NAME}", "{}")
    assert found(tree) == b"{}"


def test_the_process_has_to_be_the_containers(tree: HostTree) -> None:
    tree.file(f"/proc/4711/root/{NAME}", "{}")
    tree.file("/proc/4711/cgroup", "0::/system.slice/cron.service\n")
    assert found(tree) is None
    assert found(tree, Container(id=ID, name="x", image_id="", image="", status="exited")) is None


@pytest.mark.parametrize("kind", ["link", "pipe", "folder", "large"])
def test_what_is_no_small_plain_file_is_not_read(tree: HostTree, tmp_path: Path, kind: str) -> None:
    path = tree.root / "proc/4711/root" / NAME
    (tmp_path / "secret").write_text("of the machine")
    match kind:
        case "link":
            path.symlink_to(tmp_path / "secret")
        case "pipe":
            os.mkfifo(path)
        case "folder":
            path.mkdir()
        case "large":
            path.write_bytes(bytes(MOST_BYTES + 1))
    assert found(tree) is None


def test_another_machine_is_not_looked_at(tree: HostTree) -> None:
    assert LinuxHost(Path("/"), local=False).file_of(CONTAINER, NAME) is None
    tree.file(f"/proc/4711/root/{NAME}", "{}")
    assert LinuxHost(tree.root, local=False).file_of(CONTAINER, NAME) == b"{}"  # a root that was named is believed

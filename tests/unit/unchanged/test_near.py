"""Facts of files, of the program and of the machine: each change shows, and only where it is."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from homellm.unchanged.files import code_facts, content, file_facts
from homellm.unchanged.machine import machine_facts

# -- files


def test_a_file_is_told_by_its_inode(tmp_path: Path) -> None:
    path = tmp_path / "m.gguf"
    path.write_bytes(b"GGUF")
    found, status = file_facts(str(path)), path.stat()
    assert found == file_facts(str(path))
    assert found[0] == str(tmp_path)
    assert {status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns} <= set(found)
    path.chmod(0o600)
    assert file_facts(str(path)) != found


def test_another_way_of_links_to_the_same_file_is_another_way(tmp_path: Path) -> None:
    for folder in ("blobs", "one", "two"):
        (tmp_path / folder).mkdir()
    (tmp_path / "blobs" / "b").write_bytes(b"GGUF")
    for folder in ("one", "two"):
        (tmp_path / folder / "l").symlink_to("../blobs/b")
    link = tmp_path / "m.gguf"
    link.symlink_to("one/l")
    before = file_facts(str(link))
    assert "one/l" in before
    assert "../blobs/b" in before
    link.unlink()
    link.symlink_to("two/l")
    assert file_facts(str(link)) != before


def test_what_is_not_there_is_told_as_that_and_nothing_raises(tmp_path: Path) -> None:
    assert file_facts(str(tmp_path / "none"))[-1] == "absent"
    assert file_facts("/x\0y")[-1] == "absent"
    assert content(str(tmp_path / "none")) == ""
    assert content(str(tmp_path)) == ""
    loop = tmp_path / "loop"
    loop.symlink_to("loop")
    assert file_facts(str(loop))[-1] == "absent"


def test_content_is_the_digest_of_small_files(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_text("abc")
    assert content(str(path)) == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"  # FIPS 180-2, B.1
    path.write_bytes(b"x" * (2**20 + 1))
    assert content(str(path)) == ""


# -- the program


def test_a_pipe_is_left_to_those_who_come_after(tmp_path: Path) -> None:
    """As in `homellm up -f <(cat homellm.yaml)`."""
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    assert content(str(fifo)) == ""
    reader, writer = os.pipe()
    try:
        os.write(writer, b"stack: nuc")
        assert content(f"/proc/self/fd/{reader}") == ""
        assert os.read(reader, 100) == b"stack: nuc"
    finally:
        os.close(reader)
        os.close(writer)


def test_every_file_of_the_package_counts(tmp_path: Path) -> None:
    inner = tmp_path / "inner"
    inner.mkdir()
    (inner / "a.py").write_text("a = 1\n")
    before = code_facts(str(tmp_path))
    os.utime(inner / "a.py", ns=(1, 1))
    touched = code_facts(str(tmp_path))
    assert touched != before
    (inner / "b.py").write_text("")
    assert code_facts(str(tmp_path)) != touched


def test_what_python_keeps_of_it_does_not_count(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("a = 1\n")
    before = code_facts(str(tmp_path))
    (tmp_path / "__pycache__").mkdir()
    (tmp_path / "__pycache__" / "a.pyc").write_bytes(b"x")
    assert code_facts(str(tmp_path)) == before


def test_what_is_installed_beside_it_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    packages = tmp_path / "site-packages"
    packages.mkdir()
    monkeypatch.setattr("sys.path", [str(tmp_path), str(packages)])
    before = code_facts(str(packages))
    (packages / "docker-8.0.dist-info").mkdir()
    assert code_facts(str(packages)) != before


# -- the machine


@pytest.fixture
def root(tmp_path: Path) -> Path:
    files = {
        "proc/sys/kernel/random/boot_id": "one\n",
        "proc/meminfo": "MemTotal:       24683652 kB\nMemAvailable:   1 kB\n",
        "proc/1/uid_map": "0 0 4294967295\n",
        "sys/devices/system/cpu/online": "0-3\n",
        "sys/fs/cgroup/cpuset.cpus.effective": "0-3\n",
        "etc/cdi/nvidia.yaml": "kind: nvidia.com/gpu\n",
        "dev/null": "",
        "dev/kfd": "",
        "dev/dri/renderD128": "",
        "usr/bin/docker": "",
    }
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    card = tmp_path / "sys/bus/pci/devices/0000:00:02.0"
    card.mkdir(parents=True)
    (card / "driver").symlink_to("../../../../bus/pci/drivers/i915")
    by_path = tmp_path / "dev/dri/by-path"
    by_path.mkdir()
    (by_path / "pci-0000:00:02.0-render").symlink_to("../renderD128")
    return tmp_path


def write(name: str, text: str) -> Callable[[Path], object]:
    def change(root: Path) -> None:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)

    return change


def relink(name: str, target: str) -> Callable[[Path], object]:
    def change(root: Path) -> None:
        (root / name).unlink()
        (root / name).symlink_to(target)

    return change


@pytest.mark.parametrize(
    ("change", "where"),
    [
        (write("proc/sys/kernel/random/boot_id", "two\n"), "texts"),
        (write("sys/devices/system/cpu/online", "0-2\n"), "texts"),
        (write("sys/fs/cgroup/cpuset.cpus.effective", "0\n"), "texts"),
        (write("sys/fs/selinux/enforce", "1"), "texts"),
        (write("proc/1/uid_map", "0 100000 65536\n"), "texts"),
        (write("proc/meminfo", "MemTotal:       1 kB\n"), "memory"),
        (lambda root: (root / "dev/kfd").chmod(0o600), "nodes"),
        (write("dev/nvidia0", ""), "nodes"),
        (lambda root: (root / "dev/dri/renderD128").chmod(0o666), "dri"),
        (write("dev/dri/renderD129", ""), "dri"),
        (lambda root: (root / "dev/dri/renderD128").unlink(), "dri"),
        (relink("dev/dri/by-path/pci-0000:00:02.0-render", "../renderD129"), "dri"),
        (relink("sys/bus/pci/devices/0000:00:02.0/driver", "../../../../bus/pci/drivers/vfio-pci"), "pci"),
        (lambda root: (root / "sys/bus/pci/devices/0000:03:00.0").mkdir(), "pci"),
        (write("usr/bin/nvidia-ctk", ""), "programs"),
        (write("etc/cdi/nvidia.yaml", "kind: nvidia.com/gpu\ndevices: []\n"), "cdi"),
        (write(".dockerenv", ""), "system"),
    ],
)
def test_what_changes_shows_in_one_place(root: Path, change: Callable[[Path], object], where: str) -> None:
    before = machine_facts(root=str(root))
    change(root)
    after = machine_facts(root=str(root))
    assert {name for name in before if before[name] != after[name]} == {where}


def test_the_group_of_a_node_counts(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = machine_facts(root=str(root))
    usual = os.stat

    def of_another_group(path: str) -> os.stat_result:
        found = usual(path)
        fields = list(found)
        fields[stat.ST_GID] = 4711
        return os.stat_result(fields, {"st_rdev": found.st_rdev}) if path.endswith("renderD128") else found

    monkeypatch.setattr(os, "stat", of_another_group)
    after = machine_facts(root=str(root))
    assert {name for name in before if before[name] != after[name]} == {"dri"}


def test_what_use_changes_does_not_count(root: Path) -> None:
    before = machine_facts(root=str(root))
    os.utime(root / "dev/dri/renderD128")
    write("proc/meminfo", "MemTotal:       24683652 kB\nMemAvailable:   7 kB\n")(root)
    assert machine_facts(root=str(root)) == before


def test_gpus_matter_only_to_those_who_use_one(root: Path) -> None:
    before = machine_facts(gpus=False, root=str(root))
    write("dev/dri/renderD129", "")(root)
    write("dev/nvidia0", "")(root)
    assert machine_facts(gpus=False, root=str(root)) == before
    write("sys/devices/system/cpu/online", "0\n")(root)
    assert machine_facts(gpus=False, root=str(root)) != before
    assert machine_facts(root=str(root)).items() > machine_facts(gpus=False, root=str(root)).items()


def test_a_machine_of_which_nothing_can_be_read_raises_nothing(tmp_path: Path) -> None:
    assert machine_facts(root=str(tmp_path / "none"))["memory"] == ""

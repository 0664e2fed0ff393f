"""Listening ports: addresses as the kernel prints them, and who holds them."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from homellm.adapters.host import LinuxHost
from homellm.adapters.host.listeners import decode_address
from homellm.domain.world import Listener
from tests.fakes.host_tree import build


def _listeners(text: str, tmp_path: Path) -> tuple[Listener, ...] | None:
    return LinuxHost(build(text, tmp_path / "root").root, local=True).snapshot().listeners


@pytest.mark.parametrize(
    ("printed", "address"),
    [
        ("0100007F", "127.0.0.1"),
        ("00000000", "0.0.0.0"),
        ("0A01A8C0", "192.168.1.10"),
        ("00000000000000000000000000000000", "::"),
        ("00000000000000000000000001000000", "::1"),
        ("0000000000000000FFFF00000100007F", "127.0.0.1"),
        ("B80D0120000000000000000001000000", "2001:db8::1"),
        ("000080FE00000000FF005450B6B5DEFE", "fe80::5054:ff:fede:b5b6"),
    ],
)
def test_addresses_as_an_x86_kernel_prints_them(printed: str, address: str) -> None:
    assert decode_address(printed) == address


def test_only_listening_sockets(tmp_path: Path) -> None:
    text = """
file /proc/1/net/tcp
    |   sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
    |    0: 0100007F:2CAA 00000000:0000 0A 00000000:00000000 00:00000000 00000000   998        0 31337 1 0 100 0 0 10 0
    |    1: 0100007F:2CAB 0100007F:9C40 01 00000000:00000000 00:00000000 00000000   998        0 31338 1 0 20 4 30 10 -1
    |    2: 0100007F:2CAC 0100007F:9C41 06 00000000:00000000 03:00001770 00000000     0        0 0 3 0
"""
    found = _listeners(text, tmp_path)
    assert found is not None
    assert [(one.address, one.port) for one in found] == [("127.0.0.1", 11434)]


def test_the_holder_its_user_and_its_service(tmp_path: Path) -> None:
    text = """
listen 127.0.0.1:11434 uid=998 inode=31337
listen [::]:8080 uid=1000 inode=4242
process 812 ollama unit=ollama.service sockets=31337
file /etc/passwd
    | root:x:0:0:root:/root:/bin/bash
    | ollama:x:998:998::/usr/share/ollama:/bin/false
"""
    assert _listeners(text, tmp_path) == (
        Listener("127.0.0.1", 11434, pid=812, process="ollama", user="ollama", unit="ollama.service"),
        Listener("::", 8080, user="1000"),
    )


def test_a_proxy_of_the_engine_is_known_by_its_command_line(tmp_path: Path) -> None:
    """Its open files may be read by root alone."""
    tree = build("listen 127.0.0.1:11435 inode=1\nlisten [::1]:11435 inode=2\nprocess 77 docker-proxy\n", tmp_path)
    words = ["/usr/bin/docker-proxy", "-proto", "tcp", "-host-ip", "127.0.0.1", "-host-port", "11435", "-container-ip"]
    tree.file("/proc/77/cmdline", "\0".join([*words, "172.17.0.2", "-container-port", "8080", ""]).encode())
    found = LinuxHost(tree.root, local=True).snapshot().listeners
    assert found is not None
    assert [(one.address, one.process, one.pid) for one in found] == [
        ("127.0.0.1", "docker-proxy", 77),
        ("::1", None, None),
    ]


@pytest.mark.parametrize(
    ("cgroup", "unit"),
    [
        ("/system.slice/ollama.service", "ollama.service"),
        ("/system.slice/system-postgresql.slice/postgresql@15-main.service", "postgresql@15-main.service"),
        ("/user.slice/user-1000.slice/user@1000.service/app.slice/app-gnome.scope", None),
        ("/user.slice/user-1000.slice/user@1000.service/app.slice/llama.service", None),
        ("/system.slice/docker-4711.scope", None),
        ("/system.slice/cron.service/job", None),
    ],
)
def test_the_service_is_one_that_the_system_can_stop(tmp_path: Path, cgroup: str, unit: str | None) -> None:
    found = _listeners(f"listen 127.0.0.1:80 inode=9\nprocess 5 x sockets=9 cgroup={cgroup}\n", tmp_path)
    assert found is not None
    assert found[0].unit == unit


def test_tables_that_cannot_be_read_are_unknown_and_not_empty(tmp_path: Path) -> None:
    assert _listeners("cpus 0\n", tmp_path / "a") is None
    assert _listeners("file /proc/1/net/tcp 'no lines'\n", tmp_path / "b") == ()


@pytest.mark.parametrize("address", ["127.0.0.1", *(["::1"] if Path("/proc/net/if_inet6").exists() else [])])
def test_a_real_socket_of_this_process(address: str) -> None:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.create_server((address, 0), family=family) as server:
        port = server.getsockname()[1]
        found = LinuxHost(Path("/"), local=True).snapshot().listeners
        assert found is not None
        (mine,) = [one for one in found if one.port == port]
        assert mine.address == address
        assert mine.pid == os.getpid()
        assert mine.process == Path("/proc/self/comm").read_text().strip()
    after = LinuxHost(Path("/"), local=True).snapshot().listeners
    assert after is not None
    assert port not in {one.port for one in after}


def test_who_listens_is_looked_for_where_it_is_asked_alone(tmp_path: Path) -> None:
    text = (
        "listen 127.0.0.1:11435 inode=1\nlisten 127.0.0.2:11435 inode=2\nlisten 127.0.0.1:22 inode=3\n"
        "process 812 ollama sockets=1,2\nprocess 7 sshd sockets=3\n"
    )
    tree = build(text, tmp_path / "root")
    found = LinuxHost(tree.root, local=True).snapshot({11435}, {("127.0.0.1", 11435)}).listeners
    assert found is not None
    assert [(one.address, one.port, one.process) for one in found] == [
        ("127.0.0.1", 11435, None),  # the engine has told which container it is
        ("127.0.0.2", 11435, "ollama"),
        ("127.0.0.1", 22, None),
    ]


def test_no_open_file_is_looked_at_when_nobody_is_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tree = build("listen 127.0.0.1:11435 inode=1\nprocess 812 ollama sockets=1\n", tmp_path / "root")
    looked: list[Path] = []
    real = Path.iterdir

    def noted(folder: Path) -> Iterator[Path]:
        looked.append(folder)
        return iter(list(real(folder)))

    monkeypatch.setattr(Path, "iterdir", noted)
    host = LinuxHost(tree.root, local=True)
    assert host.snapshot({11435}, {("127.0.0.1", 11435)}).listeners is not None
    assert not [folder for folder in looked if folder.name == "fd"]
    host.snapshot({11435})
    assert [folder for folder in looked if folder.name == "fd"]

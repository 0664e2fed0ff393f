"""Listening TCP ports of the host and who holds them, from /proc/net/tcp and the open files of processes."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from homellm.adapters.host.processes import pids, process_name
from homellm.adapters.host.root import HostRoot
from homellm.adapters.host.v6only import v6only_inodes
from homellm.domain.world import Listener

#: The state LISTEN in /proc/net/tcp (Linux, include/net/tcp_states.h).
_LISTEN = "0A"
_PROXY = "docker-proxy"
_EVERY_IPV6 = "::"


@dataclass(frozen=True, slots=True)
class _Socket:
    address: str
    port: int
    uid: str
    inode: str


@dataclass(frozen=True, slots=True)
class _Holders:
    """Process by the inode of its socket, docker-proxy by (address, port), name of a user by number.

    `v6only` are the inodes of sockets on `::` that take no IPv4.
    """

    by_inode: dict[str, int]
    proxies: dict[tuple[str, int], int]
    users: dict[str, str]
    v6only: frozenset[str]


def read_listeners(
    root: HostRoot, ports: Collection[int] | None = None, known: Collection[tuple[str, int]] = ()
) -> tuple[Listener, ...] | None:
    """Every listening TCP socket, IPv4 and IPv6; None when the tables cannot be read.

    The network namespace is that of process 1. Pid and process are None where the open files of the holder may not
    be read; its user is known all the same. With `ports` they are None at all others, and nowhere are they looked for
    at an (address, port) that is `known`; nor is `v6only`.
    """
    tables = [root.text(f"/proc/1/net/{name}") for name in ("tcp", "tcp6")]
    if tables[0] is None and root.path == Path("/"):
        tables = [root.text(f"/proc/net/{name}") for name in ("tcp", "tcp6")]
    if tables[0] is None:
        return None  # without IPv4 the picture would be half of it; tcp6 is absent where IPv6 is off
    sockets = {socket: None for text in tables if text for socket in _sockets(text)}
    asked = [one for one in sockets if (ports is None or one.port in ports) and (one.address, one.port) not in known]
    holders = _Holders(
        by_inode=_by_inode(root, {socket.inode for socket in asked}) if asked else {},
        proxies=_proxies(root) if asked else {},
        users=_users(root),
        v6only=v6only_inodes() if any(one.address == _EVERY_IPV6 for one in asked) else frozenset(),
    )
    return tuple(_listener(root, socket, holders) for socket in sockets)


def _sockets(table: str) -> Iterable[_Socket]:
    for line in table.splitlines()[1:]:
        fields = line.split()
        if len(fields) > 9 and fields[3] == _LISTEN:  # noqa: PLR2004 - the inode is the tenth column
            host, _, port = fields[1].partition(":")
            yield _Socket(decode_address(host), int(port, 16), fields[7], fields[9])


def decode_address(text: str) -> str:
    """An address of /proc/net/tcp{,6} as people write it; an IPv4 address mapped into IPv6 as IPv4.

    The kernel prints each 32-bit word in the order of the machine, which is little-endian wherever Docker runs
    models; the words themselves stand in network order.
    """
    words = [bytes.fromhex(text[start : start + 8])[::-1] for start in range(0, len(text), 8)]
    address = ipaddress.ip_address(b"".join(words))
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return str(mapped or address)


def _by_inode(root: HostRoot, inodes: set[str]) -> dict[str, int]:
    """Inode of a socket -> the first process that has it open, as far as open files may be read."""
    proc = root.real("/proc") or root.path / "proc"
    found: dict[str, int] = {}
    for pid in pids(root):
        for link in _open_files(proc / str(pid) / "fd"):
            inode = link[8:-1] if link.startswith("socket:[") else ""
            if inode in inodes:
                found.setdefault(inode, pid)
    return found


def _open_files(folder: Path) -> Iterable[str]:
    """What a process has open, as the kernel names it (`socket:[4711]`); nothing where that may not be read."""
    try:
        entries = list(folder.iterdir())
    except OSError:
        return
    for entry in entries:
        try:
            yield str(entry.readlink())
        except OSError:
            continue


def _users(root: HostRoot) -> dict[str, str]:
    lines = (line.split(":") for line in (root.text("/etc/passwd") or "").splitlines())
    return {fields[2]: fields[0] for fields in lines if len(fields) > 2}  # noqa: PLR2004 - name, x, number


def _proxies(root: HostRoot) -> dict[tuple[str, int], int]:
    """(address, port) -> docker-proxy: its command line may be read by all, its open files by root alone."""
    found: dict[tuple[str, int], int] = {}
    for pid in pids(root):
        if process_name(root, pid) == _PROXY:
            words = (root.text(f"/proc/{pid}/cmdline") or "").split("\0")
            options = dict(pairwise(words))
            port = options.get("-host-port", "")
            if options.get("-proto") == "tcp" and port.isdigit():
                found[options.get("-host-ip", ""), int(port)] = pid
    return found


def _listener(root: HostRoot, socket: _Socket, holders: _Holders) -> Listener:
    pid = holders.by_inode.get(socket.inode, holders.proxies.get((socket.address, socket.port)))
    return Listener(
        address=socket.address,
        port=socket.port,
        pid=pid,
        process=None if pid is None else process_name(root, pid),
        user=holders.users.get(socket.uid, socket.uid),
        unit=None if pid is None else _unit(root, pid),
        v6only=socket.address == _EVERY_IPV6 and socket.inode in holders.v6only,
    )


def _unit(root: HostRoot, pid: int) -> str | None:
    """The service of the system whose cgroup the process is in (`ollama.service`).

    Services of a user's own systemd are left out: they are stopped in another way, and a desktop program's cgroup
    lies below that of the user's whole session.
    """
    found = re.search(
        r":/system\.slice/(?:.*/)?([^/\n]+\.service)$", root.text(f"/proc/{pid}/cgroup") or "", re.MULTILINE
    )
    return found[1] if found else None

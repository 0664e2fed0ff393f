"""Builds the /sys, /proc, /dev and /etc of a machine from a short description in text.

One directive a line; `#` starts a comment. Values with spaces are quoted as in a shell.

    kernel TEXT                                         /proc/version
    cpus ONLINE [performance=L] [efficiency=L] [effective=L]
    numa LIST LIST …                                    the CPUs of each node
    memory TOTAL_KIB AVAILABLE_KIB
    pci ADDRESS VENDOR:DEVICE [class=030000] [driver=D] [under=BRIDGE]
    gpu ADDRESS VENDOR:DEVICE [driver=D] [render=renderD128] [gid=N] [under=BRIDGE] [class=…] [nodev]
        NAME = VALUE                                    (indented) a further file of that device; `hex:` for bytes
    nvidia ADDRESS MODEL UUID MINOR                     what NVIDIA's driver says of a card
    node PATH [gid=N]                                   a file in place of a device node, owned by that group
    program NAME …                                      /usr/bin/NAME
    listen ADDRESS:PORT [uid=N] [inode=N]
    process PID NAME [unit=U] [sockets=INODE,…] [cgroup=PATH]
    file PATH [TEXT]
        | LINE                                          (indented) a line of that file; `\\t` is a tab
    link PATH TARGET

Nodes are plain files, since making real ones needs root and opening them a device: what homellm reads of a node is
its group, and that is set where the test may (root), and told by `HostTree.stat` in any case.
"""

from __future__ import annotations

import contextlib
import ipaddress
import os
import shlex
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

_HEADER = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode"


@dataclass
class HostTree:
    """A tree that was built: `root` to hand to LinuxHost, `stat` to hand to it as well."""

    root: Path
    gids: dict[Path, int] = field(default_factory=dict)

    def stat(self, path: Path) -> os.stat_result:
        """As os.stat, with the group that the description gives."""
        found = path.stat()
        gid = self.gids.get(path)
        return found if gid is None else os.stat_result((*found[:5], gid, *found[6:10]))

    def path(self, inside: str) -> Path:
        return self.root / inside.lstrip("/")

    def file(self, inside: str, data: str | bytes) -> None:
        path = self.path(inside)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data.encode() if isinstance(data, str) else data)

    def append(self, inside: str, header: str, line: str) -> None:
        old = self.path(inside).read_text() if self.path(inside).exists() else header + "\n"
        self.file(inside, old + line + "\n")

    def link(self, inside: str, target: str) -> None:
        path = self.path(inside)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.symlink_to(target)

    def node(self, inside: str, gid: int) -> None:
        self.file(inside, "")
        self.gids[self.path(inside)] = gid
        with contextlib.suppress(PermissionError):
            os.chown(self.path(inside), -1, gid)


def build(text: str, root: Path) -> HostTree:
    """Makes the tree that `text` describes below `root` (an empty or absent folder)."""
    root.mkdir(parents=True, exist_ok=True)
    tree = HostTree(root)
    at = ""
    for number, line in enumerate(text.splitlines(), 1):
        if not line.split("#")[0].strip():
            continue
        if line[0].isspace():
            _belonging(tree, at, line.strip())
            continue
        words = shlex.split(line, comments=True)
        options = dict(word.split("=", 1) for word in words[1:] if _is_option(word))
        plain = [word for word in words[1:] if not _is_option(word)]
        directive = _DIRECTIVES.get(words[0])
        assert directive is not None, f"line {number}: no directive {words[0]}"
        at = directive(tree, plain, options) or at
    return tree


def _belonging(tree: HostTree, at: str, line: str) -> None:
    """An indented line: a further line of the file above it, or a file of the device above it."""
    if line.startswith("|"):
        tree.file(at, tree.path(at).read_text() + line[1:].removeprefix(" ").replace("\\t", "\t") + "\n")
        return
    name, _, value = (part.strip() for part in line.partition("="))
    tree.file(f"{at}/{name}", bytes.fromhex(value[4:]) if value.startswith("hex:") else value + "\n")


def _is_option(word: str) -> bool:
    return "=" in word and word.partition("=")[0].isidentifier()


def _kernel(tree: HostTree, words: list[str], options: dict[str, str]) -> None:
    tree.file("/proc/version", " ".join(words) + "\n")


def _cpus(tree: HostTree, words: list[str], options: dict[str, str]) -> None:
    tree.file("/sys/devices/system/cpu/online", words[0] + "\n")
    if "performance" in options:
        tree.file("/sys/devices/cpu_core/cpus", options["performance"] + "\n")
    if "efficiency" in options:
        tree.file("/sys/devices/cpu_atom/cpus", options["efficiency"] + "\n")
    if "effective" in options:
        tree.file("/sys/fs/cgroup/cpuset.cpus.effective", options["effective"] + "\n")


def _numa(tree: HostTree, words: list[str], options: dict[str, str]) -> None:
    tree.file("/sys/devices/system/node/online", f"0-{len(words) - 1}\n" if len(words) > 1 else "0\n")
    for node, cpus in enumerate(words):
        tree.file(f"/sys/devices/system/node/node{node}/cpulist", cpus + "\n")


def _memory(tree: HostTree, words: list[str], options: dict[str, str]) -> None:
    total, available = words
    tree.file("/proc/meminfo", f"MemTotal:       {total} kB\nMemFree: 1 kB\nMemAvailable:   {available} kB\n")


def _pci(tree: HostTree, words: list[str], options: dict[str, str]) -> str:
    """The folder of a PCI device, as sysfs lays it out, and its name below /sys/bus."""
    address, numbers = words[:2]
    vendor, device = numbers.split(":")
    bridge = options.get("under", "")
    below = f"devices/pci{address[:7]}/{bridge}/{address}" if bridge else f"devices/pci{address[:7]}/{address}"
    folder = f"/sys/{below}"
    tree.file(f"{folder}/vendor", f"0x{vendor}\n")
    tree.file(f"{folder}/device", f"0x{device}\n")
    tree.file(f"{folder}/class", f"0x{options.get('class', '088000')}\n")
    tree.link(f"/sys/bus/pci/devices/{address}", f"../../../{below}")
    if "driver" in options:
        up = "../" * (4 if bridge else 3)
        tree.path(f"/sys/bus/pci/drivers/{options['driver']}").mkdir(parents=True, exist_ok=True)
        tree.link(f"{folder}/driver", f"{up}bus/pci/drivers/{options['driver']}")
    return folder


def _gpu(tree: HostTree, words: list[str], options: dict[str, str]) -> str:
    folder = _pci(tree, words, {"class": "030000", **options})
    node = options.get("render")
    if node is not None:
        number = int(node.removeprefix("renderD"))
        for name, minor in ((f"card{number - 128}", number - 128), (node, number)):
            tree.file(f"{folder}/drm/{name}/dev", f"226:{minor}\n")
            tree.link(f"{folder}/drm/{name}/device", f"../../../{words[0]}")
            tree.link(f"/sys/class/drm/{name}", f"../..{folder.removeprefix('/sys')}/drm/{name}")
        if "nodev" not in words:
            tree.node(f"/dev/dri/{node}", int(options.get("gid", "0")))
            tree.node(f"/dev/dri/card{number - 128}", 44)
            tree.link(f"/dev/dri/by-path/pci-{words[0]}-render", f"../{node}")
    return folder


def _nvidia(tree: HostTree, words: list[str], options: dict[str, str]) -> None:
    address, model, uuid, minor = words
    lines = {
        "Model": model,
        "IRQ": "155",
        "GPU UUID": uuid,
        "Video BIOS": "94.04.3a.40.46",
        "Bus Type": "PCIe",
        "Bus Location": address,
        "Device Minor": minor,
        "GPU Excluded": "No",
    }
    text = "".join(f"{key}: \t {value}\n" for key, value in lines.items())
    tree.file(f"/proc/driver/nvidia/gpus/{address}/information", text)
    tree.node(f"/dev/nvidia{minor}", 0)


def _node(tree: HostTree, words: list[str], options: dict[str, str]) -> None:
    tree.node(words[0], int(options.get("gid", "0")))


def _program(tree: HostTree, words: list[str], options: dict[str, str]) -> None:
    for name in words:
        tree.file(f"/usr/bin/{name}", "#!/bin/sh\n")


def _listen(tree: HostTree, words: list[str], options: dict[str, str]) -> None:
    host, _, port = words[0].rpartition(":")
    address = ipaddress.ip_address(host.strip("[]"))
    groups = [address.packed[start : start + 4][::-1].hex().upper() for start in range(0, len(address.packed), 4)]
    name = "tcp" if address.version == 4 else "tcp6"
    nobody = "0" * len("".join(groups))
    tree.append(
        f"/proc/1/net/{name}",
        _HEADER,
        f"   0: {''.join(groups)}:{int(port):04X} {nobody}:0000 0A 00000000:00000000 00:00000000 00000000"
        f" {options.get('uid', '0'):>5}        0 {options.get('inode', '1')} 1 0000000000000000 100 0 0 10 0",
    )
    if not tree.path("/proc/1/net/tcp").exists():
        tree.file("/proc/1/net/tcp", _HEADER + "\n")


def _process(tree: HostTree, words: list[str], options: dict[str, str]) -> None:
    pid, name = words
    tree.file(f"/proc/{pid}/comm", name + "\n")
    cgroup = options.get("cgroup", f"/system.slice/{options['unit']}" if "unit" in options else "/user.slice")
    tree.file(f"/proc/{pid}/cgroup", f"0::{cgroup}\n")
    tree.path(f"/proc/{pid}/fd").mkdir(parents=True, exist_ok=True)
    for number, inode in enumerate(filter(None, options.get("sockets", "").split(",")), 3):
        tree.link(f"/proc/{pid}/fd/{number}", f"socket:[{inode}]")


def _file(tree: HostTree, words: list[str], options: dict[str, str]) -> str:
    tree.file(words[0], "".join(f"{word}\n" for word in words[1:]))
    return words[0]


def _link(tree: HostTree, words: list[str], options: dict[str, str]) -> None:
    tree.link(words[0], words[1])


_DIRECTIVES: dict[str, Callable[[HostTree, list[str], dict[str, str]], str | None]] = {
    "kernel": _kernel,
    "cpus": _cpus,
    "numa": _numa,
    "memory": _memory,
    "pci": _pci,
    "gpu": _gpu,
    "nvidia": _nvidia,
    "node": _node,
    "program": _program,
    "listen": _listen,
    "process": _process,
    "file": _file,
    "link": _link,
}

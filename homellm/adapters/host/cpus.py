"""CPUs: which a container may use, which are fast, and which are near to which memory."""

from __future__ import annotations

from dataclasses import dataclass

from homellm.adapters.host.root import HostRoot

_CPU = "/sys/devices/system/cpu"
_NODE = "/sys/devices/system/node"

#: The effective set of the topmost cgroup that can be seen, for cgroup v2 and v1: in a container or an LXC system
#: it is what that system was given.
_CPUSETS = (
    "/sys/fs/cgroup/cpuset.cpus.effective",
    "/sys/fs/cgroup/cpuset/cpuset.effective_cpus",
    "/sys/fs/cgroup/cpuset/cpuset.cpus",
)


@dataclass(frozen=True, slots=True)
class Cpus:
    """CPU numbers in ascending order. Performance and efficiency are both empty when all cores are alike."""

    usable: tuple[int, ...] = ()
    performance: tuple[int, ...] = ()
    efficiency: tuple[int, ...] = ()
    numa_nodes: tuple[tuple[int, ...], ...] = ()


def parse_list(text: str) -> tuple[int, ...]:
    """A list as the kernel writes it (`0-3,8`; cpuset(7), "List format"); empty for an empty or malformed one."""
    numbers: set[int] = set()
    for part in filter(None, text.strip().split(",")):
        first, _, last = part.partition("-")
        if not first.isdigit() or not (last or first).isdigit():
            return ()
        numbers.update(range(int(first), int(last or first) + 1))
    return tuple(sorted(numbers))


def read_cpus(root: HostRoot) -> Cpus:
    """The CPUs that are online and in the cgroup's effective set, told apart as far as the kernel does."""
    usable = _usable(root)
    performance, efficiency = _kinds(root, usable)
    return Cpus(usable, performance, efficiency, _numa_nodes(root))


def _usable(root: HostRoot) -> tuple[int, ...]:
    online = parse_list(root.text(f"{_CPU}/online") or "")
    effective = next(filter(None, (parse_list(root.text(path) or "") for path in _CPUSETS)), online)
    return tuple(number for number in online if number in effective)


def _kinds(root: HostRoot, usable: tuple[int, ...]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Performance and efficiency cores: Intel's two PMUs list them; on Arm the capacity of each CPU tells."""
    core = parse_list(root.text("/sys/devices/cpu_core/cpus") or "")
    atom = parse_list(root.text("/sys/devices/cpu_atom/cpus") or "")
    if not core or not atom:
        core, atom = _by_capacity(root, usable)
    return tuple(n for n in core if n in usable), tuple(n for n in atom if n in usable)


def _by_capacity(root: HostRoot, usable: tuple[int, ...]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    capacities = {n: root.number(f"{_CPU}/cpu{n}/cpu_capacity") for n in usable}
    known = {n: capacity for n, capacity in capacities.items() if capacity is not None}
    if len(known) != len(usable) or len(set(known.values())) < 2:  # noqa: PLR2004 - one capacity: all cores alike
        return (), ()
    most = max(known.values())
    return tuple(n for n in known if known[n] == most), tuple(n for n in known if known[n] < most)


def _numa_nodes(root: HostRoot) -> tuple[tuple[int, ...], ...]:
    """The CPUs of each node; a node without CPUs (memory of a GPU, say) keeps its place, empty."""
    nodes = parse_list(root.text(f"{_NODE}/online") or "")
    return tuple(parse_list(root.text(f"{_NODE}/node{node}/cpulist") or "") for node in nodes)

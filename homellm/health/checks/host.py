"""What the host gives and the container shows to the outside: CPUs, groups, ports, restarts."""

from __future__ import annotations

import ipaddress

from homellm.domain.names import is_wildcard
from homellm.domain.stack import SERVER_PORT
from homellm.domain.verdicts import Verdict
from homellm.health.checks.case import INSPECT, Case, judged

_UNREAD = "The process could not be read from here: only on the machine that runs the engine, as root."


def cpus(case: Case) -> Verdict | None:
    """The CPUs on which the process may really run."""
    declared = case.model.cpuset
    if declared is None:
        return None
    asked, process = cpu_list(cpu_set(declared)), case.evidence.process
    if process is None:
        return judged("cpus", asked, None, None, case.process_source, hint=_UNREAD)
    observed = cpu_list(cpu_set(process.cpus))
    hint = "The process may run on other CPUs than declared; something changed its cpuset after the start."
    return judged("cpus", asked, observed, observed == asked, case.process_source, hint=hint)


def cpu_set(text: str) -> frozenset[int]:
    """The CPUs of a list as the kernel and Docker write it (`0-3,8`)."""
    found: set[int] = set()
    for part in filter(None, text.replace(" ", "").split(",")):
        first, _, last = part.partition("-")
        found.update(range(int(first), int(last or first) + 1))
    return frozenset(found)


def cpu_list(cpus: frozenset[int]) -> str:
    """The shortest list of these CPUs: `0-3,8`."""
    runs: list[list[int]] = []
    for cpu in sorted(cpus):
        if runs and cpu == runs[-1][1] + 1:
            runs[-1][1] = cpu
        else:
            runs.append([cpu, cpu])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)


def exposure(case: Case, server_port: int = SERVER_PORT) -> Verdict | None:
    """A server that others than this machine's users reach wants a key."""
    model, container = case.model, case.evidence.container
    if model.port is None:
        return None
    if container is None:
        return judged("exposure", model.bind, None, None, INSPECT, hint="The container could not be inspected.")
    addresses = sorted({ip or "0.0.0.0" for ip, _, port in container.ports if port == server_port})
    if not addresses:
        hint = "No port of the container is published, though one is declared."
        return judged("exposure", model.bind, None, None, INSPECT, hint=hint)
    observed = ", ".join(addresses)
    open_to_all = any(map(_is_open, addresses))
    text = f"{observed}, with a key" if model.api_key is not None else observed
    hint = (
        "Everybody who reaches this machine can use the model. Set api_key, or bind: 127.0.0.1; other containers reach "
        "it through the stack's network."
    )
    return judged(
        "exposure", model.bind, observed, model.api_key is not None or not open_to_all, INSPECT, hint=hint, text=text
    )


def _is_open(address: str) -> bool:
    """Whether an address is every interface's, or one of the internet's."""
    if is_wildcard(address):
        return True
    try:
        return ipaddress.ip_address(address.strip("[]")).is_global
    except ValueError:
        return True


def networks(case: Case) -> Verdict | None:
    """It is in every further network that is declared: somebody may have disconnected it, or removed one."""
    if not case.model.networks:
        return None
    asked, container = ", ".join(sorted(case.model.networks)), case.evidence.container
    if container is None:
        return judged("networks", asked, None, None, INSPECT, hint="The container could not be inspected.")
    missing = sorted(set(case.model.networks) - set(container.addresses))
    joined = ", ".join(sorted(set(case.model.networks) & set(container.addresses)))
    hint = f"Join it: docker network connect {missing[0]} {container.name}" if missing else ""
    return judged("networks", asked, joined, not missing, INSPECT, hint=hint, text=joined or "none of them")


def restarts(case: Case) -> Verdict | None:
    """It has not ended and been started again by the engine."""
    container = case.evidence.container
    if container is None:
        return judged("restarts", 0, None, None, INSPECT, hint="The container could not be inspected.")
    count = container.restart_count
    restarting = container.status == "restarting"
    hint = "It ends again and again, and the engine starts it anew; homellm logs tells why."
    text = f"{count}, restarting" if restarting else ""
    return judged("restarts", 0, count, count == 0 and not restarting, INSPECT, hint=hint, text=text)


def groups(case: Case) -> Verdict | None:
    """The process belongs to the group that owns the GPU's render node."""
    gpu, process = case.evidence.gpu, case.evidence.process
    if case.model.gpu is None or gpu is None or gpu.render_gid is None or gpu.vendor == "nvidia":
        return None
    asked = gpu.render_gid
    if process is None:
        return judged("groups", asked, None, None, case.process_source, hint=_UNREAD)
    observed = ", ".join(map(str, process.groups))
    hint = f"Without group {asked} only root may use the GPU; homellm up passes it, so something else started this."
    return judged("groups", asked, observed or None, asked in process.groups, case.process_source, hint=hint)

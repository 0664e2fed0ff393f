"""What the host gives and the container shows to the outside: CPUs, groups, ports, restarts."""

from __future__ import annotations

from homellm.domain.addresses import is_every, is_loopback, plain
from homellm.domain.names import LABEL_STACK, network_alias, network_name
from homellm.domain.stack import SERVER_PORT, Model
from homellm.domain.verdicts import Verdict
from homellm.domain.world import Container
from homellm.health.checks.case import INSPECT, Case, judged

#: Where the container is at fault and not the file.
NOT_APPLIED = "What runs is not what the stack file declares; homellm up applies it."
_NOT_PUBLISHED = (
    "The file declares a port and the container publishes none: homellm up applies the file; where that changes "
    "nothing, homellm up --force-recreate makes it anew."
)
_OPEN = (
    "Everybody who reaches {where} can use the model. Set api_key, or bind: 127.0.0.1; other containers reach "
    "it through the stack's network."
)
#: A model that is declared on Ollama cannot be given a key: nobody would ask for it there.
_OPEN_MOVED = (
    "Everybody who reaches {where} can use the model. Set bind: 127.0.0.1, or runner: llama-server and api_key; other "
    "containers reach it through the stack's network."
)
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
    hint = (
        "The process may run on other CPUs than declared: somebody changed its cpuset after the start (docker update). "
        "To make the container anew as declared: homellm up --force-recreate."
    )
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


def port(case: Case, server_port: int = SERVER_PORT) -> Verdict | None:
    """The port that is really published is the declared one; the file may have been edited since."""
    asked, container = case.model.port, case.evidence.container
    if container is None:
        hint = "The container could not be inspected."
        return None if asked is None else judged("port", asked, None, None, INSPECT, hint=hint)
    found = sorted({number for _, number in container.published(server_port)})
    if asked is None and not found:
        return None
    observed = found[0] if len(found) == 1 else ", ".join(map(str, found)) or None
    text = "" if found else "none is published"
    hint = NOT_APPLIED if found else _NOT_PUBLISHED
    return judged("port", asked, observed, observed == asked, INSPECT, hint=hint, text=text)


def exposure(case: Case, server_port: int = SERVER_PORT, open_hint: str = "") -> Verdict | None:
    """A server that others than this machine's programs reach wants a key; address and key are the container's own.

    An address of the LAN is no other thing than every address: who is in the LAN reaches both. On a bridge of Docker's
    there are this machine's containers alone. `open_hint` says `{where}` others come.
    """
    model, container = case.model, case.evidence.container
    if container is None:
        hint = "The container could not be inspected."
        return None if model.port is None else judged("exposure", model.bind, None, None, INSPECT, hint=hint)
    addresses = {ip or "0.0.0.0" for ip, _ in container.published(server_port)}
    if not addresses:
        hint = "No port of the container is published, though one is declared."
        return None if model.port is None else judged("exposure", model.bind, None, None, INSPECT, hint=hint)
    observed, keyed = ", ".join(sorted(addresses)), model.api_key is not None
    own = case.evidence.bridges
    open_to_others = sorted(address for address in addresses if not is_loopback(address) and plain(address) not in own)
    safe = container.has_key or not open_to_others
    declared = model.port is not None
    as_declared = declared and same_addresses(model.bind, addresses) and keyed == container.has_key
    # Where the file itself is what leaves it open, applying the file closes nothing.
    open_hint = open_hint or (_OPEN if model.runner == "llama-server" else _OPEN_MOVED)
    hint = open_hint.format(where=reached_at(open_to_others)) if as_declared else NOT_APPLIED
    return judged(
        "exposure",
        model.bind if declared else None,
        observed,
        safe and as_declared,
        INSPECT,
        hint=hint,
        text=_with_key(observed, container.has_key, told=keyed or container.has_key),
        asked_text=_with_key(model.bind, keyed, told=keyed) if declared else "",
    )


def _with_key(address: str, keyed: bool, *, told: bool) -> str:
    return f"{address}, {'with' if keyed else 'without'} a key" if told else address


def same_addresses(bind: str, addresses: set[str]) -> bool:
    """Whether a port is published on the declared address alone.

    Every address of IPv4 is not every address of IPv6; an engine may add the other one to a wildcard.
    """
    asked, found = plain(bind), {plain(address) for address in addresses}
    return found == {asked} or (asked in found and all(map(is_every, found)))


def reached_at(addresses: list[str]) -> str:
    """Where others come to what is published on these addresses, in words."""
    return "this machine" if any(map(is_every, addresses)) else " or ".join(map(plain, addresses))


def networks(case: Case) -> Verdict | None:
    """It is in every further network that is declared, and in that of its stack, under its name.

    Somebody may have disconnected it, or removed one. Of the stack's own network only what is wrong is told.
    """
    container = case.evidence.container
    if container is None:
        asked = ", ".join(sorted(case.model.networks))
        hint = "The container could not be inspected."
        return judged("networks", asked, None, None, INSPECT, hint=hint) if asked else None
    own = network_name(container.label(LABEL_STACK)) if container.label(LABEL_STACK) else ""
    nameless = sorted(name for name in {own, *case.model.networks} if _lacks_name(case.model, container, name))
    missing = sorted({own, *case.model.networks} - {"", *container.addresses})
    wanted = {*case.model.networks} | ({own} & {*nameless, *missing})
    if not wanted:
        return None
    joined = ", ".join(sorted(wanted & {*container.addresses}))
    hint, text = "", joined or "none of them"
    if own in missing or nameless:
        hint = "Somebody disconnected it, or removed the network. Make it anew: homellm up --force-recreate"
    elif missing:
        hint = f"Join it: docker network connect {missing[0]} {container.name}"
    if nameless:
        text = f"{text}, in {', '.join(nameless)} without its name {network_alias(case.model)}"
    passed = not (missing or nameless)
    return judged("networks", ", ".join(sorted(wanted)), joined, passed, INSPECT, hint=hint, text=text)


def _lacks_name(model: Model, container: Container, network: str) -> bool:
    """Whether other containers of a network do not reach it by its name: who connects it by hand gives it none.

    A server of Ollama's has another one than its models.
    """
    names = container.aliases.get(network)
    return names is not None and model.runner == "llama-server" and network_alias(model) not in names


def restarts(case: Case, serves: bool | None = None) -> Verdict | None:
    """It has not ended and been started again by the engine; `serves` tells whether it serves now, by /health else.

    One that came back and serves is advice, and says what clears it: the engine counts until somebody starts it.
    """
    container, name = case.evidence.container, case.model.name
    if container is None:
        return judged("restarts", 0, None, None, INSPECT, hint="The container could not be inspected.")
    count = container.restart_count
    restarting = container.status == "restarting"
    text = f"{count}, restarting" if restarting else ""
    serves = serves if serves is not None else case.evidence.healthy
    if restarting or (count > 1 and not serves):
        hint = f"It ends again and again, and the engine starts it anew; homellm logs {name} tells why."
    else:
        last = container.finished_at[:19].replace("T", " ")
        hint = (
            f"It ended, last at {last} UTC, and the engine started it anew{'; it serves now' if serves else ''}. "
            f"homellm logs {name} tells why; homellm restart {name} clears the count."
        )
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

"""ContainerSpecs to a bash script of `docker` commands that makes the same containers, each argument with its why."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from homellm.domain.secret import Secret, reveal
from homellm.domain.spec import ContainerSpec, EnvVar, GpuRequest, Mount, NetworkAttachment, PublishedPort
from homellm.render import reasons
from homellm.render.body import entrypoint_and_command
from homellm.render.layout import Line, fill
from homellm.render.quoting import comment, csv, duration, shell_word, shell_words
from homellm.render.secrets import References, secret_references

#: A name that bash takes in an assignment before a command.
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True, slots=True)
class Unit:
    """One container of the script. `assignments` hand secrets to docker by its environment, not by its argv."""

    name: str
    image: str
    networks: tuple[str, ...]
    options: tuple[Line, ...]
    command: tuple[Line, ...]
    assignments: str
    joins: tuple[str, ...]


def render_run(
    specs: Sequence[ContainerSpec],
    template: str,
    *,
    title: str,
    notes: Sequence[str] = (),
    show_secrets: bool = False,
) -> str:
    """The script, through the template text (`templates/run.sh.j2`); `notes` stand at its head as comments.

    A container with several networks is created, joined to them and started, since Engine 20.10 takes one network at
    creation. Secrets become variables that the script asks for, unless `show_secrets`. Raises ValueError for a value
    that no shell can hold.
    """
    references: References = {} if show_secrets else secret_references(specs)
    return fill(
        template,
        title=comment(title),
        notes=[comment(note) for note in notes],
        units=[_unit(spec, references) for spec in specs],
        variables=sorted(references.values()),
    )


def _unit(spec: ContainerSpec, references: References) -> Unit:
    entrypoint, command = entrypoint_and_command(spec)
    first, *others = spec.networks or (None,)
    return Unit(
        name=shell_word(spec.name),
        image=shell_word(spec.image),
        networks=tuple(shell_word(network.name) for network in spec.networks if not network.external),
        options=_options(spec, entrypoint, first, references),
        command=_command(spec, command),
        assignments=_assignments(spec, references),
        joins=tuple(_join(network) for network in others if network is not None),
    )


def _command(spec: ContainerSpec, command: tuple[str, ...]) -> tuple[Line, ...]:
    """The command, one argument a line; words of an entrypoint of several words come first."""
    before = command[: len(command) - len(spec.argv)]
    return (
        *(Line(shell_word(word)) for word in before),
        *(Line(shell_words(arg.words), comment(arg.because)) for arg in spec.args),
    )


def _options(
    spec: ContainerSpec, entrypoint: str | None, network: NetworkAttachment | None, references: References
) -> tuple[Line, ...]:
    lines = [_line("--name", spec.name, reasons.NAME)]
    if entrypoint is not None:
        lines.append(_line("--entrypoint", entrypoint, reasons.ENTRYPOINT))
    if network is not None:
        lines.append(_line("--network", network.name, reasons.network(network)))
        lines.extend(_line("--network-alias", alias, because=reasons.ALIAS) for alias in network.aliases)
    lines.extend(_line("--publish", _publish(port), reasons.published(port)) for port in spec.ports)
    lines.extend(_env(spec, variable, references) for variable in spec.env)
    lines.extend(_line("--mount", _mount(mount), because=mount.because) for mount in spec.mounts)
    lines.extend(_line("--device", f"{d.host}:{d.container}", because=d.because) for d in spec.devices)
    lines.extend(line for request in spec.gpu_requests for line in _gpu(request))
    lines.extend(
        _line("--group-add", str(gid), because="the group of the device on this host") for gid in spec.group_add
    )
    lines.extend(_limits(spec))
    lines.extend(_policies(spec))
    lines.extend(_line("--label", f"{name}={value}", reasons.LABEL) for name, value in spec.labels.items())
    return tuple(lines)


def _line(flag: str, value: str, because: str = "") -> Line:
    return Line(f"{flag} {shell_word(value)}", comment(because))


def _publish(port: PublishedPort) -> str:
    address = f"[{port.host_ip}]" if ":" in port.host_ip else port.host_ip
    return f"{address}:{port.host_port}:{port.container_port}"


def _env(spec: ContainerSpec, variable: EnvVar, references: References) -> Line:
    reference = references.get((spec.name, variable.name))
    if reference is None:
        return _line("--env", f"{variable.name}={reveal(variable.value)}", because=variable.because)
    if _IDENTIFIER.fullmatch(variable.name):
        return _line("--env", variable.name, because=variable.because)
    return Line(f'--env {shell_word(variable.name)}="${reference}"', comment(variable.because))


def _assignments(spec: ContainerSpec, references: References) -> str:
    return "".join(
        f'{variable.name}="${references[spec.name, variable.name]}" '
        for variable in spec.env
        if isinstance(variable.value, Secret)
        and (spec.name, variable.name) in references
        and _IDENTIFIER.fullmatch(variable.name)
    )


def _mount(mount: Mount) -> str:
    fields = [f"type={mount.kind}", f"source={mount.source}", f"target={mount.target}"]
    if mount.read_only:
        fields.append("readonly")
    if mount.kind == "volume":
        fields.append("volume-nocopy")
    return csv(tuple(fields))


def _gpu(request: GpuRequest) -> tuple[Line, ...]:
    if request.driver == "cdi":
        return tuple(_line("--device", device, because=request.because) for device in request.device_ids)
    return (_line("--gpus", csv(("driver=nvidia", f"device={','.join(request.device_ids)}")), because=request.because),)


def _limits(spec: ContainerSpec) -> list[Line]:
    values = (
        ("--cpuset-cpus", spec.cpuset, reasons.CPUSET),
        ("--cpu-shares", spec.cpu_shares, reasons.CPU_SHARES),
        ("--memory", spec.memory_bytes, reasons.MEMORY),
        ("--shm-size", spec.shm_size_bytes, reasons.SHM_SIZE),
    )
    return [_line(flag, str(value), because) for flag, value, because in values if value is not None]


def _policies(spec: ContainerSpec) -> list[Line]:
    lines = [_line("--cap-add", capability, reasons.CAPABILITY) for capability in spec.cap_add]
    if spec.log is not None:
        lines.append(_line("--log-driver", spec.log.driver, reasons.LOG if spec.log.options else ""))
        lines.extend(_line("--log-opt", f"{name}={value}") for name, value in spec.log.options.items())
    if spec.health_check is not None:
        lines.extend(_health(spec))
    lines.append(_line("--stop-timeout", str(spec.stop_grace_s), because=reasons.STOP))
    lines.append(_line("--restart", spec.restart, reasons.RESTART))
    return lines


def _health(spec: ContainerSpec) -> list[Line]:
    check = spec.health_check
    assert check is not None  # noqa: S101 - the caller asked
    lines = [_line("--health-start-period", f"{check.start_period_s}s", reasons.HEALTH)] if check.start_period_s else []
    if check.interval_s:
        lines.append(_line("--health-interval", duration(check.interval_s)))
    if check.timeout_s:
        lines.append(_line("--health-timeout", duration(check.timeout_s)))
    if check.retries:
        lines.append(_line("--health-retries", str(check.retries)))
    return lines


def _join(network: NetworkAttachment) -> str:
    aliases = tuple(word for alias in network.aliases for word in ("--alias", alias))
    return shell_words((*aliases, network.name))

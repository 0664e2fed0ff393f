"""ContainerSpecs to a compose file that makes the same containers, each argument with its why.

Checked against Compose 5.6 on a real engine: with the image's own health check only `start_period` is written and
the rest stays the image's; `create_host_path: false` makes Compose use Mounts for a bind, `nocopy: true` for a named
volume; the network with the highest priority is the one given at creation.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from homellm.domain.secret import reveal
from homellm.domain.spec import ContainerSpec, EnvVar, GpuRequest, HealthCheck, Mount, NetworkAttachment, PublishedPort
from homellm.render import reasons
from homellm.render.body import entrypoint_and_command
from homellm.render.layout import Line, fill
from homellm.render.quoting import comment, compose_string, duration, yaml_string
from homellm.render.secrets import References, secret_references

_NOT_PROJECT = re.compile(r"[^a-z0-9_-]")
#: Compose gives the network of the highest priority at creation; any number above its default of 0 does.
_FIRST_NETWORK_PRIORITY = 1000


@dataclass(frozen=True, slots=True)
class Service:
    """One service of the file: its name and its lines."""

    name: str
    lines: tuple[Line, ...]


def render_compose(
    specs: Sequence[ContainerSpec],
    template: str,
    *,
    project: str,
    title: str,
    notes: Sequence[str] = (),
    show_secrets: bool = False,
) -> str:
    """The compose file, through the template text (`templates/compose.yaml.j2`); `notes` stand at its head.

    A service has the name of its container. Secrets become `${VARIABLE}` references, unless `show_secrets`.
    """
    references: References = {} if show_secrets else secret_references(specs)
    return fill(
        template,
        title=comment(title),
        notes=[comment(note) for note in notes],
        project=yaml_string(project_name(project)),
        variables=sorted(references.values()),
        services=[Service(yaml_string(spec.name), tuple(_service(spec, references))) for spec in specs],
        networks=_networks(specs),
        volumes=sorted(
            {yaml_string(mount.source) for spec in specs for mount in spec.mounts if mount.kind == "volume"}
        ),
    )


def project_name(stack: str) -> str:
    """A stack's name as Compose wants a project's: lower case, digits, `-` and `_`, beginning with one of the first."""
    name = _NOT_PROJECT.sub("-", stack.lower()).lstrip("-_")
    return name or "homellm"


def _service(spec: ContainerSpec, references: References) -> Iterator[Line]:
    yield Line(f"container_name: {compose_string(spec.name)}", reasons.NAME)
    yield Line(f"image: {compose_string(spec.image)}")
    entrypoint, command = entrypoint_and_command(spec)
    if entrypoint is not None:
        yield Line(f"entrypoint: [{compose_string(entrypoint)}]", reasons.ENTRYPOINT)
    if command:
        yield Line("command:", below=tuple(_command(spec, command)))
    yield from _block("environment:", [_env(spec, variable, references) for variable in spec.env])
    yield from _block("volumes:", [_mount(mount) for mount in spec.mounts])
    yield from _block("ports:", [_port(port) for port in spec.ports])
    yield from _block("networks:", [_network(network, n == 0) for n, network in enumerate(spec.networks)])
    yield from _devices(spec)
    yield from _limits(spec)
    yield from _policies(spec)
    labels = [
        Line(f"{yaml_string(name)}: {compose_string(value)}", reasons.LABEL) for name, value in spec.labels.items()
    ]
    yield from _block("labels:", labels)


def _block(head: str, lines: list[Line]) -> Iterator[Line]:
    if lines:
        yield Line(head, below=tuple(lines))


def _command(spec: ContainerSpec, command: tuple[str, ...]) -> Iterator[Line]:
    for word in command[: len(command) - len(spec.argv)]:
        yield Line(f"- {compose_string(word)}")
    for arg in spec.args:
        yield Line(f"- {compose_string(arg.flag)}", comment(arg.because))
        if arg.value is not None:
            yield Line(f"- {compose_string(arg.value)}")


def _env(spec: ContainerSpec, variable: EnvVar, references: References) -> Line:
    reference = references.get((spec.name, variable.name))
    if reference is None:
        value = compose_string(reveal(variable.value))
    else:
        value = yaml_string(f"${{{reference}:?set it to the value of {variable.name.replace('$', '')}}}")
    return Line(f"{yaml_string(variable.name)}: {value}", comment(variable.because))


def _mount(mount: Mount) -> Line:
    fields = [
        f"type: {mount.kind}",
        f"source: {compose_string(mount.source)}",
        f"target: {compose_string(mount.target)}",
    ]
    if mount.read_only:
        fields.append("read_only: true")
    fields.append("bind: {create_host_path: false}" if mount.kind == "bind" else "volume: {nocopy: true}")
    return _mapping_item(fields, mount.because)


def _port(port: PublishedPort) -> Line:
    fields = [
        f"host_ip: {yaml_string(port.host_ip)}",
        f'published: "{port.host_port}"',
        f"target: {port.container_port}",
    ]
    return _mapping_item(fields, reasons.published(port))


def _mapping_item(fields: list[str], because: str) -> Line:
    first, *others = fields
    return Line(f"- {first}", comment(because), tuple(Line(field) for field in others))


def _network(network: NetworkAttachment, first: bool) -> Line:
    below = [Line(f"priority: {_FIRST_NETWORK_PRIORITY}", "the network that is given at creation")] if first else []
    if network.aliases:
        below.append(Line(f"aliases: [{', '.join(map(compose_string, network.aliases))}]"))
    head = f"{yaml_string(network.name)}:{'' if below else ' {}'}"
    return Line(head, reasons.network(network), tuple(below))


def _devices(spec: ContainerSpec) -> Iterator[Line]:
    nodes = [Line(f"- {compose_string(f'{d.host}:{d.container}')}", comment(d.because)) for d in spec.devices]
    cdi = [
        Line(f"- {compose_string(device)}", comment(request.because))
        for request in spec.gpu_requests
        if request.driver == "cdi"
        for device in request.device_ids
    ]
    yield from _block("devices:", nodes + cdi)
    groups = [Line(f'- "{gid}"', reasons.GROUP) for gid in spec.group_add]
    yield from _block("group_add:", groups)
    nvidia = [request for request in spec.gpu_requests if request.driver == "nvidia"]
    if nvidia:
        items = [
            _mapping_item(
                [
                    "driver: nvidia",
                    f"device_ids: [{', '.join(map(compose_string, r.device_ids))}]",
                    "capabilities: [gpu]",
                ],
                r.because,
            )
            for r in nvidia
        ]
        devices = Line("devices:", below=tuple(items))
        yield Line("deploy:", below=(Line("resources:", below=(Line("reservations:", below=(devices,)),)),))


def _gpu_request(request: GpuRequest) -> Line:
    ids = ", ".join(map(compose_string, request.device_ids))
    return _mapping_item(["driver: nvidia", f"device_ids: [{ids}]", "capabilities: [gpu]"], request.because)


def _limits(spec: ContainerSpec) -> Iterator[Line]:
    if spec.cpuset is not None:
        yield Line(f"cpuset: {yaml_string(spec.cpuset)}", reasons.CPUSET)
    if spec.cpu_shares is not None:
        yield Line(f"cpu_shares: {spec.cpu_shares}", reasons.CPU_SHARES)
    if spec.memory_bytes is not None:
        yield Line(f"mem_limit: {spec.memory_bytes}", reasons.MEMORY)
    if spec.shm_size_bytes is not None:
        yield Line(f"shm_size: {spec.shm_size_bytes}", reasons.SHM_SIZE)


def _policies(spec: ContainerSpec) -> Iterator[Line]:
    if spec.cap_add:
        yield Line(f"cap_add: [{', '.join(map(compose_string, spec.cap_add))}]", reasons.CAPABILITY)
    if spec.log is not None:
        options = [Line(f"{yaml_string(k)}: {compose_string(v)}") for k, v in spec.log.options.items()]
        yield Line(
            "logging:",
            reasons.LOG if options else "",
            (Line(f"driver: {compose_string(spec.log.driver)}"), *_block("options:", options)),
        )
    if spec.health_check is not None:
        yield Line("healthcheck:", reasons.HEALTH, tuple(_health(spec.health_check)))
    yield Line(f"stop_grace_period: {spec.stop_grace_s}s", reasons.STOP)
    yield Line(f"restart: {yaml_string(spec.restart)}", reasons.RESTART)


def _health(check: HealthCheck) -> Iterator[Line]:
    times = (
        ("start_period", check.start_period_s),
        ("interval", check.interval_s),
        ("timeout", check.timeout_s),
    )
    for name, seconds in times:
        if seconds:
            yield Line(f"{name}: {duration(seconds)}")
    if check.retries:
        yield Line(f"retries: {check.retries}")


def _networks(specs: Sequence[ContainerSpec]) -> list[Line]:
    """Every network once, under its own name; the external ones must be there already."""
    known: dict[str, bool] = {}
    for spec in specs:
        for network in spec.networks:
            known[network.name] = known.get(network.name, True) and network.external
    return [
        Line(
            f"{yaml_string(name)}:",
            below=(Line(f"name: {compose_string(name)}"), *((Line("external: true"),) if external else ())),
        )
        for name, external in known.items()
    ]

"""Ollama servers: ours as units that are swapped like any other, others by their URL."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from homellm.deploy.engine_return import once_reachable
from homellm.deploy.follow import TICK_S
from homellm.deploy.job import Job
from homellm.deploy.observe import read_log
from homellm.deploy.ollama_kept import kept_made
from homellm.deploy.ollama_reached import Reached
from homellm.deploy.ollama_record import (
    ServerRecord,
    has_server_record,
    read_server_record,
    update_server_record,
    write_server_record,
)
from homellm.deploy.published import SETTLE_S, dead_port
from homellm.deploy.scope import Scope
from homellm.deploy.session import Emit, Ports
from homellm.deploy.settle import other_at_work, runs_as_declared, unit_of, with_advice
from homellm.deploy.unit import UnitRun
from homellm.deploy.witness import base_urls
from homellm.domain.events import Note, Progress
from homellm.domain.names import LABEL_DECLARED, server_container_name
from homellm.domain.stack import OLLAMA_PORT, OllamaServer, Stack
from homellm.domain.world import Container, World
from homellm.errors import ContainerGone, HomellmError, Problem, Refused
from homellm.health.checks.gates import dead_port_hint
from homellm.health.exits import diagnose_exit
from homellm.planning.desired import Desired, desire_server
from homellm.planning.preflight import preflight_server
from homellm.planning.units import Unit, sort_unit


def server_unit(server: OllamaServer, stack: Stack, world: World) -> Unit:
    """What the engine holds of a server."""
    return sort_unit(server_container_name(stack, server), server.name, world.containers)


def settle_server(
    server: OllamaServer, stack: Stack, world: World, *, fit: bool = True
) -> tuple[Desired, Unit, tuple[Problem, ...]]:
    """What is wanted of a server of ours, what is there, and what is known to stop it."""
    desired = desire_server(server, stack.models_on(server), stack, world)
    unit = server_unit(server, stack, world)
    kept = runs_as_declared(unit, desired)
    found = desired.problems + preflight_server(server, stack, unit, world, fit=fit, kept=kept)
    return with_advice(desired, found, unit)


def reach(server: OllamaServer, job: Job, emit: Emit) -> Reached:
    """The server, started or swapped if need be, and answering. Raises HomellmError when it cannot be had."""
    if server.url is not None:
        api = job.ports.ollamas.api(server.url)
        return Reached(server, server.url, api.version(), api, None, job.ports)
    desired, unit, problems = settle_server(server, job.stack, job.world, fit=job.options.fit)
    problems += other_at_work(unit, server.name, job)
    if problems:
        raise Refused(problems[0].message, problems=problems)
    _ensure_store(server, job, emit)
    prove = _Prove(server, job, emit)
    carried = UnitRun(desired, unit, job, emit, server.gpu or "cpu", prove.by_name, prove.container).run()
    for note in carried.notes:
        emit(Note(note, model=server.name))
    if carried.error is not None:
        raise carried.error
    prove.by_name(unit.name, job.scope)  # one that was started by itself, after a reboot, may not answer yet
    reached = find(server, job.stack, job.ports)
    _hand_on(unit, reached, job)
    _keep_declared(desired, reached, job)
    if not carried.changed:
        _tell_of_new_models(desired, reached, job, emit)
    return reached


def _tell_of_new_models(desired: Desired, reached: Reached, job: Job, emit: Emit) -> None:
    """The notes on a server that nothing is done to, where a model is new on it: what they say may be new as well."""
    proofs = read_server_record(reached.container, reached.url, job.ports).proofs
    unproved = (one for one in job.stack.models_on(reached.server) if one.name not in proofs)
    if any(
        one.name in job.world.gathered_for and unit_of(one, job.stack, job.world).current is None for one in unproved
    ):
        for note in desired.notes:
            emit(Note(note, model=reached.server.name))


def _ensure_store(server: OllamaServer, job: Job, emit: Emit) -> None:
    """A declared folder that is not there yet is made, by us: the engine would refuse the mount."""
    store = server.store
    if store is None or store.named or not job.world.engine.local:
        return
    if job.ports.ollamas.make_folder(Path(store.source)):
        emit(Note(f"made the folder {store.source} for the models of {server.name}"))


def _keep_declared(desired: Desired, reached: Reached, job: Job) -> None:
    """Keep that the server is made as is declared now, where its label tells that otherwise: a label cannot change."""
    declared, container = desired.declared, reached.container
    if container is None or container.label(LABEL_DECLARED) == declared:
        return
    if read_server_record(container, reached.url, job.ports).own_declared != declared:
        keep: Callable[[ServerRecord], ServerRecord] = lambda record: replace(record, own_declared=declared)  # noqa: E731
        update_server_record(container, reached.url, job, keep)


def _hand_on(unit: Unit, reached: Reached, job: Job) -> None:
    """What homellm learned of this store and its models holds for a successor as well.

    Also when the run that made it was cut off before this: then the predecessor has another name by now.
    """
    if reached.container is None or has_server_record(reached.container, job.ports):
        return
    before = (unit.current, *(unit.previous[number] for number in sorted(unit.previous)))
    for container in before:
        if container is None or container.id == reached.container.id or not has_server_record(container, job.ports):
            continue
        kept = replace(read_server_record(container, reached.url, job.ports), own_declared="")
        write_server_record(reached.container, reached.url, kept, job.ports)
        return
    store = reached.store()
    made = kept_made(reached, lambda name: store.find(name).digest, job.ports) if store is not None else {}
    if made:  # `down` took the container and its record, and the store has what was made for it
        write_server_record(reached.container, reached.url, ServerRecord(made=made), job.ports)


def find(server: OllamaServer, stack: Stack, ports: Ports) -> Reached:
    """A server that is there and answers. Raises HomellmError when it is not, or does not."""
    if server.url is not None:
        api = ports.ollamas.api(server.url)
        return Reached(server, server.url, api.version(), api, None, ports)
    container = ports.engine.find_container(server_container_name(stack, server))
    if container is None or not container.running:
        raise Refused(f"the Ollama server {server.name} does not run", hint="homellm up starts it.", id="not-running")
    for url in base_urls(container, OLLAMA_PORT):
        try:
            api = ports.ollamas.api(url)
            reached = Reached(server, url, api.version(), api, container, ports)
        except HomellmError:
            continue
        _ensure_published(server, container, url, ports)
        return reached
    raise Refused(
        f"the Ollama server {server.name} runs and does not answer",
        hint=f"Read its log: docker logs {container.name}",
        id="ollama-unreachable",
    )


def _ensure_published(server: OllamaServer, container: Container, url: str, ports: Ports) -> None:
    """Raises Refused where the server answers at `url`, which is inside Docker, and not where it is published."""
    dead = dead_port(container, url, ports, OLLAMA_PORT)
    if dead:
        inside = url.removeprefix("http://")
        raise Refused(
            f"the Ollama server {server.name} answers inside Docker at {inside}, and not at {dead}",
            hint=dead_port_hint(container.name),
            id="port-dead",
        )


def await_answer(server: OllamaServer, ref: str, job: Job, emit: Emit) -> None:
    """Wait until the server in a container answers. Raises HomellmError when it ends, or at the verb's deadline."""
    _Prove(server, job, emit).by_name(ref, job.scope)


@dataclass(frozen=True, slots=True)
class _Prove:
    """A server is proved when its API answers: what models get is proved model by model."""

    server: OllamaServer
    job: Job
    emit: Emit

    def container(self, container: Container, scope: Scope) -> None:
        self.by_name(container.name, scope)

    def by_name(self, ref: str, scope: Scope) -> None:
        self.emit(Progress(self.server.name, "starting"))
        clock, settle_by_s = self.job.ports.clock, None
        while True:
            scope.check()
            container = self._find(ref)
            url = self._answers(container)
            if url:
                settle_by_s = settle_by_s or clock.monotonic() + SETTLE_S
                if self._is_published(container, url, last=clock.monotonic() >= settle_by_s):
                    return
            if clock.monotonic() >= self.job.limits.deadline:
                raise Refused(f"the Ollama server {self.server.name} did not answer in time", id="timeout")
            scope.wait(TICK_S)

    def _find(self, ref: str) -> Container:
        ports, options = self.job.ports, self.job.options
        container = once_reachable(lambda: ports.engine.find_container(ref), options.engine_return_s)
        if container is None:
            raise ContainerGone(f"the container {ref} was removed while homellm waited for it")
        if not container.running:
            raise self._ended(container)
        return container

    def _answers(self, container: Container) -> str:
        """The first URL that answers, empty for none."""
        urls = base_urls(container, OLLAMA_PORT)
        return next((url for url in urls if _version(self.job.ports.ollamas.api(url).version)), "")

    def _is_published(self, container: Container, url: str, *, last: bool) -> bool:
        """Whether it answers where clients are sent; raises Refused with `last` where it does not."""
        try:
            _ensure_published(self.server, container, url, self.job.ports)
        except Refused:
            if last:
                raise
            return False
        return True

    def _ended(self, container: Container) -> Refused:
        problem = diagnose_exit(
            container.exit_code,
            oom_killed=container.oom_killed,
            summary=read_log(container, self.job.ports),
            memory_limit_bytes=container.memory_bytes or None,
            image=self.server.image,
        )
        return Refused(problem.message, problems=(problem,))


def _version(ask: Callable[[], str]) -> str:
    """The version, empty while nobody answers."""
    try:
        return ask()
    except HomellmError:
        return ""

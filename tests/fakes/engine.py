"""An Engine in memory. The daemon is a FakeState; each FakeEngine is one process of homellm that talks to it."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

from homellm.adapters import docker_parse
from homellm.adapters.docker_probe import run_probe
from homellm.adapters.docker_pull import Pull
from homellm.adapters.docker_removal import insist
from homellm.domain.stack import RestartPolicy
from homellm.domain.world import Container, EngineInfo, Image, Network
from homellm.errors import EngineUnreachable
from homellm.ports import Created, Json, ProbeResult, PullStream, Stream
from tests.fakes import refusals
from tests.fakes.container import FOLDERS, Endpoint
from tests.fakes.state import FakeState, digest
from tests.fakes.streams import FakeLog, FakePullConnection

#: The calls that change something.
MUTATING = frozenset(
    {
        "create",
        "start",
        "kill",
        "rename",
        "set_restart_policy",
        "remove",
        "pull",
        "create_network",
        "connect_network",
        "remove_network",
        "put_file",
    }
)
_SIGNALS = frozenset({"SIGTERM", "SIGKILL", "SIGINT", "SIGHUP", "SIGUSR1", "SIGQUIT"})
#: What a call costs, so that no two things happen at one moment.
_CALL_S = 0.001


class Killed(BaseException):
    """This process of homellm is dead (SIGKILL): it sees nothing any more, the daemon goes on."""


@dataclass(frozen=True, slots=True)
class Kill:
    """Die before or after the effect of the n-th call (from 1); `only` counts calls of these methods alone."""

    n: int
    when: Literal["before", "after"]
    only: frozenset[str] | None = None


@dataclass(frozen=True, slots=True)
class Call:
    """One call that was made."""

    method: str
    args: tuple[Any, ...]

    def __str__(self) -> str:
        return " ".join((self.method, *(arg for arg in self.args if isinstance(arg, str))))


class FakeEngine:
    """Everything an Engine does, on a FakeState.

    `calls` records what was asked. `kill` lets the process die at a call; from then on every call, and every stream
    that is being read, raises Killed. `before` is told of each call first and may change the state (somebody removes
    a container meanwhile) or raise. `fail` lets coming calls of one method raise.
    """

    def __init__(
        self, state: FakeState, *, kill: Kill | None = None, before: Callable[[Call], None] | None = None
    ) -> None:
        self.state = state
        self.calls: list[Call] = []
        self._kill = kill
        self._before = before
        self._counted = 0
        self._dead = False
        self._failures: list[tuple[str, str | None, BaseException]] = []

    def fail(self, method: str, error: BaseException, *, ref: str | None = None, times: int = 1) -> None:
        """Let the next `times` calls of `method` (about `ref`, when given) raise `error` and do nothing."""
        self._failures += [(method, ref, error)] * times

    def die(self) -> None:
        """Kill this process now, from any thread."""
        with self.state.lock:
            self._dead = True
            self.state.lock.notify_all()

    def close(self) -> None:
        """Nothing to close; the real one has this too."""

    # -- the engine and what is there

    def info(self) -> EngineInfo:
        with self._call("info"):
            return self.state.info

    def list_containers(self, labels: Mapping[str, str | None]) -> tuple[Container, ...]:
        with self._call("list_containers", labels):
            found = [one for one in self.state.containers.values() if _carries(one.labels, labels)]
            # The real engine lists the newest first.
            return tuple(docker_parse.container(one.inspect()) for one in reversed(found))

    def published_ports(self) -> tuple[tuple[str, int, str], ...]:
        with self._call("published_ports"):
            return tuple(self.state.published())

    def find_container(self, ref: str) -> Container | None:
        with self._call("find_container", ref):
            return self._find(ref)

    def inspect(self, ref: str) -> Json:
        with self._call("inspect", ref):
            return self.state.must_find(ref).inspect()

    # -- containers

    def create(self, name: str, body: Json) -> Created:
        with self._call("create", name, body):
            return Created(self.state.make(name, copy.deepcopy(dict(body))).id)

    def start(self, ref: str) -> None:
        with self._call("start", ref):
            container = self.state.must_find(ref)
            if container.status not in ("running", "restarting"):
                self.state.start(container)

    def kill(self, ref: str, signal: str) -> None:
        with self._call("kill", ref, signal):
            container = self.state.must_find(ref)
            if signal not in _SIGNALS:
                refusals.refuse(f"Invalid signal: {signal}", f"send {signal} to {ref}")
            self.state.signal(container, signal)

    def wait(self, ref: str, timeout_s: float) -> int | None:
        with self._call("wait", ref, timeout_s):
            container = self.state.must_find(ref)
            if container.status not in ("running", "restarting"):
                return container.exit_code
            run, deadline_us = container.run, self.state.clock.elapsed_us + round(timeout_s * 1_000_000)
            if container.status == "restarting":
                run += 1  # the end that is asked for is that of the coming run
            while container.run <= run and container.status != "exited":
                if self.state.clock.elapsed_us >= deadline_us:
                    return None
                self.state.pass_time(container, deadline_us)
                self._check_alive()
                self.state.settle()
            return container.exit_code

    def rename(self, ref: str, name: str) -> None:
        with self._call("rename", ref, name):
            container = self.state.must_find(ref)
            if container.name == name:
                refusals.refuse("Renaming a container with the same name as its current name", f"rename {ref}")
            refusals.check_name(name)
            if holder := self.state.by_name(name):
                refusals.name_conflict(name, holder.id, renaming=True)
            container.name = name

    def set_restart_policy(self, ref: str, policy: RestartPolicy) -> None:
        with self._call("set_restart_policy", ref, policy):
            container = self.state.must_find(ref)
            if container.status == "dead":
                refusals.refuse(
                    f'Cannot update container {container.id}: container is marked for removal and cannot be "update"',
                    f"set the restart policy of {ref}",
                )
            container.policy = policy

    def remove(self, ref: str) -> None:
        with self._call("remove", ref):
            clock = self.state.clock
            insist(ref, self.state.remove, lambda _: clock.advance(_CALL_S), self._find, clock.advance)

    def logs(
        self, ref: str, *, since: str | None, follow: bool, tail: int | None = None, until: str | None = None
    ) -> Stream:
        with self._call("logs", ref, since, follow, tail):
            container = self.state.must_find(ref)
            if container.status == "dead":
                refusals.refuse("can not get logs from container which is dead or marked for removal", f"read {ref}")
            if container.log_driver == "none":
                refusals.refuse("configured logging driver does not support reading", f"read the log of {ref}")
            from_us = self.state.moment(since) if since else 0
            to_us = self.state.moment(until) if until else None
            past = [data for at, data in container.log if at >= from_us and (to_us is None or at <= to_us)]
            kept = past if tail is None else past[len(past) - min(tail, len(past)) :]
            return FakeLog(self.state, container, kept, follow=follow, check_alive=self._check_alive)

    # -- images

    def find_image(self, ref: str) -> Image | None:
        with self._call("find_image", ref):
            return self.state.find_image(ref)

    def images_named(self, repository: str) -> tuple[str, ...]:
        with self._call("images_named", repository):
            tags = (tag for image in reversed(self.state.images) for tag in image.tags)
            return tuple(tag for tag in tags if tag.startswith(f"{repository}:"))

    def pull(self, ref: str) -> PullStream:
        with self._call("pull", ref):
            return Pull(
                ref,
                lambda: FakePullConnection(self.state, ref, self._check_alive),
                lambda: self.state.find_image(ref) is not None,
                waits_s=(0.0, 0.0),
            )

    def probe(
        self, image: str, args: tuple[str, ...], labels: Mapping[str, str], *, entrypoint: tuple[str, ...] | None = None
    ) -> ProbeResult:
        # Made of single calls here as there: a process can die between any two of them.
        return run_probe(self, image, args, labels, entrypoint=entrypoint)

    # -- networks

    def find_network(self, name: str) -> Network | None:
        with self._call("find_network", name):
            return self.state.networks.get(name)

    def create_network(self, name: str, labels: Mapping[str, str]) -> None:
        with self._call("create_network", name, labels):
            if name not in self.state.networks:
                key = digest(f"network {name} {self.state.clock.elapsed_us}")
                self.state.networks[name] = Network(key, name, dict(labels))

    def connect_network(self, network: str, ref: str, aliases: tuple[str, ...]) -> None:
        with self._call("connect_network", network, ref, aliases):
            container = self.state.must_find(ref)
            # For a container that does not run the engine only notes it down, whether the network is there or not.
            if container.running and network not in self.state.networks:
                refusals.refuse(f"network {network} not found", f"join {ref} to {network}")
            if container.running and network in container.networks:
                refusals.refuse(
                    f"endpoint with name {container.name} already exists in network {network}",
                    f"join {ref} to {network}",
                )
            container.networks[network] = Endpoint(aliases)
            if container.running:
                self.state.give_addresses(container)

    def list_networks(self, labels: Mapping[str, str | None]) -> tuple[Network, ...]:
        with self._call("list_networks", labels):
            return tuple(one for one in self.state.networks.values() if _carries(one.labels, labels))

    def remove_network(self, name: str) -> None:
        with self._call("remove_network", name):
            network = self.state.networks.get(name)
            if network is None:
                return
            if any(one.running and name in one.networks for one in self.state.containers.values()):
                refusals.refuse(
                    f"error while removing network: network {name} id {network.id} has active endpoints",
                    f"remove the network {name}",
                )
            del self.state.networks[name]

    # -- files and figures

    def put_file(self, ref: str, path: str, data: bytes) -> None:
        with self._call("put_file", ref, path):
            container = self.state.must_find(ref)
            if container.host_config.get("ReadonlyRootfs"):
                refusals.refuse("container rootfs is marked read-only", f"write {path}")
            folder = path.rpartition("/")[0] or "/"
            if folder not in FOLDERS:
                refusals.refuse(f"Could not find the file {folder} in container {ref}", f"write {path}")
            container.files[path] = data

    def get_file(self, ref: str, path: str) -> bytes | None:
        with self._call("get_file", ref, path):
            return self.state.must_find(ref).files.get(path)

    def get_tree(self, ref: str, path: str) -> Mapping[str, bytes] | None:
        with self._call("get_tree", ref, path):
            files = self.state.must_find(ref).files
            folder = path.rstrip("/") + "/"
            below = {name.removeprefix(folder): data for name, data in files.items() if name.startswith(folder)}
            return below if below or (path.rstrip("/") or "/") in FOLDERS else None

    def file_size(self, ref: str, path: str) -> int | None:
        with self._call("file_size", ref, path):
            data = self.state.must_find(ref).files.get(path)
            return None if data is None else len(data)

    def memory_usage(self, ref: str) -> int | None:
        with self._call("memory_usage", ref):
            container = self.state.must_find(ref)
            if not container.running:
                return None
            ran_s = (self.state.clock.elapsed_us - container.started_us) / 1_000_000
            return round(container.behaviour.memory_bytes + ran_s * container.behaviour.growth_bytes_s)

    # -- inside

    def _find(self, ref: str) -> Container | None:
        found = self.state.find(ref)
        return docker_parse.container(found.inspect()) if found else None

    @contextmanager
    def _call(self, method: str, *args: Any) -> Iterator[None]:
        call = Call(method, args)
        with self.state.lock:
            self._check_alive()
            self.calls.append(call)
            counts = self._kill is not None and (self._kill.only is None or method in self._kill.only)
            self._counted += counts
            due = self._kill.when if self._kill and counts and self._counted == self._kill.n else None
            if due == "before":
                self._die()
            try:
                self._begin(call)
                yield
            except Exception:
                if due == "after":
                    self._die()
                raise
            if due == "after":
                self._die()

    def _begin(self, call: Call) -> None:
        self.state.clock.advance(_CALL_S)
        self.state.settle()
        if self._before:
            self._before(call)
        if self.state.down:
            raise EngineUnreachable("The fake engine is down.", id="engine-not-running")
        for failure in self._failures:
            method, ref, error = failure
            if method == call.method and (ref is None or ref in call.args):
                self._failures.remove(failure)
                raise error

    def _check_alive(self) -> None:
        if self._dead:
            raise Killed

    def _die(self) -> None:
        self.die()
        raise Killed


def _carries(labels: Mapping[str, str], asked: Mapping[str, str | None]) -> bool:
    return all(name in labels and value in (None, labels[name]) for name, value in asked.items())

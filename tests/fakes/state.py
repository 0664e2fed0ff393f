"""All that the fake engine keeps: what a daemon knows, whatever process asks it."""

from __future__ import annotations

import hashlib
import heapq
import itertools
import threading
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC
from pathlib import Path
from typing import Any

from homellm.adapters import docker_parse
from homellm.domain.world import EngineInfo, Image, Network
from homellm.errors import EngineRefused
from tests.fakes import refusals
from tests.fakes.behaviour import Behave, idle
from tests.fakes.clock import FakeClock
from tests.fakes.container import Endpoint, FakeContainer

_MICRO = 1_000_000
#: How much later than its process the engine says that a container started: lines were written before (as seen).
_STARTED_LATE_US = 500
_FIRST_DELAY_S, _LONGEST_DELAY_S, _STEADY_S = 0.1, 60.0, 10.0
_KILLED, _REFUSED = 137, 128


class FakeState:
    """The daemon: containers, images, networks, a registry, and the time at which things become due.

    `behave` decides what a started container does. `registry` holds what can be pulled by name, `pull_errors` the
    engine's texts with which the next pulls of a name fail; while `pull_hold` is
    cleared, no layer arrives. `removals_fail` is how many of the next removals of a name cannot be ended: what is left
    is dead. `listeners` are (address, port) held by programs of the
    host, `devices` the device nodes that exist, `path_exists` tells whether a bind source is there. While `down` is
    True nobody answers.
    """

    def __init__(self, clock: FakeClock | None = None, *, behave: Behave = idle, cpus: int = 4) -> None:
        self.clock = clock or FakeClock()
        self.lock = self.clock.condition
        self.behave = behave
        self.containers: dict[str, FakeContainer] = {}
        self.images: list[Image] = []
        self.networks: dict[str, Network] = {"bridge": Network(digest("bridge"), "bridge")}
        self.registry: dict[str, Image] = {}
        self.pull_errors: dict[str, list[str]] = {}
        self.removals_fail: dict[str, int] = {}
        self.pull_hold = threading.Event()
        self.pull_hold.set()
        self.listeners: set[tuple[str, int]] = set()
        self.devices: set[str] = set()
        self.nvidia = False
        self.down = False
        self.path_exists: Callable[[str], bool] = lambda path: Path(path).exists()
        self.info = EngineInfo(
            id="FAKE:ENGINE",
            version="20.10.24",
            root_dir="/var/lib/docker",
            cpus=cpus,
            memory_bytes=16 * 2**30,
            log_driver="json-file",
            os="Debian GNU/Linux 12 (bookworm)",
            runtimes=("runc",),
            address="unix:///var/run/docker.sock",
        )
        self._due: list[tuple[int, int, str, int, Callable[[FakeContainer, int], None]]] = []
        self._count = itertools.count(1)

    # -- what tests set up and look at

    def add_image(self, ref: str, **fields: Any) -> Image:
        """Make an image that is here; `fields` are those of Image (entrypoint, command, …)."""
        image = Image(**{"id": f"sha256:{digest(ref)}", "tags": (ref,), "entrypoint": ("/server",)} | fields)
        self.images.append(image)
        return image

    def arrived(self, image: Image, ref: str) -> None:
        """Let a pulled image be here under the name it was asked by; one that had the name loses it."""
        with self.lock:
            names = {"digests": (*image.digests, ref)} if "@" in ref else {"tags": (*image.tags, ref)}
            self.images = [
                replace(one, tags=tuple(tag for tag in one.tags if tag != ref))
                for one in self.images
                if one.id != image.id
            ]
            self.images.append(replace(image, **{key: tuple(dict.fromkeys(value)) for key, value in names.items()}))

    def by_name(self, name: str) -> FakeContainer | None:
        """The container of that name."""
        return next((container for container in self.containers.values() if container.name == name), None)

    def names(self) -> dict[str, str]:
        """Name and status of every container, for assertions."""
        return {container.name: container.status for container in self.containers.values()}

    def crash(self, name: str, exit_code: int, *, oom_killed: bool = False) -> None:
        """Let the process of a running container end by itself now."""
        with self.lock:
            container = self.must_find(name)
            container.oom_killed = oom_killed
            self.ended(container, self.clock.elapsed_us, exit_code)

    def vanish(self, name: str) -> None:
        """Remove a container by force, as somebody else may at any time."""
        with self.lock:
            container = self.must_find(name)
            if container.status in ("running", "restarting"):
                self.ended(container, self.clock.elapsed_us, _KILLED, restart=False)
            del self.containers[container.id]

    def vanish_half(self, name: str) -> None:
        """The same, where the engine begins the removal and cannot end it."""
        with self.lock:
            container = self.must_find(name)
            if container.status in ("running", "restarting"):
                self.ended(container, self.clock.elapsed_us, _KILLED, restart=False)
            container.status, container.error = "dead", refusals.not_removed(container.id)

    def daemon_restart(self) -> None:
        """Restart the daemon: every container is stopped, those whose policy says so are started again."""
        with self.lock:
            before = [one for one in self.containers.values() if one.status in ("running", "restarting")]
            for container in before:
                self._stopped_by_daemon(container)
            for container in list(self.containers.values()):
                if container.run and self._wanted_after_boot(container):
                    self._relaunch(container, self.clock.elapsed_us)

    # -- time

    def settle(self) -> None:
        """Let everything happen that is due by now, in its order."""
        with self.lock:
            while self._due and self._due[0][0] <= self.clock.elapsed_us:
                at_us, _, owner, run, action = heapq.heappop(self._due)
                container = self.containers.get(owner)
                if container and container.run == run:
                    action(container, at_us)
                    self.lock.notify_all()

    def pass_time(self, container: FakeContainer, deadline_us: int | None) -> None:
        """Wait for something to happen to a container, `lock` being held: an automatic clock goes there at once."""
        due = (at_us for at_us, _, owner, run, _ in self._due if owner == container.id and run == container.run)
        ends = [moment for moment in (min(due, default=None), deadline_us) if moment is not None]
        if self.clock.auto and ends:
            self.clock.advance_to(min(ends))
        else:
            self.lock.wait()

    def moment(self, text: str) -> int:
        """A time of the engine in microseconds of the clock."""
        seconds, _, fraction = (docker_parse.since_parameter(text) or "0.0").partition(".")
        start = self.clock.at(0).timestamp()
        return round((int(seconds) - start) * _MICRO) + int(fraction[:6].ljust(6, "0"))

    def text(self, at_us: int) -> str:
        """A moment as the engine writes it: no zeros at the end of the fraction."""
        moment = self.clock.at(at_us).astimezone(UTC)
        fraction = f".{moment.microsecond:06}".rstrip("0").rstrip(".")
        return f"{moment:%Y-%m-%dT%H:%M:%S}{fraction}Z"

    # -- lookups

    def find(self, ref: str) -> FakeContainer | None:
        """The container of that id or exact name."""
        return self.containers.get(ref) or self.by_name(ref)

    def must_find(self, ref: str) -> FakeContainer:
        """The same; raises ContainerGone."""
        return self.find(ref) or refusals.no_container(ref)

    def find_image(self, ref: str) -> Image | None:
        """The image of that id, tag (`latest` when none is given) or digest."""
        tagged = ref if ":" in ref.rpartition("/")[2] or "@" in ref else f"{ref}:latest"
        return next(
            (one for one in self.images if ref == one.id or tagged in one.tags or ref in (*one.tags, *one.digests)),
            None,
        )

    def published(self) -> list[tuple[str, int, str]]:
        """(host address, port, name) of what running containers publish."""
        return [
            (ip, port, container.name)
            for container in self.containers.values()
            if container.running
            for ends in container.ports.values()
            for ip, port in ends
        ]

    # -- what the engine does

    def make(self, name: str, body: Mapping[str, Any]) -> FakeContainer:
        """Create a container; raises what the engine would."""
        refusals.check_name(name)
        ref = str(body.get("Image", ""))
        image = self.find_image(ref)
        if image is None:
            shown = ref if ":" in ref.rpartition("/")[2] or "@" in ref else f"{ref}:latest"
            refusals.refuse(f"No such image: {shown}", f"create {name}")
        refusals.check_body(body, cpus=self.info.cpus, runtimes=self.info.runtimes, path_exists=self.path_exists)
        if holder := self.by_name(name):
            refusals.name_conflict(name, holder.id)
        container = FakeContainer(
            id=digest(f"container {next(self._count)}"),
            name=name,
            body=body,
            image=image,
            created_at=self.text(self.clock.elapsed_us),
            policy=((body.get("HostConfig") or {}).get("RestartPolicy") or {}).get("Name") or "no",
            networks=_first_network(body),
        )
        if not container.words:
            refusals.refuse("No command specified", f"create {name}")
        self.containers[container.id] = container
        return container

    def start(self, container: FakeContainer) -> None:
        """Start by request; raises what the engine would, and keeps its error in the state as it does."""
        if container.status == "dead":
            refusals.refuse("container is marked for removal and cannot be started", f"start {container.name}")
        self._choose(container)
        try:
            self._check_networks(container)
            refusals.check_start(container, devices=self.devices, nvidia=self.nvidia)
            ports = self._bind(container)
        except EngineRefused as error:
            container.error = error.original
            container.exit_code = container.exit_code or _REFUSED
            raise
        container.ports = ports
        container.restart_count = 0
        container.stopped_by_hand = False
        self.launch(container, self.clock.elapsed_us)

    def remove(self, ref: str) -> None:
        """Remove one that does not run; raises what the engine would."""
        container = self.must_find(ref)
        if container.status in ("running", "restarting"):
            refusals.refuse(
                f"You cannot remove a {container.status} container {container.id}. "
                "Stop the container before attempting removal or force remove",
                f"remove {ref}",
            )
        if self.removals_fail.get(container.name, 0) > 0:
            self.removals_fail[container.name] -= 1
            self.vanish_half(container.name)
            refusals.refuse(container.error, f"remove {ref}")
        del self.containers[container.id]
        self.lock.notify_all()

    def launch(self, container: FakeContainer, at_us: int) -> None:
        """Let the process run and put down what it will do."""
        what = container.behaviour
        container.run += 1
        container.status, container.exit_code, container.error, container.oom_killed = "running", 0, "", False
        container.pid, container.terms = 1000 + next(self._count), 0
        container.started_us = at_us
        container.started_at = self.text(at_us + _STARTED_LATE_US)
        container.health = "starting" if container.health_test else ""
        self.give_addresses(container)
        for after_s, text in what.lines:
            self._at(container, at_us, after_s, lambda one, us, text=text: one.log.append((us, text.encode())))
        if container.health and what.healthy_at_s is not None:
            self._at(container, at_us, what.healthy_at_s, lambda one, us: setattr(one, "health", "healthy"))
        if what.exit_at_s is not None:
            self._at(container, at_us, what.exit_at_s, self._exited)
        self.lock.notify_all()
        self.settle()

    def signal(self, container: FakeContainer, name: str) -> None:
        """Send a signal; one that comes too late does nothing."""
        if container.status not in ("running", "restarting"):
            return
        container.stopped_by_hand = True
        now = self.clock.elapsed_us
        if container.status == "restarting":
            self.ended(container, now, container.exit_code, keep_times=True)
        elif name == "SIGKILL":
            self.ended(container, now, _KILLED)
        elif name in ("SIGTERM", "SIGINT") and _listens(container, now):
            container.terms += 1
            if container.terms >= container.behaviour.term_signals:
                self.ended(container, now, container.behaviour.term_exit_code)

    def ended(
        self,
        container: FakeContainer,
        at_us: int,
        exit_code: int,
        *,
        restart: bool = True,
        keep_times: bool = False,
    ) -> None:
        """The process has ended; the restart policy decides whether it comes again."""
        if not keep_times:
            container.finished_at = self.text(at_us)
        container.exit_code, container.pid, container.status = exit_code, 0, "exited"
        container.health = "unhealthy" if container.health else ""
        container.run += 1
        for end in container.networks.values():
            end.address = ""
        if restart and not container.stopped_by_hand and _wants_restart(container):
            container.status = "restarting"
            container.restart_count += 1
            self._at(container, at_us, _delay_s(container, at_us), self._relaunch)
        self.lock.notify_all()

    def give_addresses(self, container: FakeContainer) -> None:
        """Let a running container have an address in each of its networks."""
        for name, end in container.networks.items():
            number = next(self._count)
            end.address = end.address or f"172.{18 + sorted(self.networks).index(name)}.{number // 250}.{number % 250}"
            end.network_id = self.networks[name].id

    # -- inside

    def _at(
        self, container: FakeContainer, from_us: int, after_s: float, action: Callable[[FakeContainer, int], None]
    ) -> None:
        due_us = from_us + round(after_s * _MICRO)
        heapq.heappush(self._due, (due_us, next(self._count), container.id, container.run, action))

    def _choose(self, container: FakeContainer) -> None:
        container.behaviour = self.behave(str(container.body["Image"]), container.words[1:], container.env)

    def _relaunch(self, container: FakeContainer, at_us: int) -> None:
        self._choose(container)
        self.launch(container, at_us)

    def _exited(self, container: FakeContainer, at_us: int) -> None:
        container.oom_killed = container.behaviour.oom_killed
        self.ended(container, at_us, container.behaviour.exit_code)

    def _check_networks(self, container: FakeContainer) -> None:
        ids = {network.id for network in self.networks.values()}
        for name, end in container.networks.items():
            # Once it has run, a container asks for its network by id: one made anew under the name is another.
            if end.network_id and end.network_id not in ids:
                refusals.refuse(f"network {end.network_id} not found", f"start {container.name}")
            if name not in self.networks:
                refusals.refuse(f"network {name} not found", f"start {container.name}")

    def _bind(self, container: FakeContainer) -> dict[str, list[tuple[str, int]]]:
        bound: dict[str, list[tuple[str, int]]] = {}
        for inside, ip, port in container.exposed():
            number = int(port or 0) or 32768 + next(self._count)
            refusals.check_port(container, ip, number, published=self.published(), listeners=self.listeners)
            shown = [ip] if ip else ["0.0.0.0", "::"]
            bound.setdefault(inside, []).extend((address, number) for address in shown)
        return bound

    def _stopped_by_daemon(self, container: FakeContainer) -> None:
        now = self.clock.elapsed_us
        if container.status == "restarting":
            self.ended(container, now, container.exit_code, restart=False, keep_times=True)
        elif _listens(container, now):
            self.ended(container, now, container.behaviour.term_exit_code, restart=False)
        else:
            self.ended(container, now, _KILLED, restart=False)

    @staticmethod
    def _wanted_after_boot(container: FakeContainer) -> bool:
        if container.policy == "unless-stopped":
            return not container.stopped_by_hand
        return _wants_restart(container)


def _first_network(body: Mapping[str, Any]) -> dict[str, Endpoint]:
    mode = (body.get("HostConfig") or {}).get("NetworkMode") or "default"
    if mode in ("none", "host"):
        return {}
    name = "bridge" if mode in ("default", "bridge") else mode
    ends = (body.get("NetworkingConfig") or {}).get("EndpointsConfig") or {}
    return {name: Endpoint(tuple((ends.get(name) or {}).get("Aliases") or ()))}


def _wants_restart(container: FakeContainer) -> bool:
    if container.policy == "on-failure":
        return container.exit_code != 0
    return container.policy in ("always", "unless-stopped")


def _delay_s(container: FakeContainer, at_us: int) -> float:
    if at_us - container.started_us > _STEADY_S * _MICRO:
        return _FIRST_DELAY_S
    return min(_FIRST_DELAY_S * 2.0 ** (container.restart_count - 1), _LONGEST_DELAY_S)


def _listens(container: FakeContainer, at_us: int) -> bool:
    ready_at_s = container.behaviour.ready_at_s
    return ready_at_s is not None and at_us >= container.started_us + round(ready_at_s * _MICRO)


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()

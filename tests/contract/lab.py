"""Where the contract is tried: the fake engine and the real one, behind the same few helpers."""

from __future__ import annotations

import io
import shutil
import socket
import tarfile
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, Protocol

import docker

from homellm.adapters.docker_engine import DockerEngine
from homellm.domain.world import Image
from homellm.ports import Created, Engine
from tests.contract.programs import Program, behave
from tests.contract.registry import Registry
from tests.engine.support.removal import holding_folder, remove_by_force, unless_gone
from tests.fakes.engine import FakeEngine, FakeState

RUN_LABEL = "homellm-test-run"
ENTRYPOINT = ("/bin/busybox", "sh", "-c")


class Lab(Protocol):
    """One engine to try, and what a test needs around it."""

    engine: Engine
    image: str
    run: str

    def pause(self) -> None:
        """Let a moment pass."""

    def vanish(self, name: str) -> None:
        """Remove a container by force, as somebody else would."""

    def holding_folder(self, ref: str) -> AbstractContextManager[None]:
        """While it is entered, the engine cannot delete the folder that it keeps of a container."""

    def hold_port(self) -> int:
        """A port of 127.0.0.1 that a program of the host holds."""

    def serve_image(self, *, failures: int = 0) -> str:
        """The name of an image that can be pulled, after so many connections that break off."""

    def hold_pull(self) -> None:
        """From now on a pull gets no further than its layers."""

    def unreachable_image(self) -> str:
        """The name of an image whose registry does not answer."""

    def denied_image(self) -> str:
        """The name of an image whose registry wants a login."""

    def unknown_image(self) -> str:
        """The name of an image that its registry does not have."""


class Bench:
    """What tests do with a lab, written once."""

    def __init__(self, lab: Lab) -> None:
        self.lab = lab
        self.engine = lab.engine
        self._count = 0

    @property
    def labels(self) -> dict[str, str]:
        """What everything made here carries."""
        return {RUN_LABEL: self.lab.run}

    def name(self, word: str = "c") -> str:
        """A new name of this run."""
        self._count += 1
        return f"homellm-test-{self.lab.run}-{word}{self._count}"

    def body(self, program: Program, *, labels: dict[str, str] | None = None, **fields: Any) -> dict[str, Any]:
        """An API body that runs a program; `fields` are further keys of it."""
        return {
            "Image": self.lab.image,
            "Cmd": [program.script],
            "Labels": {**self.labels, **(labels or {})},
            **fields,
        }

    def create(self, program: Program, *, name: str | None = None, **fields: Any) -> Created:
        """Make a container."""
        return self.engine.create(name or self.name(), self.body(program, **fields))

    def start(self, program: Program, *, name: str | None = None, **fields: Any) -> str:
        """Make and start a container; its id."""
        made = self.create(program, name=name, **fields)
        self.engine.start(made.id)
        return made.id

    def until(self, condition: Callable[[], Any], what: str, within_s: float = 60.0) -> Any:
        """Wait for a condition; its value."""
        deadline = time.monotonic() + within_s
        while not (value := condition()):
            assert time.monotonic() < deadline, f"not within {within_s} s: {what}"
            self.lab.pause()
        return value

    def until_logged(self, ref: str, text: bytes) -> bytes:
        """Wait until a container has written something."""
        return self.until(lambda: text in (log := self.log(ref)) and log, f"{text!r} in the log of {ref}")

    def log(self, ref: str, *, since: str | None = None, tail: int | None = None, until: str | None = None) -> bytes:
        """The log so far."""
        return b"".join(self.engine.logs(ref, since=since, follow=False, tail=tail, until=until))


class FakeLab:
    """The fake engine."""

    def __init__(self) -> None:
        self.run = uuid.uuid4().hex[:8]
        self.state = FakeState(behave=behave)
        self.image = f"homellm-test-tiny:{self.run}"
        self.state.add_image(self.image, entrypoint=ENTRYPOINT)
        self.engine: Engine = FakeEngine(self.state)

    def pause(self) -> None:
        self.state.clock.advance(0.02)

    def vanish(self, name: str) -> None:
        self.state.vanish(name)

    @contextmanager
    def holding_folder(self, ref: str) -> Iterator[None]:
        name = self.state.must_find(ref).name
        self.state.removals_fail[name] = 10**6
        try:
            yield
        finally:
            del self.state.removals_fail[name]

    def hold_port(self) -> int:
        self.state.listeners.add(("127.0.0.1", 18123))
        return 18123

    def serve_image(self, *, failures: int = 0) -> str:
        ref = f"registry.test/homellm-test-{'flaky' if failures else 'image'}:1"
        self.state.registry[ref] = Image("sha256:" + "1" * 64, env=("A=b",))
        self.state.pull_errors[ref] = [f'Get "https://{ref}": EOF'] * failures
        return ref

    def hold_pull(self) -> None:
        self.state.pull_hold.clear()

    def unreachable_image(self) -> str:
        ref = "registry.test:1/homellm-test-image:1"
        self.state.pull_errors[ref] = ["dial tcp 127.0.0.1:1: connect: connection refused"] * 3
        return ref

    def denied_image(self) -> str:
        ref = "registry.test/homellm-test-denied:1"
        self.state.pull_errors[ref] = ["unauthorized: authentication required"]
        return ref

    def unknown_image(self) -> str:
        return "registry.test/homellm-test-image:2"

    def close(self) -> None:
        self.state.pull_hold.set()


class RealLab:
    """The Docker Engine that is there, touched only where it carries this run's label."""

    def __init__(self, engine: DockerEngine) -> None:
        self.run = uuid.uuid4().hex[:8]
        self.engine: Engine = engine
        self.api = docker.from_env(timeout=60).api
        self.image = f"homellm-test-tiny:{self.run}"
        self._registry: Registry | None = None
        self._held: list[socket.socket] = []
        engine.pull_waits_s = (0.05, 0.05)
        import_tiny(self.api, self.image)

    def pause(self) -> None:
        time.sleep(0.02)

    def vanish(self, name: str) -> None:
        remove_by_force(self.api, name)

    def holding_folder(self, ref: str) -> AbstractContextManager[None]:
        return holding_folder(self.api, ref)

    def hold_port(self) -> int:
        held = socket.socket()
        self._held.append(held)
        held.bind(("127.0.0.1", 0))
        held.listen()
        return int(held.getsockname()[1])

    @property
    def registry(self) -> Registry:
        self._registry = self._registry or Registry(note=self.run)
        return self._registry

    def serve_image(self, *, failures: int = 0) -> str:
        self.registry.flaky = failures
        return f"{self.registry.host}/homellm-test-{'flaky' if failures else 'image'}:1"

    def hold_pull(self) -> None:
        self.registry.hold.clear()

    def unreachable_image(self) -> str:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            return f"127.0.0.1:{free.getsockname()[1]}/homellm-test-image:1"

    def denied_image(self) -> str:
        return f"{self.registry.host}/homellm-test-denied:1"

    def unknown_image(self) -> str:
        return f"{self.registry.host}/homellm-test-image:2"

    def sweep(self) -> None:
        """Remove what this run has made so far."""
        for held in self._held:
            held.close()
        self._held.clear()
        if self._registry:
            self._registry.hold.set()
        mine = {"label": [f"{RUN_LABEL}={self.run}"]}
        for entry in self.api.containers(all=True, filters=mine):
            remove_by_force(self.api, entry["Id"])
        for entry in self.api.networks(filters=mine):
            unless_gone(lambda ref=entry["Id"]: self.api.remove_network(ref), entry["Name"])
        if self._registry:
            self._remove_images(f"{self._registry.host}/homellm-test-")

    def close(self) -> None:
        """Remove all of it, the image too."""
        self.sweep()
        self._remove_images(self.image)
        if self._registry:
            self._registry.close()
        self.api.close()

    def _remove_images(self, prefix: str) -> None:
        tags = [tag for image in self.api.images() for tag in image["RepoTags"] or () if tag.startswith(prefix)]
        for tag in tags:
            unless_gone(lambda ref=tag: self.api.remove_image(ref), tag)


def import_tiny(api: docker.APIClient, ref: str) -> None:
    """An image of nothing but a static busybox."""
    busybox = shutil.which("busybox")
    assert busybox, "the contract tests need busybox. Next: apt-get install busybox-static"
    program = Path(busybox).read_bytes()
    assert b"/ld-linux" not in program, f"{busybox} needs libraries. Next: apt-get install busybox-static"
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for folder in ("bin", "tmp", "etc", "proc", "dev", "sys"):
            entry = tarfile.TarInfo(folder)
            entry.type, entry.mode = tarfile.DIRTYPE, 0o755
            archive.addfile(entry)
        entry = tarfile.TarInfo("bin/busybox")
        entry.size, entry.mode = len(program), 0o755
        archive.addfile(entry, io.BytesIO(program))
        for applet in ("sh", "sleep", "tail"):
            entry = tarfile.TarInfo(f"bin/{applet}")
            entry.type, entry.linkname = tarfile.SYMTYPE, "busybox"
            archive.addfile(entry)
    name, _, tag = ref.rpartition(":")
    answer = api.import_image_from_data(
        buffer.getvalue(),
        repository=name,
        tag=tag,
        changes=[f"ENTRYPOINT {str(list(ENTRYPOINT)).replace(chr(39), chr(34))}", "ENV PATH=/bin"],
    )
    assert "error" not in answer, answer

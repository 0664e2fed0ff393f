"""Streams of the fake engine: a log, and one request for a pull."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from homellm.adapters.docker_pull import PullRefused
from homellm.domain.world import Image
from tests.fakes.container import FakeContainer
from tests.fakes.state import FakeState

_LAYER_BYTES = 1000


class FakeLog:
    """A container's log. A follow ends when the process does, also when it will be restarted, as the real one does.

    `check_alive` raises when the process of homellm that asked has been killed. With an automatic clock a follow lets
    time pass up to what is due next for its container, and stands still when nothing is.
    """

    def __init__(
        self,
        state: FakeState,
        container: FakeContainer,
        past: list[bytes],
        *,
        follow: bool,
        check_alive: Callable[[], None],
    ) -> None:
        self._state = state
        self._container = container
        self._past = past
        self._follow = follow and container.running
        self._run = container.run
        self._seen = len(container.log)
        self._check_alive = check_alive
        self._closed = False

    def __iter__(self) -> Iterator[bytes]:
        """Frames."""
        yield from self._past
        while self._follow:
            with self._state.lock:
                frames, over = self._wait()
            yield from frames
            if over:
                return

    def close(self) -> None:
        """End it, from any thread."""
        with self._state.lock:
            self._closed = True
            self._state.lock.notify_all()

    def _wait(self) -> tuple[list[bytes], bool]:
        """Further frames, and whether there will be no more."""
        while True:
            self._check_alive()
            self._state.settle()
            if self._closed:
                return [], True
            frames = [data for _, data in self._container.log[self._seen :]]
            over = self._container.run != self._run or self._container.id not in self._state.containers
            if frames or over:
                self._seen += len(frames)
                return frames, over
            self._state.pass_time(self._container, None)


class FakePullConnection:
    """One request for an image: an error of the test's choosing, or two layers out of the fake registry."""

    def __init__(self, state: FakeState, ref: str, check_alive: Callable[[], None]) -> None:
        self._state = state
        self._ref = ref
        self._check_alive = check_alive
        self._closed = False
        # The real engine answers the request itself with an error when it has sent nothing before.
        self._check_alive()
        errors = state.pull_errors.get(ref)
        if errors:
            raise PullRefused(errors.pop(0))
        image = state.registry.get(ref)
        if image is None:
            raise PullRefused(f"manifest for {ref} not found: manifest unknown: manifest unknown")
        self._image: Image = image

    def lines(self) -> Iterator[Mapping[str, object]]:
        """What the engine prints."""
        for layer in ("aaaa", "bbbb"):
            yield {"status": "Pulling fs layer", "id": layer, "progressDetail": {}}
        while not self._state.pull_hold.wait(0.01):
            self._check_alive()
            if self._closed:
                return
        for layer in ("aaaa", "bbbb"):
            for done in (_LAYER_BYTES // 2, _LAYER_BYTES):
                self._check_alive()
                if self._closed:
                    return
                yield {
                    "status": "Downloading",
                    "id": layer,
                    "progressDetail": {"current": done, "total": _LAYER_BYTES},
                }
            yield {"status": "Pull complete", "id": layer, "progressDetail": {}}
        self._state.arrived(self._image, self._ref)
        yield {"status": f"Status: Downloaded newer image for {self._ref}"}

    def close(self) -> None:
        """Give it up."""
        self._closed = True

"""The port ModelHub, tried alike on the fake that the tests of deploy use and on the adapter with the real library."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from homellm.adapters.hub import Hub
from homellm.adapters.hub_cache import HubCache
from homellm.adapters.hub_settings import HubSettings
from homellm.domain.hub import parse_ref
from homellm.errors import HubUnreachable, PullFailed
from homellm.ports import ModelHub
from tests.fakes.hub import FakeHub
from tests.fakes.hub_server import hub_server

REPO = "org/tiny-GGUF"
SIZES = {"tiny-Q8_0.gguf": 200_000, "tiny-Q4_K_M-00001-of-00002.gguf": 5000, "tiny-Q4_K_M-00002-of-00002.gguf": 3000}
MOVED = "b" * 40


@dataclass
class World:
    """A hub, and what happens to it from outside."""

    hub: ModelHub
    move: Callable[[str], None]
    leave: Callable[[], None]
    downloads: Callable[[], int]


@pytest.fixture(autouse=True)
def quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    """The library reads that variable once, and another test may import it before homellm has set it."""
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_DISABLE_TELEMETRY", True)


@pytest.fixture(params=["fake", "real"])
def world(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[World]:
    if request.param == "fake":
        fake = FakeHub({REPO: dict(SIZES)}, location=str(tmp_path))
        yield World(
            fake,
            move=lambda commit: setattr(fake, "commit", commit),
            leave=lambda: setattr(fake, "away", True),
            downloads=lambda: len(fake.pulled),
        )
        return
    with hub_server() as server:
        repo = server.add(REPO, {name: name.encode() * (size // len(name)) for name, size in SIZES.items()})
        cache = HubCache(tmp_path / "hub", tmp_path / "memory")
        yield World(
            Hub(HubSettings(server.endpoint, cache.root), cache),
            move=lambda commit: setattr(repo, "commit", commit),
            leave=server.close,
            downloads=lambda: len(server.downloads()),
        )


def bring(hub: ModelHub, text: str) -> None:
    for _ in hub.pull(hub.resolve(parse_ref(text))):
        pass


@pytest.mark.parametrize("text", [f"{REPO}:Q8_0", REPO, f"{REPO}/tiny-Q8_0.gguf"])
def test_from_the_hub_to_the_cache(world: World, text: str) -> None:
    ref = parse_ref(text)
    assert world.hub.find(ref) is None
    before = world.hub.resolve(ref)
    assert (before.complete, before.here_bytes, before.missing_bytes) == (False, 0, before.size_bytes)
    assert world.downloads() == 0
    news = list(world.hub.pull(before))
    assert news[-1].done_bytes == news[-1].total_bytes == before.size_bytes
    found = world.hub.find(ref)
    assert found is not None
    assert (found.complete, found.missing_bytes, found.path) == (True, 0, before.path)
    assert world.hub.resolve(ref).complete
    assert str(before.path).startswith(world.hub.location)


def test_all_parts_of_the_default_quant(world: World) -> None:
    assert [file.name for file in world.hub.resolve(parse_ref(REPO)).files] == sorted(SIZES)[:2]


def test_a_moved_branch_is_seen_when_it_is_asked_for(world: World) -> None:
    ref = parse_ref(f"{REPO}:Q8_0")
    bring(world.hub, str(ref))
    first = world.hub.find(ref)
    world.move(MOVED)
    assert world.hub.find(ref) == first
    again = world.hub.resolve(ref)
    assert (again.commit, again.complete) == (MOVED, False)
    assert first is not None
    assert again.path != first.path


def test_a_hub_that_has_gone(world: World) -> None:
    bring(world.hub, f"{REPO}:Q8_0")
    world.leave()
    assert world.hub.find(parse_ref(f"{REPO}:Q8_0")) is not None
    assert world.hub.find(parse_ref(f"{REPO}:Q4_K_M")) is None
    assert world.hub.find(parse_ref(REPO)) is None
    guessed = world.hub.find(parse_ref(REPO), guess=True)
    assert guessed is not None
    assert guessed.path.name == "tiny-Q8_0.gguf"
    with pytest.raises(HubUnreachable) as caught:
        world.hub.resolve(parse_ref(f"{REPO}:Q4_K_M"))
    assert caught.value.problems[0].id == "hub-unreachable"


@pytest.mark.parametrize(("text", "id"), [("org/none:Q8_0", "repo-absent"), (f"{REPO}:Q5_K_M", "quant-absent")])
def test_what_the_hub_does_not_have(world: World, text: str, id: str) -> None:
    with pytest.raises(PullFailed) as caught:
        world.hub.resolve(parse_ref(text))
    assert caught.value.problems[0].id == id


def test_a_closed_pull_ends_and_brings_nothing(world: World) -> None:
    stream = world.hub.pull(world.hub.resolve(parse_ref(f"{REPO}:Q8_0")))
    stream.close()
    assert list(stream) == []
    assert world.hub.find(parse_ref(f"{REPO}:Q8_0")) is None

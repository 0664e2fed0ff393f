"""The hub's adapter against a hub on this machine, over real HTTP and with the real library."""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from huggingface_hub import hf_hub_download, try_to_load_from_cache
from huggingface_hub.utils import WeakFileLock

from homellm.adapters import hub_errors
from homellm.adapters.hub import Hub
from homellm.adapters.hub_cache import HubCache
from homellm.adapters.hub_settings import HubSettings
from homellm.domain.hub import HubModel, parse_ref
from homellm.domain.secret import Secret
from homellm.errors import HubUnreachable, PullFailed
from tests.fakes.gguf_bytes import llama
from tests.fakes.hub_server import COMMIT, HubServer, digest, hub_server, sha256

WEIGHTS = bytes(range(256)) * 8192  # 2 MiB
REPO = "org/tiny-GGUF"
OTHER_COMMIT = "0" * 39 + "1"


@pytest.fixture(autouse=True)
def quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    """The library reads that variable once, and these tests may import it before homellm has set it."""
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_DISABLE_TELEMETRY", True)


@pytest.fixture
def server() -> Iterator[HubServer]:
    with hub_server() as running:
        running.add(REPO, {"README.md": b"# tiny", "tiny-Q8_0.gguf": WEIGHTS, "tiny-Q4_K_M.gguf": WEIGHTS[:5000]})
        yield running


@pytest.fixture
def cache(tmp_path: Path) -> HubCache:
    return HubCache(tmp_path / "hub", tmp_path / "memory")


@pytest.fixture
def hub(server: HubServer, cache: HubCache) -> Hub:
    return hub_with(server, cache)


def hub_with(server: HubServer, cache: HubCache, **settings) -> Hub:
    given = {"endpoint": server.endpoint, "cache": cache.root} | settings
    return Hub(HubSettings(**given), cache)


def pulled(hub: Hub, text: str) -> HubModel:
    """Resolve and bring a model; as it is found afterwards."""
    for _ in hub.pull(hub.resolve(parse_ref(text))):
        pass
    found = hub.find(parse_ref(text))
    assert found is not None
    return found


def blobs(cache: HubCache) -> dict[str, int]:
    return {path.name: path.stat().st_size for path in cache.root.glob("models--*/blobs/*")}


class TestPull:
    def test_the_file_stands_where_the_library_looks_for_it(self, hub, server, cache):
        model = pulled(hub, f"{REPO}:Q8_0")
        assert model.path == cache.root / "models--org--tiny-GGUF" / "snapshots" / COMMIT / "tiny-Q8_0.gguf"
        assert model.path.read_bytes() == WEIGHTS
        assert str(model.path.readlink()) == f"../../blobs/{sha256(WEIGHTS)}"
        assert (cache.root / "models--org--tiny-GGUF" / "refs" / "main").read_text() == COMMIT
        assert try_to_load_from_cache(REPO, "tiny-Q8_0.gguf", cache_dir=cache.root) == str(model.path)

    def test_what_the_library_brought_is_found(self, hub, server, cache):
        brought = hf_hub_download(REPO, "tiny-Q4_K_M.gguf", cache_dir=cache.root, endpoint=server.endpoint, token=False)
        server.asked.clear()
        found = hub.find(parse_ref(REPO))
        assert found is not None
        assert str(found.path) == brought
        assert server.asked == []

    def test_progress_ends_at_the_whole(self, hub):
        news = list(hub.pull(hub.resolve(parse_ref(f"{REPO}:Q8_0"))))
        assert news[0].done_bytes == 0
        assert news[-1].done_bytes == news[-1].total_bytes == len(WEIGHTS)
        assert [one.done_bytes for one in news] == sorted(one.done_bytes for one in news)

    def test_a_small_file_is_checked_by_gits_digest(self, server, hub, cache):
        server.add(REPO, {"tiny-Q4_K_M.gguf": b"x" * 500})
        pulled(hub, REPO)
        assert list(blobs(cache)) == [digest(b"x" * 500)]
        assert len(digest(b"x" * 500)) == 40

    def test_all_parts_of_a_split_model(self, server, hub):
        parts = {f"Q8_0/m-Q8_0-0000{n}-of-00003.gguf": bytes([n]) * 70_000 for n in (1, 2, 3)}
        server.add(REPO, parts)
        model = pulled(hub, f"{REPO}:Q8_0")
        assert model.path.name == "m-Q8_0-00001-of-00003.gguf"
        assert {p.name: p.read_bytes()[0] for p in model.path.parent.iterdir()} == {
            f"m-Q8_0-0000{n}-of-00003.gguf": n for n in (1, 2, 3)
        }
        assert model.size_bytes == 210_000

    def test_the_token_goes_to_the_hub_and_never_to_its_storage(self, server, cache):
        server.add(REPO, {"m-Q8_0.gguf": WEIGHTS}, private=True)
        hub = hub_with(server, cache, token=Secret("hf_right"))
        pulled(hub, f"{REPO}:Q8_0")
        tokens = {(one.host, one.token) for one in server.asked}
        assert tokens == {("127.0.0.1", "hf_right"), ("localhost", None)}

    def test_a_new_commit_with_the_same_content_brings_nothing(self, server, hub):
        pulled(hub, f"{REPO}:Q8_0")
        server.repos[REPO].commit = OTHER_COMMIT
        before = len(server.downloads())
        again = hub.resolve(parse_ref(f"{REPO}:Q8_0"))
        assert (again.complete, again.missing_bytes) == (False, 0)
        assert pulled(hub, f"{REPO}:Q8_0").path.parent.name == OTHER_COMMIT
        assert len(server.downloads()) == before

    def test_where_links_cannot_be_made_the_file_itself_stands_there(self, hub, cache, monkeypatch):
        def refused(self, target):
            raise OSError(errno.EPERM, "no links on this disk")

        monkeypatch.setattr(Path, "symlink_to", refused)
        model = pulled(hub, f"{REPO}:Q8_0")
        assert model.path.read_bytes() == WEIGHTS
        assert blobs(cache) == {}


class TestCuts:
    def test_a_cut_is_gone_on_from(self, server, hub):
        server.cut_after = [300_000, 300_000]
        pulled(hub, f"{REPO}:Q8_0")
        assert [one.range for one in server.downloads()] == [None, "bytes=300000-", "bytes=600000-"]

    def test_another_process_goes_on_too(self, server, hub, cache):
        resolved = hub.resolve(parse_ref(f"{REPO}:Q8_0"))
        begun = cache.incomplete(resolved.ref, resolved.files[0])
        begun.parent.mkdir(parents=True)
        begun.write_bytes(WEIGHTS[:1_000_000])
        assert hub.resolve(resolved.ref).missing_bytes == len(WEIGHTS) - 1_000_000
        assert pulled(hub, f"{REPO}:Q8_0").path.read_bytes() == WEIGHTS
        assert [one.range for one in server.downloads()] == ["bytes=1000000-"]

    def test_a_wrong_beginning_is_thrown_away(self, server, hub, cache):
        resolved = hub.resolve(parse_ref(f"{REPO}:Q8_0"))
        begun = cache.incomplete(resolved.ref, resolved.files[0])
        begun.parent.mkdir(parents=True)
        begun.write_bytes(b"?" * 1_000_000)
        assert pulled(hub, f"{REPO}:Q8_0").path.read_bytes() == WEIGHTS
        assert [one.range for one in server.downloads()] == ["bytes=1000000-", None]

    def test_a_storage_without_ranges_sends_all_again(self, server, hub):
        server.ranges, server.cut_after = False, [300_000]
        news = list(hub.pull(hub.resolve(parse_ref(f"{REPO}:Q8_0"))))
        assert pulled(hub, f"{REPO}:Q8_0").path.read_bytes() == WEIGHTS
        assert news[-1].done_bytes == len(WEIGHTS)

    def test_damage_is_told_and_nothing_looks_whole(self, server, hub, cache):
        server.bent = lambda data: b"!" + data[1:]
        with pytest.raises(PullFailed, match="arrived damaged") as caught:
            pulled(hub, f"{REPO}:Q8_0")
        assert caught.value.problems[0].id == "model-damaged"
        assert hub.find(parse_ref(f"{REPO}:Q8_0")) is None
        assert all(name.endswith(".incomplete") and size == 0 for name, size in blobs(cache).items())

    def test_a_busy_storage_is_asked_again(self, server, hub, monkeypatch):
        pauses = []
        monkeypatch.setattr("homellm.adapters.hub_pull.HubPull.pause", lambda self, seconds: pauses.append(seconds))
        server.busy = [503, 429]
        pulled(hub, f"{REPO}:Q8_0")
        assert len(server.downloads()) == 3
        assert pauses == [0.5, 1.0]

    def test_one_that_stays_busy_is_given_up_with_what_came(self, server, hub, cache, monkeypatch):
        monkeypatch.setattr("homellm.adapters.hub_pull.HubPull.pause", lambda self, seconds: None)
        resolved = hub.resolve(parse_ref(f"{REPO}:Q8_0"))
        stream = hub.pull(resolved)
        server.busy = [503] * 8
        begun = cache.incomplete(resolved.ref, resolved.files[0])
        begun.parent.mkdir(parents=True)
        begun.write_bytes(WEIGHTS[:10])
        with pytest.raises(HubUnreachable, match=r"stopped at 10 of 2097152 bytes: the hub is busy"):
            list(stream)
        assert begun.stat().st_size == 10

    def test_it_is_given_up_from_another_thread_at_once(self, server, hub, cache):
        server.hold = threading.Event()
        resolved = hub.resolve(parse_ref(f"{REPO}:Q8_0"))
        stream = hub.pull(resolved)
        ended = threading.Event()
        reader = threading.Thread(target=lambda: (list(stream), ended.set()), daemon=True)
        reader.start()
        assert server.holding.wait(60)
        stream.close()
        stream.close()
        assert ended.wait(60)  # while the hub still holds back the rest
        assert hub.find(resolved.ref) is None
        assert [name for name in blobs(cache) if not name.endswith(".incomplete")] == []

    def test_a_full_disk_is_told(self, server, hub, cache, monkeypatch):
        resolved = hub.resolve(parse_ref(f"{REPO}:Q8_0"))
        begun = cache.incomplete(resolved.ref, resolved.files[0])
        begun.parent.mkdir(parents=True)
        begun.symlink_to("/dev/full")
        with pytest.raises(PullFailed, match=r"the disk of .* is full") as caught:
            list(hub.pull(resolved))
        assert caught.value.problems[0].id == "disk-full"
        assert "HF_HOME" in caught.value.hint

    def test_a_cache_that_is_no_folder(self, server, cache):
        cache.root.write_text("")
        hub = hub_with(server, cache)
        with pytest.raises(PullFailed, match="cannot be written") as caught:
            list(hub.pull(hub.resolve(parse_ref(f"{REPO}:Q8_0"))))
        assert caught.value.problems[0].id == "cache-not-writable"

    def test_two_programs_never_write_one_file(self, server, hub, cache):
        resolved = hub.resolve(parse_ref(f"{REPO}:Q8_0"))
        lock = cache.lock(resolved.ref, resolved.files[0])
        lock.parent.mkdir(parents=True)
        stream = iter(hub.pull(resolved))
        with WeakFileLock(lock):
            waiting = next(one for one in stream if "another program" in one.status)
            assert waiting.done_bytes == 0
            assert server.downloads() == []
        assert [one.done_bytes for one in stream][-1] == len(WEIGHTS)


class TestFind:
    def test_nothing_is_asked_for_what_is_here(self, server, hub):
        pulled(hub, f"{REPO}:Q8_0")
        server.asked.clear()
        for text in (f"{REPO}:Q8_0", f"{REPO}:q8_0", f"{REPO}/tiny-Q8_0.gguf", f"{REPO}@{COMMIT}:Q8_0"):
            assert hub.find(parse_ref(text)) is not None
        assert server.asked == []

    def test_what_a_source_came_to_mean_stays_it(self, server, hub, cache):
        """Another program may move the branch on; what homellm verified is not changed under it."""
        first = pulled(hub, f"{REPO}:Q8_0")
        (cache.root / "models--org--tiny-GGUF" / "refs" / "main").write_text(OTHER_COMMIT)
        assert hub.find(parse_ref(f"{REPO}:Q8_0")) == first

    def test_the_default_is_not_guessed_from_what_happens_to_be_here(self, server, hub, cache):
        pulled(hub, f"{REPO}:Q8_0")
        assert hub.find(parse_ref(REPO)) is None
        guessed = hub.find(parse_ref(REPO), guess=True)
        assert guessed is not None
        assert guessed.path.name == "tiny-Q8_0.gguf"

    def test_a_link_that_leads_nowhere_is_no_model(self, server, hub, cache):
        model = pulled(hub, f"{REPO}:Q8_0")
        model.path.resolve().unlink()
        assert hub.find(parse_ref(f"{REPO}:Q8_0")) is None
        assert pulled(hub, f"{REPO}:Q8_0").path.read_bytes() == WEIGHTS

    def test_a_split_model_that_lacks_a_part(self, server, hub):
        server.add(REPO, {f"m-Q8_0-0000{n}-of-00002.gguf": bytes([n]) * 70_000 for n in (1, 2)})
        model = pulled(hub, f"{REPO}:Q8_0")
        (model.path.parent / "m-Q8_0-00002-of-00002.gguf").unlink()
        assert hub.find(parse_ref(f"{REPO}:Q8_0")) is None

    def test_the_memory_may_vanish_or_be_nonsense(self, server, hub, cache):
        pulled(hub, f"{REPO}:Q8_0")
        for memo in cache.memory.iterdir():
            memo.write_text('{"source": 3}')
        assert hub.find(parse_ref(f"{REPO}:Q8_0")) is not None

    def test_sizes(self, server, hub, cache):
        assert cache.free_bytes() == pytest.approx(os.statvfs("/").f_bavail * os.statvfs("/").f_frsize, rel=0.2)
        pulled(hub, f"{REPO}:Q8_0")
        assert hub.repositories() == ((REPO, len(WEIGHTS)),)


class TestErrors:
    def refused(self, hub: Hub, text: str) -> PullFailed:
        with pytest.raises(PullFailed) as caught:
            hub.resolve(parse_ref(text))
        return caught.value

    def test_no_such_repository(self, hub):
        error = self.refused(hub, "org/none:Q8_0")
        assert error.problems[0].id == "repo-absent"
        assert "no repository org/none that can be seen without a token" in str(error)
        assert "HF_TOKEN" in error.hint

    def test_no_such_quant_lists_those_there_are(self, hub):
        error = self.refused(hub, f"{REPO}:Q5_K_M")
        assert error.problems[0].id == "quant-absent"
        assert error.hint == f"There: hf:{REPO}:Q4_K_M, hf:{REPO}:Q8_0."

    def test_no_such_file(self, hub):
        error = self.refused(hub, f"{REPO}/other.gguf")
        assert error.problems[0].id == "file-absent"
        assert f"hf:{REPO}/tiny-Q8_0.gguf" in error.hint

    def test_a_mirror_cannot_name_files_outside_of_the_cache(self, server, hub):
        server.add(REPO, {"../../escaped-Q8_0.gguf": WEIGHTS})
        error = self.refused(hub, f"{REPO}:Q8_0")
        assert error.problems[0].id == "quant-absent"

    def test_a_file_that_only_the_hubs_own_program_can_bring(self, server, hub, cache, monkeypatch):
        monkeypatch.setattr("homellm.adapters.hub.MAX_PLAIN_BYTES", len(WEIGHTS) - 1)
        error = self.refused(hub, f"{REPO}:Q8_0")
        assert error.problems[0].id == "file-too-large"
        assert error.hint == f"Bring it into the same cache by: hf download {REPO} tiny-Q8_0.gguf"
        hf_hub_download(REPO, "tiny-Q8_0.gguf", cache_dir=cache.root, endpoint=server.endpoint, token=False)
        assert hub.resolve(parse_ref(f"{REPO}:Q8_0")).complete

    def test_no_such_revision(self, hub):
        assert self.refused(hub, f"{REPO}@v9:Q8_0").problems[0].id == "revision-absent"

    def test_gated(self, server, hub, cache):
        server.repos[REPO].gated = True
        error = self.refused(hub, f"{REPO}:Q8_0")
        assert error.problems[0].id == "model-gated"
        assert f"Ask for access on {server.endpoint}/{REPO}. Then set HF_TOKEN" in error.hint
        with_token = hub_with(server, cache, token=Secret("hf_right"))
        assert with_token.resolve(parse_ref(f"{REPO}:Q8_0")).size_bytes == len(WEIGHTS)

    def test_gated_only_when_the_file_is_asked_for(self, server, hub):
        resolved = hub.resolve(parse_ref(f"{REPO}:Q8_0"))
        server.repos[REPO].gated = True
        with pytest.raises(PullFailed) as caught:
            list(hub.pull(resolved))
        assert caught.value.problems[0].id == "model-gated"

    def test_a_wrong_token_is_named_and_never_shown(self, server, cache):
        error = self.refused(hub_with(server, cache, token=Secret("hf_wrong")), f"{REPO}:Q8_0")
        assert error.problems[0].id == "token-refused"
        assert "hf_wrong" not in str(error) + error.hint + error.original

    def test_nobody_there(self, server, cache):
        server.close()
        error = self.refused(hub_with(server, cache), f"{REPO}:Q8_0")
        assert isinstance(error, HubUnreachable)
        assert server.endpoint in str(error)

    def test_somebody_else_there(self, server, cache):
        error = self.refused(hub_with(server, cache, endpoint=f"{server.endpoint}/storage/x"), f"{REPO}:Q8_0")
        assert isinstance(error, PullFailed)

    def test_offline_asks_nobody(self, server, cache):
        hub = hub_with(server, cache, offline=True)
        error = self.refused(hub, f"{REPO}:Q8_0")
        assert error.problems[0].id == "hub-offline"
        assert server.asked == []


def test_the_header_is_read_without_a_download(server, hub):
    data = llama().whole()
    server.add(REPO, {"m-Q8_0.gguf": data})
    model = hub.resolve(parse_ref(f"{REPO}:Q8_0"))
    seen = hub.look(model)
    assert seen is not None
    assert (seen.state, seen.path, seen.size_bytes) == ("ok", str(model.path), len(data))
    assert seen.header is not None
    assert hub.find(model.ref) is None


@pytest.mark.parametrize(
    ("raised", "said"),
    [
        (OSError("[Errno -2] Name or service not known"), "this machine does not find its address"),
        (OSError("[Errno -3] Temporary failure in name resolution"), "this machine does not find its address"),
        (OSError("[Errno 111] Connection refused"), "Connection refused"),
    ],
)
def test_a_hub_out_of_reach_is_told_without_numbers_of_the_system(raised: OSError, said: str) -> None:
    error = hub_errors.translate(raised, parse_ref("org/repo:Q8_0"), "https://hub", token=False)
    assert str(error) == f"the model hub https://hub cannot be asked: {said}"
    assert "gguf:/path/to/model.gguf" in error.problems[0].hint

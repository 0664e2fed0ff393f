"""Which files decide what a model is, and which engine is asked."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from homellm.adapters.hub_cache import HubCache
from homellm.domain.hub import parse_ref
from homellm.domain.stack import Model, Source
from homellm.unchanged.sources import Unseen, deciding

PLAIN = Model("m", Source("gguf", "", Path("/models/m.gguf")), image="i")


def names(model: Model, folder: Path, **environ: str) -> list[str]:
    hub = HubCache(folder / "hub", folder / "memory")
    return [str(path) for path in deciding([model], hub, {"HOME": str(folder), **environ})]


def test_the_weights_and_docker_s_own_choice(tmp_path: Path) -> None:
    assert names(PLAIN, tmp_path) == [f"{tmp_path}/.docker/config.json", "/models/m.gguf"]
    named = names(PLAIN, tmp_path, DOCKER_CONFIG="/elsewhere")
    assert named == ["/elsewhere/config.json", "/models/m.gguf"]


def test_contexts_count(tmp_path: Path) -> None:
    meta = tmp_path / ".docker" / "contexts" / "meta" / "abc" / "meta.json"
    meta.parent.mkdir(parents=True)
    meta.write_text("{}")
    assert str(meta) in names(PLAIN, tmp_path)


def test_all_parts_of_a_split_model(tmp_path: Path) -> None:
    split = replace(PLAIN, source=Source("gguf", "", Path("/models/m-00001-of-00003.gguf")))
    assert names(split, tmp_path)[1:] == [f"/models/m-0000{n}-of-00003.gguf" for n in (1, 2, 3)]


def test_a_count_that_no_model_has_is_a_name_like_any_other(tmp_path: Path) -> None:
    split = replace(PLAIN, source=Source("gguf", "", Path("/models/m-00001-of-99999.gguf")))
    assert names(split, tmp_path)[1:] == ["/models/m-00001-of-99999.gguf"]


def test_projector_and_template(tmp_path: Path) -> None:
    more = replace(PLAIN, mmproj=Path("/p/mmproj.gguf"), chat_template_file=Path("/t/chat.jinja"))
    assert names(more, tmp_path)[2:] == ["/p/mmproj.gguf", "/t/chat.jinja"]


def test_of_a_hub_model_what_its_source_means(tmp_path: Path) -> None:
    """The branch as huggingface_hub writes it ("Understand caching"), and homellm's own note."""
    source = Source("hf", "org/repo:Q8_0", tmp_path / "hub" / "x.gguf")
    found = names(replace(PLAIN, source=source), tmp_path)
    assert str(tmp_path / "hub" / "models--org--repo" / "refs" / "main") in found
    assert [path for path in found if path.startswith(str(tmp_path / "memory"))]


@pytest.mark.parametrize("source", [Source("ollama", "smol"), Source("hf", "org/repo")])
def test_what_has_no_file_here_is_not_seen(tmp_path: Path, source: Source) -> None:
    with pytest.raises(Unseen):
        names(replace(PLAIN, source=source), tmp_path)


def test_the_hub_s_own_files_are_those_that_find_reads(tmp_path: Path) -> None:
    """Without them nothing is found, and each of them alone decides."""
    cache, ref = HubCache(tmp_path / "hub", tmp_path / "memory"), parse_ref("org/repo:Q8_0")
    memo, branch = cache.deciding(ref)
    snapshot = cache.repo(ref) / "snapshots" / ("a" * 40)
    snapshot.mkdir(parents=True)
    (snapshot / "m-Q8_0.gguf").write_bytes(b"GGUF")
    assert cache.find(ref) is None
    branch.parent.mkdir(parents=True)
    branch.write_text("a" * 40)
    found = cache.find(ref)
    assert found is not None
    assert found.commit == "a" * 40
    assert not memo.exists()

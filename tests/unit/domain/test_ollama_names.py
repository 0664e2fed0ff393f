"""Names of models, as Ollama 0.33 resolves and refuses them (types/model/name.go)."""

from __future__ import annotations

import pytest

from homellm.domain.ollama_names import name_of_path, parse_name


@pytest.mark.parametrize(
    ("text", "whole", "short"),
    [
        ("smol", "registry.ollama.ai/library/smol:latest", "smol:latest"),
        ("lfm2.5:2.6b", "registry.ollama.ai/library/lfm2.5:2.6b", "lfm2.5:2.6b"),
        ("me/mine", "registry.ollama.ai/me/mine:latest", "me/mine:latest"),
        ("hf.co/org/X-GGUF:Q4_K_M", "hf.co/org/X-GGUF:Q4_K_M", "hf.co/org/X-GGUF:Q4_K_M"),
        ("registry.test:5000/library/smol:135m", "registry.test:5000/library/smol:135m", None),
        ("registry.test:5000/library/smol", "registry.test:5000/library/smol:latest", None),
        ("Registry.Ollama.AI/Library/Smol", "Registry.Ollama.AI/Library/Smol:latest", "Smol:latest"),
        ("http://registry.test:5000/library/smol:135m", "registry.test:5000/library/smol:135m", None),
        ("  smol  ", "registry.ollama.ai/library/smol:latest", "smol:latest"),
        ("_a/_b:_c", "registry.ollama.ai/_a/_b:_c", "_a/_b:_c"),
    ],
)
def test_a_name_is_made_whole(text: str, whole: str, short: str | None) -> None:
    name = parse_name(text)
    assert str(name) == whole
    assert name.short == (short or whole)


def test_http_is_kept_for_the_pull_alone() -> None:
    name = parse_name("http://registry.test:5000/library/smol:135m")
    assert name.insecure
    assert name.pull_name == "http://registry.test:5000/library/smol:135m"
    assert name.manifest == "manifests/registry.test:5000/library/smol/135m"
    assert parse_name("registry.test:5000/library/smol").pull_name == "registry.test:5000/library/smol:latest"


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("", "no model"),
        ("a b:c", "model"),
        ("smol:", "empty tag"),
        (":tag", "empty model"),
        ("/smol", "empty namespace"),
        ("//smol", "empty host"),
        ("-smol", "model"),
        ("ns.with.dots/smol", "namespace"),
        ("a/b/c/d", "host"),
        ("smol:" + "t" * 81, "81 characters"),
        ("smöl", "model"),
        ("smol@sha256:00", "model"),
        ("ftp://host/ns/model", "ftp://"),
        ("http://host/model", "whole after"),
    ],
)
def test_a_name_that_ollama_refuses_is_refused(text: str, part: str) -> None:
    with pytest.raises(ValueError, match=part):
        parse_name(text)


def test_case_does_not_count() -> None:
    assert parse_name("Plain2").same(parse_name("plain2:LATEST"))
    assert not parse_name("plain2:q4").same(parse_name("plain2"))


def test_cloud_models_are_known_by_their_tag() -> None:
    assert parse_name("gpt-oss:120b-cloud").cloud
    assert parse_name("glm:cloud").cloud
    assert not parse_name("cloud:latest").cloud


def test_a_manifest_s_path_is_a_name() -> None:
    name = name_of_path("manifests/registry.test:5000/library/smol/135m")
    assert name is not None
    assert str(name) == "registry.test:5000/library/smol:135m"


@pytest.mark.parametrize(
    "path", ["manifests/a/b/c", "manifests/a/b/c/d/e", "blobs/a/b/c/d", "manifests/a/b/.DS_Store/x"]
)
def test_other_files_are_no_names(path: str) -> None:
    assert name_of_path(path) is None

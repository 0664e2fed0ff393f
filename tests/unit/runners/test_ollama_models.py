"""Under which name Ollama serves a model: a copy, a derived one, one made from a file, or what is there already."""

from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

import pytest

from homellm.adapters.ollama_store import folder_store
from homellm.domain.ollama import StoredModel
from homellm.loading import load
from homellm.runners.ollama_models import making, served_name, source_name
from tests.unit.ollama.recorded import REGISTRY, write_store

SOURCE = StoredModel(
    name="registry.ollama.ai/library/lfm2:latest", state="ok", digest="d1", blob="blobs/b", family="lfm2"
)


def made(keys: str = "source: ollama:lfm2", *, name="lfm", server="{}", others="", source=SOURCE, own=None, **how):
    text = f"stack: s\nollama: {{main: {server}}}\nmodels:\n  {name}: {{{keys}}}\n{others}"
    stack = load(Path("/srv/h.yaml"), text, {})
    return making(stack.models[0], stack.ollama[0], stack.models_on(stack.ollama[0]), source=source, own=own, **how)


def test_a_name_of_its_own_is_a_copy():
    one = made()
    assert (one.kind, one.name, one.source, dict(one.parameters)) == ("copy", "lfm:latest", "lfm2:latest", {})


def test_a_copy_that_is_there_is_enough():
    assert made(own=replace(SOURCE, name="x/lfm:latest")).kind == "none"
    assert made(own=replace(SOURCE, digest="other")).kind == "copy"
    assert made(own=replace(SOURCE, state="blob-missing")).kind == "copy"


@pytest.mark.parametrize("name", ["lfm2", "LFM2:latest", '"lfm2:latest"'])
def test_the_source_s_own_name_needs_nothing(name):
    assert made(name=name).kind == "none"


def test_a_modelfile_that_asks_for_another_context_is_derived_from():
    source = replace(SOURCE, params=MappingProxyType({"num_ctx": 512, "top_k": 3}))
    one = made("source: ollama:lfm2, ctx: 2048", source=source)
    assert (one.kind, one.source, dict(one.parameters), one.family) == (
        "derive",
        "lfm2:latest",
        {"num_ctx": 2048},
        "lfm2",
    )
    assert "alone would get 512" in one.because


def test_a_context_that_is_not_the_servers_is_derived_too():
    others = "  b: {source: ollama:b, ctx: 8192}\n  c: {source: ollama:c, ctx: 8192}\n"
    assert dict(made("source: ollama:lfm2, ctx: 512", others=others).parameters) == {"num_ctx": 512}


def test_what_was_derived_is_not_derived_again():
    source = replace(SOURCE, params=MappingProxyType({"num_ctx": 512, "top_k": 3}), system="calm")
    own = replace(source, digest="d2", params=MappingProxyType({"num_ctx": 2048, "top_k": 3}))
    keys = "source: ollama:lfm2, ctx: 2048"
    assert made(keys, source=source, own=own).kind == "none"
    assert made(keys, source=source, own=replace(own, blob="blobs/older")).kind == "derive"
    assert made(keys, source=source, own=replace(own, system=None)).kind == "derive"
    assert made("source: ollama:lfm2, ctx: 1024", source=source, own=own).kind == "derive"


def test_under_its_own_name_it_is_derived_in_place_once():
    source = replace(SOURCE, params=MappingProxyType({"num_ctx": 512}))
    keys = "source: ollama:lfm2, ctx: 2048"
    assert made(keys, name="lfm2", source=source, own=source).kind == "derive"
    changed = replace(source, params=MappingProxyType({"num_ctx": 2048}))
    assert made(keys, name="lfm2", source=changed, own=changed).kind == "none"


def test_of_a_server_that_is_not_ours_the_own_context_is_unknown():
    one = made("source: ollama:lfm2, ctx: 2048", server="{url: 'http://127.0.0.1:11434'}")
    assert (one.kind, dict(one.parameters)) == ("derive", {"num_ctx": 2048})


def test_a_file_is_made_a_model_until_a_record_says_that_it_was():
    keys = "source: gguf:a.gguf, runner: ollama"
    one = made(keys, source=None)
    assert (one.kind, one.name, dict(one.parameters)) == ("create", "lfm:latest", {})
    assert made(keys, source=None, own=SOURCE).kind == "create"
    assert made(keys, source=None, own=SOURCE, made=True).kind == "none"
    assert (
        made(keys + ", ctx: 512", source=None, own=SOURCE, made=True, others="  b: {source: ollama:b}\n").kind == "none"
    )


def test_names_are_as_ollama_lists_them():
    stack = load(Path("/h"), "stack: s\nmodels: {Lfm2.5: {source: 'ollama:hf.co/org/X-GGUF:Q4_K_M'}}\n", {})
    assert served_name(stack.models[0]) == "Lfm2.5:latest"
    assert str(source_name(stack.models[0])) == "hf.co/org/X-GGUF:Q4_K_M"


def test_what_a_real_ollama_derived_is_known_as_derived(tmp_path):
    """`derived` was made by a real server from smol:135m with num_ctx 512."""
    store = folder_store(write_store(tmp_path))
    keys = f"source: 'ollama:{REGISTRY}/smol:135m', ctx: 512"
    source, own = store.find(f"{REGISTRY}/smol:135m"), store.find("derived")
    assert made(keys, name="derived", source=source, own=own).kind == "none"
    assert made(keys.replace("512", "256"), name="derived", source=source, own=own).kind == "derive"

"""What a label keeps of a declaration: all that it means, nothing of how it is written, and no secret."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields, replace
from pathlib import Path
from types import MappingProxyType

import pytest

from homellm.domain.secret import Secret, fingerprint
from homellm.domain.stack import Gpu, KvCacheType, LogSettings, Model, OllamaServer, Source, Volume
from homellm.planning.declared import changed_secrets, declared_text, differing, read_declared, unset_of
from homellm.runners.hashing import spec_hash
from homellm.runners.llama_server import build
from tests.unit.loading.given import loaded
from tests.unit.planning.build import container, model, stack, world

HEAD = "stack: nuc\n"
ALIKE = {
    "another order of keys": ("ctx: 512\nparallel: 2", "parallel: 2\nctx: 512"),
    "quotes": ("parallel: 2", 'parallel: "2"'),
    "a unit": ("memory: 4g\nsleep_idle: 90s", "memory: 4096m\nsleep_idle: 1m30s"),
    "what holds anyway": ("parallel: 1\nctx: 4096\nstop_grace: 10s\nmlock: no", "bind: 127.0.0.1"),
    "an address without a port": ("bind: 0.0.0.0", ""),
    "CPUs": ("cpuset: 3,0-1,2", "cpuset: 0-3"),
    "one type for both": ("kv_cache_type: f16", "kv_cache_type: {v: f16, k: f16}"),
    "the order of env": ("env: {A: x, B: y}", "env: [B=y, A=x]"),
    "the order of labels": ("labels: {a: x, b: y}", "labels: {b: y, a: x}"),
    "the order of volumes": ("volumes: ['./a:/a', 'vol:/b']", "volumes: ['vol:/b', '/srv/llm/a:/a:rw']"),
    "the order of networks": ("networks: [a, b]", "networks: {b: {external: true}, a: {external: true}}"),
    "the name that it has anyway": ("container_name: nuc-smol", ""),
    "pull and restart": ("pull: never\nrestart: always", ""),
    "a variable": ("parallel: ${SLOTS}", "parallel: 3"),
}


def text_of(keys: str, top: str = "", environ: Mapping[str, str] | None = None) -> str:
    stack_ = declared(keys, top, environ)
    return declared_text(stack_.models[0], stack_)


def declared(keys: str, top: str = "", environ: Mapping[str, str] | None = None):
    lines = "".join(f"    {line}\n" for line in keys.splitlines())
    text = f"{HEAD}{top}models:\n  smol:\n    source: gguf:smol.gguf\n{lines}"
    return loaded(text, environ or {"SLOTS": "3"})


@pytest.mark.parametrize("name", ALIKE)
def test_what_means_the_same_is_the_same_and_makes_the_same_container(name: str) -> None:
    one, other = ALIKE[name]
    assert text_of(one) == text_of(other)
    stacks = [declared(keys) for keys in ALIKE[name]]
    specs = [build(one.models[0], one, world()).spec for one in stacks]
    assert specs[0] is not None
    assert spec_hash(replace(specs[0], restart="no"), "i") == spec_hash(replace(specs[1], restart="no"), "i")


@pytest.mark.parametrize(
    ("top", "keys"),
    [
        ("defaults: {ctx: 512}\n", "ctx: 512"),
        ("defaults: {env: {A: x}}\n", "env: {A: x}"),
        ("x-common: &common {ctx: 512}\n", "ctx: 512"),
    ],
)
def test_where_it_was_said_means_nothing(top: str, keys: str) -> None:
    with_default = "<<: *common" if top.startswith("x-") else ""
    assert text_of(with_default, top) == text_of(keys)
    assert text_of(with_default, top) != text_of("")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("extra_args: [--a, --b]", "extra_args: [--b, --a]"),
        ("jinja: false", ""),
        ("cache_reuse: 0", ""),
        ("env: {A: ''}", ""),
        ("kv_cache_type: {k: q8_0}", "kv_cache_type: {v: q8_0}"),
        ("volumes: ['./a:/a']", "volumes: ['./a:/a:ro']"),
        ("volumes: ['vol:/a']", "volumes: ['./vol:/a']"),
        ("log: {driver: local}", ""),
    ],
)
def test_what_means_something_else_differs(one: str, other: str) -> None:
    assert text_of(one) != text_of(other)


ANOTHER = {
    "source": Source("hf", "org/repo:Q8_0"),
    "image": "server:2",
    "runner": "ollama",
    "parallel": 2,
    "ctx": 512,
    "batch": 1,
    "ubatch": 1,
    "gpu": "card",
    "gpu_layers": 0,
    "flash_attention": "off",
    "kv_cache_type": KvCacheType("f16", "q8_0"),
    "mmproj": Path("/a"),
    "chat_template_file": Path("/a"),
    "api_key": Secret("s3cret"),
    "port": 80,
    "bind": "0.0.0.0",
    "cpuset": "0",
    "container_name": "other",
    "env": MappingProxyType({"A": "b"}),
    "labels": MappingProxyType({"A": "b"}),
    "volumes": (Volume("/a", "/b"),),
    "networks": ("n",),
    "log": LogSettings("local"),
    "extra_args": ("--x",),
    "server": "main",
    "fallback": "none",
    "fallback_source": Source("gguf", "", Path("/b")),
}
LEFT_OUT = {"name", "section", "places", "unset", "pull", "restart", "stored", "program"}


@pytest.mark.parametrize("name", [f.name for f in fields(Model) if f.name not in LEFT_OUT])
def test_every_other_key_counts(name: str) -> None:
    base = model(port=8080, runner="ollama" if name in ("server", "fallback") else "llama-server")
    value = ANOTHER.get(name, not getattr(base, name))
    changed = replace(base, **{name: value})
    (key,) = differing(*(read(one) for one in (base, changed))) if name != "runner" else ("runner",)
    assert key.partition(".")[0] == name.removesuffix("_bytes").removesuffix("_s")


def read(one: Model):
    gpu = Gpu("card", "vulkan", auto=True)
    found = read_declared(declared_text(one, replace(stack(one), gpus=(gpu,))))
    assert found is not None
    return found


def test_a_gpu_is_what_it_is_chosen_by_and_not_its_name() -> None:
    def of(name: str, pci: str) -> str:
        top = f'gpus: {{{name}: {{api: vulkan, pci: "{pci}"}}}}\n'
        return text_of(f"gpu: {name}", top)

    assert of("a", "0000:00:02.0") == of("b", "00:02.0")
    assert of("a", "0000:00:02.0") != of("a", "0000:01:00.0")


def test_no_secret_and_no_free_text_is_in_it() -> None:
    keys = 'api_key: hunter2\nenv: {HF_TOKEN: hunter3, A: hunter4}\nextra_args: [--x, hunter5]\nlabels: {a: "hunter6"}'
    text = text_of(keys)
    assert "hunter" not in text
    assert json.loads(text)["api_key"] == "<redacted>"
    assert text != text_of(keys.replace("hunter5", "another"))
    assert text == text_of(keys.replace("hunter2", "another"))  # that is told by changed_secrets


def test_secrets_are_held_against_what_the_container_was_given() -> None:
    asked = model(api_key=Secret("one"), env=MappingProxyType({"HF_TOKEN": Secret("two"), "A": "three"}))
    given = {"LLAMA_API_KEY": fingerprint("one"), "HF_TOKEN": fingerprint("two"), "PATH": fingerprint("/bin")}
    assert changed_secrets(asked, container(variables=given)) == ()
    assert changed_secrets(asked, container(variables=given | {"HF_TOKEN": fingerprint("x")})) == ("env.HF_TOKEN",)
    assert changed_secrets(asked, container()) == ("api_key", "env.HF_TOKEN")


SERVER = "ollama:\n  main: {origins: [%s], env: {A: x, B: y}}\nmodels:\n%s"
ONE = "  a: {source: 'ollama:a', parallel: %d, ctx: %d}\n"


def server(models: str, origins: str = "b, a") -> str:
    found = loaded(HEAD + SERVER % (origins, models))
    return declared_text(found.ollama[0], found)


def test_a_server_is_declared_by_its_models_too() -> None:
    was, now = (read_declared(server(ONE % pair)) for pair in ((3, 2048), (2, 4096)))
    assert was is not None
    assert now is not None
    assert differing(was, now) == ("models.ctx", "models.parallel")
    assert (was["models.ctx"], now["models.ctx"]) == (2048, 4096)
    assert server(ONE % (3, 2048)) == server(ONE % (3, 2048), "a, b")
    more = "".join(f"  {name}: {{source: 'ollama:{name}', parallel: 3, ctx: 2048}}\n" for name in "abcd")
    assert json.loads(server(more))["max_loaded_models"] == 4


def test_what_is_not_known_is_not_compared() -> None:
    one = replace(model(ctx=512), unset=frozenset({"api_key", "env.A"}))
    kept = read(model(ctx=512, api_key=Secret("k"), env=MappingProxyType({"A": "b", "B": "c"})))
    assert differing(kept, read(one), unset_of(one, stack(one))) == ("env.B",)
    on_it = replace(model(runner="ollama", server="main"), unset=frozenset({"ctx"}))
    main = OllamaServer("main", unset=frozenset({"store"}))
    assert unset_of(main, replace(stack(on_it), ollama=(main,))) == {"store", "models.ctx"}


@pytest.mark.parametrize("text", ["", "no JSON", "[1]", "{"])
def test_what_is_no_declaration_is_none(text: str) -> None:
    assert read_declared(text) is None


OF_A_SERVER = ANOTHER | {
    "store": Volume("/srv/ollama", "/root/.ollama"),
    "keep_alive": 300,
    "kv_cache_type": "q8_0",
    "sched_spread": False,
    "origins": ("https://a",),
    "llama_args": MappingProxyType({"seed": "1"}),
    "restart": "always",
}
NOT_OF_ITS_CONTAINER = {"name", "section", "places", "unset", "pull", "restart", "declared", "url", "log_source"}


@pytest.mark.parametrize("name", [f.name for f in fields(OllamaServer) if f.name not in NOT_OF_ITS_CONTAINER])
def test_every_key_of_a_server_counts(name: str) -> None:
    def read_server(one: OllamaServer) -> Mapping[str, object]:
        on_it = replace(stack(model()), gpus=(Gpu("card", "vulkan", auto=True),), ollama=(one,))
        found = read_declared(declared_text(one, on_it))
        assert found is not None
        return found

    base = OllamaServer("main", port=11434)
    value = OF_A_SERVER.get(name, 7)
    (key,) = differing(read_server(base), read_server(replace(base, **{name: value})))
    assert key.partition(".")[0] == name.removesuffix("_bytes").removesuffix("_s")

"""Right files: what each key becomes, what is taken when it is left out, and how defaults and anchors merge."""

from pathlib import Path

import pytest

from homellm.domain.secret import Secret
from homellm.domain.stack import Gpu, KvCacheType, LogSettings, Source, Volume
from homellm.errors import StackFileError
from homellm.loading import load
from tests.unit.loading.given import loaded, model_with, stack_with

DIGEST = "ghcr.io/ggml-org/llama.cpp@sha256:" + "a" * 64


def test_the_defaults_of_a_model_are_those_of_the_design() -> None:
    model = model_with("")
    assert model.source == Source("gguf", "smol.gguf", Path("/srv/llm/smol.gguf"))
    assert (model.runner, model.parallel, model.ctx) == ("llama-server", 1, 4096)
    assert (model.bind, model.port, model.restart, model.pull) == ("127.0.0.1", None, "unless-stopped", "missing")
    assert model.image == "ghcr.io/ggml-org/llama.cpp:server"
    assert model.log == LogSettings(None, "10m", 3)
    assert (model.batch, model.ubatch, model.gpu_layers, model.flash_attention, model.cache_reuse) == (None,) * 5
    assert (model.mlock, model.embedding, model.stop_grace_s, model.sleep_idle_s) == (False, False, 10, None)
    assert (model.env, model.labels, model.volumes, model.networks, model.extra_args) == ({}, {}, (), (), ())


def test_every_key_arrives() -> None:
    model = model_with(
        """\
runner: llama-server
parallel: 3
ctx: 32768
batch: 2048
ubatch: 1024
gpu: iris
gpu_layers: all
flash_attention: on
kv_cache_type: {k: q8_0, v: q4_0}
kv_unified: no
swa_full: yes
cache_reuse: 256
reasoning_preserve: true
jinja: True
mlock: ON
sleep_idle: 15m
mmproj: ./mm.gguf
chat_template_file: /etc/t.jinja
embedding: false
api_key: sk-1
port: 11435
bind: "[::1]"
image: localhost:5000/llama:dev
pull: never
cpuset: 0-3
cpu_shares: 2048
memory: 6GiB
shm_size: 64m
restart: on-failure
stop_grace: 1m
container_name: lfm
env: {HF_TOKEN: t, COLOUR: off, VERSION: 1.10, OCTAL: 010}
labels: [a=b, c=d=e]
volumes: [./x:/y:ro, cache:/z]
networks: [proxy]
log: {driver: local, max_size: 5M, max_files: 2}
extra_args: [--seed, 7, --no-webui]
""",
        top='gpus: {iris: {pci: "0000:00:02.0", api: vulkan}}\n',
    )
    assert (model.parallel, model.ctx, model.batch, model.ubatch) == (3, 32768, 2048, 1024)
    assert (model.gpu, model.gpu_layers, model.flash_attention) == ("iris", "all", "on")
    assert model.kv_cache_type == KvCacheType("q8_0", "q4_0")
    assert (model.kv_unified, model.swa_full, model.cache_reuse) == (False, True, 256)
    assert (model.reasoning_preserve, model.jinja, model.mlock, model.embedding) == (True, True, True, False)
    assert model.sleep_idle_s == 900
    assert (model.mmproj, model.chat_template_file) == (Path("/srv/llm/mm.gguf"), Path("/etc/t.jinja"))
    assert model.api_key == Secret("sk-1")
    assert (model.port, model.bind) == (11435, "::1")
    assert (model.image, model.pull) == ("localhost:5000/llama:dev", "never")
    assert (model.cpuset, model.cpu_shares) == ("0-3", 2048)
    assert (model.memory_bytes, model.shm_size_bytes) == (6 * 1024**3, 64 * 1024**2)
    assert (model.restart, model.stop_grace_s, model.container_name) == ("on-failure", 60, "lfm")
    assert model.env == {"HF_TOKEN": Secret("t"), "COLOUR": "off", "VERSION": "1.10", "OCTAL": "010"}
    assert model.labels == {"a": "b", "c": "d=e"}
    assert model.volumes == (Volume("/srv/llm/x", "/y", read_only=True), Volume("cache", "/z", named=True))
    assert model.networks == ("proxy",)
    assert model.log == LogSettings("local", "5m", 2)
    assert model.extra_args == ("--seed", "7", "--no-webui")


ONE_KEY = [
    ("restart: no", "restart", "no"),
    ("flash_attention: off", "flash_attention", "off"),
    ("flash_attention: 'auto'", "flash_attention", "auto"),
    ("parallel: '3'", "parallel", 3),
    ("parallel: +3", "parallel", 3),
    ("port: '11435'", "port", 11435),
    ("cpuset: 0", "cpuset", "0"),
    ("cpuset: 3,0-1,2", "cpuset", "0-3"),
    ("mlock: off", "mlock", False),
    ("gpu_layers: auto", "gpu_layers", "auto"),
    ("gpu_layers: 0", "gpu_layers", 0),
    ("kv_cache_type: q8_0", "kv_cache_type", KvCacheType("q8_0", "q8_0")),
    ("kv_cache_type: {v: q8_0}", "kv_cache_type", KvCacheType("f16", "q8_0")),
    ("sleep_idle: never", "sleep_idle_s", None),
    ("stop_grace_s: 30", "stop_grace_s", 30),
    ("bind: 0.0.0.0", "bind", "0.0.0.0"),
    ("bind: '::'", "bind", "::"),
    ("bind: '::ffff:127.0.0.1'", "bind", "127.0.0.1"),
    (f"image: {DIGEST}", "image", DIGEST),
    (
        "image: ghcr.io/ggml-org/llama.cpp:server-vulkan-b10434",
        "image",
        "ghcr.io/ggml-org/llama.cpp:server-vulkan-b10434",
    ),
    ("image: home-llama:dev", "image", "home-llama:dev"),
    ("source: gguf:/abs/a b.gguf", "source", Source("gguf", "/abs/a b.gguf", Path("/abs/a b.gguf"))),
    ("source: gguf:../a.gguf", "source", Source("gguf", "../a.gguf", Path("/srv/a.gguf"))),
    ("source: gguf:~/a.gguf", "source", Source("gguf", "~/a.gguf", Path("/home/eva/a.gguf"))),
    ("networks: {proxy: {external: true}}", "networks", ("proxy",)),
    ("networks: {proxy: {external: yes}, other: {}}", "networks", ("proxy", "other")),
    ("log: {driver: journald}", "log", LogSettings("journald", None, None)),
    ("log: {max_files: 9}", "log", LogSettings(None, "10m", 9)),
    ("volumes: [~/x:/y:rw]", "volumes", (Volume("/home/eva/x", "/y"),)),
    ('env: {EMPTY: "", YES: yes}', "env", {"EMPTY": "", "YES": "yes"}),
    ("env: {LLAMA_ARG_TEMP: 1}", "env", {"LLAMA_ARG_TEMP": "1"}),
    (
        "extra_args: [-1, --chat-template-kwargs, '{\"a b\": 1}']",
        "extra_args",
        ("-1", "--chat-template-kwargs", '{"a b": 1}'),
    ),
    ("x-note: [anything, {at: all}]", "env", {}),
    ("batch: 4096\nubatch: 4096", "ubatch", 4096),
]


@pytest.mark.parametrize(("keys", "field", "expected"), ONE_KEY, ids=[row[0] for row in ONE_KEY])
def test_one_key(keys: str, field: str, expected: object) -> None:
    assert getattr(model_with(keys), field) == expected


@pytest.mark.parametrize(
    ("gpu", "expected"),
    [
        ('{pci: "0000:00:02.0", api: vulkan}', Gpu("g", "vulkan", pci="0000:00:02.0")),
        ("{pci: 0000:01:00.0, api: cuda}", Gpu("g", "cuda", pci="0000:01:00.0")),
        ("{pci: 0A:00.0, api: rocm}", Gpu("g", "rocm", pci="0000:0a:00.0")),
        ("{id: 8086:9A49, api: vulkan}", Gpu("g", "vulkan", id="8086:9a49")),
        ("{auto: true, api: cuda}", Gpu("g", "cuda", auto=True)),
        ("{pci: auto, api: cuda, x-why: none}", Gpu("g", "cuda", auto=True)),
        ("{id: auto, api: cuda}", Gpu("g", "cuda", auto=True)),
    ],
)
def test_gpus(gpu: str, expected: Gpu) -> None:
    stack = loaded(stack_with("gpu: g", top=f"gpus:\n  g: {gpu}\n"))
    (found,) = stack.gpus
    assert (found.name, found.api, found.pci, found.id, found.auto) == (
        expected.name,
        expected.api,
        expected.pci,
        expected.id,
        expected.auto,
    )
    assert found.place is not None
    assert (found.place.line, found.place.column, found.place.excerpt) == (3, 3, f"  g: {gpu}")
    assert stack.models[0].image == f"ghcr.io/ggml-org/llama.cpp:server-{expected.api}"


def test_defaults_merge_env_and_labels_by_key_and_replace_the_rest() -> None:
    stack = loaded(
        """\
stack: s
defaults:
  source: gguf:a.gguf
  ctx: 1024
  env: {A: 1, B: 1}
  labels: [l=1, m=1]
  extra_args: [--seed, 1]
  volumes: [a1:/a]
  log: {driver: local, max_files: 9}
models:
  one: {}
  two:
    ctx: 2048
    env: [B=2, C=2]
    labels: {m: 2}
    extra_args: [--temp, 2]
    volumes: []
    log: {max_size: 1m}
"""
    )
    one, two = stack.models
    assert (one.ctx, one.env, one.labels) == (1024, {"A": "1", "B": "1"}, {"l": "1", "m": "1"})
    assert (two.ctx, two.env, two.labels) == (2048, {"A": "1", "B": "2", "C": "2"}, {"l": "1", "m": "2"})
    assert (one.extra_args, two.extra_args) == (("--seed", "1"), ("--temp", "2"))
    assert (one.volumes, two.volumes) == ((Volume("a1", "/a", named=True),), ())
    assert (one.log, two.log) == (LogSettings("local", "10m", 9), LogSettings(None, "1m", 3))


@pytest.mark.parametrize("nothing", ["null", "~", "Null"])
def test_null_takes_a_default_back(nothing: str) -> None:
    top = "gpus: {g: {auto: true, api: cuda}}\ndefaults: {gpu: g, port: 80, sleep_idle: 1m, stop_grace: 9s}\n"
    model = model_with(f"gpu: {nothing}\nport: {nothing}\nsleep_idle: never\nstop_grace_s: 3", top=top)
    assert (model.gpu, model.port, model.sleep_idle_s, model.stop_grace_s) == (None, None, None, 3)
    assert model.image == "ghcr.io/ggml-org/llama.cpp:server"


def test_anchors_aliases_and_merges_from_free_keys() -> None:
    stack = loaded(
        """\
stack: s
x-small: &small {ctx: 512, parallel: 2}
x-big: &big {ctx: 8192, batch: 4096}
x-args: &args [--seed, 7]
models:
  one: &one
    <<: [*small, *big]
    source: gguf:a.gguf
    extra_args: *args
  two:
    <<: *one
    ctx: &n 100
    ubatch: *n
  "<<": {source: gguf:b.gguf}
"""
    )
    one, two, merge = stack.models
    assert (one.ctx, one.parallel, one.batch, one.extra_args) == (512, 2, 4096, ("--seed", "7"))
    assert (two.ctx, two.parallel, two.batch, two.ubatch, two.source) == (100, 2, 4096, 100, one.source)
    assert merge.name == "<<"


@pytest.mark.parametrize("name", ["lfm2.5", "qwen3:0.6b", "1.5", "on", "null", "0777", "org/model", "模型", "a b"])
def test_names_of_models_stay_as_they_were_written(name: str) -> None:
    assert [model.name for model in loaded(f'stack: s\nmodels: {{"{name}": {{source: gguf:a}}}}\n').models] == [name]
    assert [model.name for model in loaded(f"stack: s\nmodels:\n  {name}: {{source: gguf:a}}\n").models] == [name]


def test_a_few_models_that_look_alike_and_do_not_collide() -> None:
    text = "stack: s\ndefaults: {source: gguf:a}\nmodels:\n  a: {port: 80}\n  b: {port: 81}\n"
    more = "  a.nextdoor: {port: 80, bind: 127.0.0.2}\n  c: {port: 80, bind: '::'}\n"
    assert len(loaded(text + more).models) == 4


def test_empty_sections_are_no_error() -> None:
    stack = loaded("stack: s\ngpus:\ndefaults:\nmodels:\n  a: {source: gguf:a}\n")
    assert (stack.name, stack.gpus, stack.file) == ("s", (), Path("/srv/llm/homellm.yaml"))


def test_a_relative_file_is_made_absolute_for_paths_but_named_as_it_was_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    stack = load(Path("sub/homellm.yaml"), stack_with(""), {})
    assert stack.file == tmp_path / "sub/homellm.yaml"
    assert stack.models[0].source.path == tmp_path / "sub/smol.gguf"
    with pytest.raises(StackFileError) as caught:
        load(Path("sub/homellm.yaml"), "", {})
    assert caught.value.problems[0].file == "sub/homellm.yaml"
    assert str(caught.value) == "sub/homellm.yaml: 1 problem"

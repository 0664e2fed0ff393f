"""What is wrong beyond a single value: keys, GPUs, contradictions, collisions. `‸` marks each place to be told."""

import pytest

from homellm import __version__
from tests.unit.loading.given import complaint, marked, problems_of, stack_with

IRIS = 'gpus:\n  iris: {pci: "0000:00:02.0", api: vulkan}\n'
NOT_YET = f"known, but not in this version of homellm ({__version__})"

# A model's keys, what stands before `models:`, the problem's id, parts of its message and of its hint.
MODELS = [
    # unknown keys and the nearest right one
    ("‸paralel: 3", "", "unknown-key", "unknown key `paralel` in model `smol`; did you mean `parallel`?", ""),
    ("‸cache-reuse: 3", "", "unknown-key", "did you mean `cache_reuse`?", ""),
    ("‸Port: 80", "", "unknown-key", "did you mean `port`?", ""),
    ("‸n_ctx: 80", "", "unknown-key", "did you mean `ctx`?", ""),
    ("‸num_parallel: 3", "", "unknown-key", "did you mean `parallel`?", ""),
    ("‸ports: [80]", "", "unknown-key", "did you mean `port`?", ""),
    ("‸environment: {}", "", "unknown-key", "did you mean `env`?", ""),
    ("‸zzzz: 1", "", "unknown-key", "unknown key `zzzz` in model `smol`", "Known here: source, runner, parallel"),
    (
        "log: {‸maxsize: 10m}",
        "",
        "unknown-key",
        "unknown key `maxsize` in `log` in model `smol`; did you mean `max_size`?",
        "",
    ),
    ("", "defaults: {‸ctxx: 3}\n", "unknown-key", "unknown key `ctxx` in `defaults`; did you mean `ctx`?", ""),
    ("", "defaults: {‸name: 3}\n", "unknown-key", "unknown key `name` in `defaults`", "Known here"),
    ("", "‸gpu: {}\n", "unknown-key", "unknown key `gpu`; did you mean `gpus`?", ""),
    ("", "‸parallel: 3\n", "unknown-key", "unknown key `parallel`", "is a key of a model"),
    ("", "‸services: {}\n", "unknown-key", "unknown key `services`", "looks like a Compose file"),
    # sources of the hub
    ("source: ‸hf:repo:Q4_K_M", "", "wrong-value", "does not name a repository as `org/repo`", "hf:org/repo:Q4_K_M"),
    ('source: ‸"hf:"', "", "wrong-value", "does not name a repository", "hf:org/repo:Q4_K_M"),
    ("source: ‸hf:org/../etc", "", "wrong-value", "does not name a repository", ""),
    ("source: ‸hf:org/repo/model.safetensors", "", "wrong-value", "names a file that is no .gguf", ""),
    ("source: ‸hf:org/repo/../x.gguf", "", "wrong-value", "by a path that is none of a repository", ""),
    ("source: ‸hf:org/repo@:Q8_0", "", "wrong-value", "no branch, tag or commit after the `@`", ""),
    ('source: ‸"hf:org/repo:"', "", "wrong-value", "has no quant after the last `:`", ""),
    ("source: ‸huggingface:o/r", "", "wrong-value", "begin with `gguf:`, `hf:` or `ollama:`", "hf:org/repo:Q4_K_M"),
    ("source: ‸https://hf.co/o/r", "", "wrong-value", "begin with `gguf:`, `hf:` or `ollama:`", "hf:org/repo:Q4_K_M"),
    # GPUs
    ("", "gpus:\n  ‸iris: {pci: auto}\n", "missing-key", "GPU `iris` has no `api`", "api: vulkan"),
    ("", "gpus:\n  ‸iris: {api: vulkan}\n", "gpu-selector", "GPU `iris` says not which one it is", "exactly one of"),
    ("", "gpus:\n  ‸iris: {api: cuda, auto: false}\n", "gpu-selector", "says not which one", ""),
    ("", 'gpus:\n  ‸a: {api: cuda, pci: "00:02.0", id: "8086:9a49"}\n', "gpu-selector", "names `pci` and `id`", ""),
    ("", "gpus:\n  ‸a: {api: cuda, auto: true, pci: auto}\n", "gpu-selector", "names `pci` and `auto`", ""),
    ("", "gpus:\n  a: {api: ‸vulcan, auto: true}\n", "wrong-value", "`api` in GPU `a` is `vulcan`", ""),
    ("", "gpus:\n  a: {api: ‸nvidia, auto: true}\n", "wrong-value", "did you mean `cuda`?", ""),
    ("", "gpus:\n  a: {api: cuda, pci: ‸0}\n", "wrong-value", "which is no PCI address", "lspci -D"),
    ("", "gpus:\n  a: {api: cuda, id: ‸0x8086}\n", "wrong-value", "which is no vendor:device in hex", "lspci -nn"),
    (
        "",
        "gpus:\n  a: {api: cuda, auto: true, ‸slot: 1}\n",
        "unknown-key",
        "unknown key `slot` in GPU `a`",
        "Known here",
    ),
    ("", "gpus: ‸[iris]\n", "wrong-type", "`gpus` must be a mapping", ""),
    ("", "gpus:\n  iris: ‸vulkan\n", "wrong-type", "GPU `iris` must be a mapping", ""),
    ("gpu: ‸iri", IRIS, "unknown-gpu", "no GPU `iri` stands under `gpus`; did you mean `iris`?", "There: iris."),
    ("gpu: ‸iris", "", "unknown-gpu", "no GPU `iris` stands under `gpus`", "Declare it"),
    # contradictions
    ("batch: 512\n‸ubatch: 1024", "", "contradiction", "`ubatch` (1024) is larger than `batch` (512)", "`batch: 1024`"),
    ("‸ubatch: 4096", "", "contradiction", "larger than the server's own `batch` (2048)", "`batch: 4096`"),
    ("batch: 512", "defaults: {‸ubatch: 1024}\n", "contradiction", "`ubatch` (1024) is larger", ""),
    ("‸gpu_layers: all", "", "contradiction", "`gpu_layers` is all, but no `gpu` is named in model `smol`", "gpus:"),
    ("", "defaults: {‸gpu_layers: 20}\n", "contradiction", "no `gpu` is named in `defaults`", ""),
    (
        "‸kv_cache_type: q8_0\nflash_attention: off",
        "",
        "contradiction",
        "keeps V as q8_0, which needs flash attention",
        "on",
    ),
    ("volumes: [/a:/x, ‸/b:/x/]", "", "contradiction", "two volumes are mounted on `/x`", ""),
    ("stop_grace: 3s\n‸stop_grace_s: 3", "", "contradiction", "says the same as `stop_grace`", "Keep one"),
    # extra_args and env that say what a key says
    (
        "extra_args: [‸--ctx-size, 4096]",
        "",
        "owned-by-key",
        "`--ctx-size` in `extra_args` is what the key `ctx` says",
        "`ctx`",
    ),
    ("extra_args: [‸--ctx-size=4096]", "", "owned-by-key", "the key `ctx`", ""),
    ("extra_args: [‸--ctx_size, 4096]", "", "owned-by-key", "`--ctx-size` in `extra_args`", ""),
    ('extra_args: [‸"-c 4096"]', "", "owned-by-key", "`-c` in `extra_args` is what the key `ctx` says", ""),
    ("extra_args: [‸-c4096]", "", "owned-by-key", "the key `ctx`", ""),
    ("extra_args: [‸-ngl99]", "", "owned-by-key", "the key `gpu_layers`", ""),
    ("extra_args: [‸-np, 3]", "", "owned-by-key", "the key `parallel`", ""),
    ("extra_args: [‸--mlock]", "", "owned-by-key", "the key `mlock`", ""),
    ("extra_args: [‸--alias, a]", "", "owned-by-key", "the key `name`", "rename the model"),
    ("extra_args: [‸--host, 0.0.0.0]", "", "owned-by-key", "the key `port`", "always listens on 0.0.0.0:8080"),
    ("extra_args: [‸--api-key, k]", "", "owned-by-key", "the key `api_key`", ""),
    ("", "defaults: {extra_args: [‸-fa, on]}\n", "owned-by-key", "the key `flash_attention`", ""),
    ("extra_args: [‸--hf-token, x]", "", "secret-in-args", "show its secret", "HF_TOKEN"),
    ('extra_args: [‸"--top-k 40"]', "", "wrong-value", "is one word to the server", '"--top-k", "40"'),
    (
        "env: {‸LLAMA_ARG_CTX_SIZE: 3}",
        "",
        "owned-by-key",
        "`LLAMA_ARG_CTX_SIZE` in `env` is what the key `ctx` says",
        "`ctx`",
    ),
    ("env: [‸LLAMA_ARG_MLOCK=1]", "", "owned-by-key", "the key `mlock`", ""),
    ("env: {‸LLAMA_API_KEY: k}", "", "owned-by-key", "the key `api_key`", ""),
    ("env: {‸GGML_VK_VISIBLE_DEVICES: 0}", "", "vulkan-visible-devices", "0 can make the CPU pass for a GPU", "gpus:"),
    (
        "env: {‸MESA_VK_DEVICE_SELECT: 1}",
        "",
        "mesa-index",
        "is `1`, an index, but Mesa wants vendor:device",
        "lspci -nn",
    ),
    ("env: {‸MESA_VK_DEVICE_SELECT: 8086:9a49}", "", "owned-by-key", "the key `gpu`", ""),
    # merged from defaults, told where it stands
    ("", "defaults: {env: {‸LLAMA_ARG_THREADS: 3}}\n", "owned-by-key", "the key `cpuset`", ""),
    ("", "defaults: {parallel: ‸none}\n", "wrong-value", "`parallel` in `defaults` is `none`", ""),
    ("", "x-a: &a {‸paralel: 3}\ndefaults:\n  <<: *a\n", "unknown-key", "unknown key `paralel` in `defaults`", ""),
    ("ctx: ‸*big", "x-big: &big 4k\n", "wrong-value", "`ctx` in model `smol` is `4k`", ""),
    ("extra_args: *args", "x-args: &args [a, ‸-np]\n", "owned-by-key", "the key `parallel`", ""),
]


@pytest.mark.parametrize(("keys", "top", "id", "message", "hint"), MODELS, ids=[f"{r[0]}|{r[1]}" for r in MODELS])
def test_a_wrong_model(keys: str, top: str, id: str, message: str, hint: str) -> None:
    problem = complaint(stack_with(keys, top=top))
    assert problem.id == id
    assert message in problem.message
    assert hint in problem.hint


FILES = [
    ("‸", "empty-file", "the file is empty", "begins with `stack: NAME`"),
    ("‸# only a comment\n", "empty-file", "the file is empty", ""),
    ("‸- stack: a\n", "wrong-type", "the file is no mapping of keys", "`models:`"),
    ("‸just words\n", "wrong-type", "the file is no mapping of keys", ""),
    ("‸models: {a: {source: gguf:a}}\n", "missing-key", "the file has no `stack`", "`stack: NAME`"),
    ("stack: ‸''\nmodels: {a: {source: gguf:a}}\n", "wrong-value", "`stack` is empty", ""),
    ("‸stack: ~\nmodels: {a: {source: gguf:a}}\n", "no-value", "`stack` has no value", ""),
    ("stack: ‸my home\nmodels: {a: {source: gguf:a}}\n", "wrong-value", "`stack` is `my home`", ""),
    ("stack: ‸[a]\nmodels: {a: {source: gguf:a}}\n", "wrong-type", "`stack` is a list", ""),
    ("‸stack: a\n", "missing-key", "the file declares no model", "`models:`"),
    ("stack: a\n‸models:\n", "missing-key", "the file declares no model", ""),
    ("stack: a\n‸models: {}\n", "missing-key", "the file declares no model", ""),
    ("stack: a\nmodels: ‸[a]\n", "wrong-type", "`models` must be a mapping of keys", ""),
    ("stack: a\nmodels: {a: ‸gguf:a}\n", "wrong-type", "model `a` must be a mapping of keys", ""),
    ("stack: a\nmodels:\n  ‸a:\n", "missing-key", "model `a` has no `source`", "gguf:/path/to/model.gguf"),
    ("stack: a\nmodels:\n  ‸a: {ctx: 3}\n", "missing-key", "model `a` has no `source`", ""),
    ("stack: a\nmodels:\n  ‸a,b: {source: gguf:a}\n", "model-name", "has a comma in it: the server would read two", ""),
    ('stack: a\nmodels:\n  ‸" a": {source: gguf:a}\n', "model-name", "begins or ends with a blank", ""),
    ('stack: a\nmodels:\n  ‸"a\\nb": {source: gguf:a}\n', "model-name", "control character", ""),
    ("stack: a\nmodels:\n  b: {source: gguf:a}\n  ‸b: {}\n", "duplicate-key", "`b` stands twice, first in line 3", ""),
    ("stack: a\n‸stack: b\nmodels: {a: {source: gguf:a}}\n", "duplicate-key", "`stack` stands twice", "Keep one."),
]


@pytest.mark.parametrize(("text", "id", "message", "hint"), FILES, ids=[row[0] for row in FILES])
def test_a_wrong_file(text: str, id: str, message: str, hint: str) -> None:
    problem = complaint(text)
    assert problem.id == id
    assert message in problem.message
    assert hint in problem.hint


# Two models, what is told at the second, and at which key.
PAIRS = [
    (
        "a: {port: 80}",
        "b: {‸port: 80}",
        "port-twice",
        "`a` (line 3) and `b` (line 4) both publish port 80 on 127.0.0.1",
    ),
    ("a: {port: 80, bind: 0.0.0.0}", "b: {‸port: 80}", "port-twice", "on 0.0.0.0 and 127.0.0.1, which overlap"),
    ("a: {port: 80, bind: 10.0.0.1}", "b: {‸port: 80, bind: 0.0.0.0}", "port-twice", "which overlap"),
    ("a: {port: 80, bind: '::'}", "b: {‸port: 80, bind: '[::1]'}", "port-twice", "on :: and ::1, which overlap"),
    (
        "a b: {}",
        "‸a?b: {}",
        "container-name-twice",
        "`a b` (line 3) and `a?b` (line 4) would both be the container `s-a-b`",
    ),
    ("a: {container_name: x}", "b: {‸container_name: x}", "container-name-twice", "both be the container `x`"),
    ("a: {}", "b: {‸container_name: s-a}", "container-name-twice", "both be the container `s-a`"),
    ("a: {}", "‸a.next: {}", "container-name-twice", "`s-a.next` is the name that homellm keeps for a twin of `s-a`"),
    ("a.prev-1: {}", "‸a: {}", "container-name-twice", "`s-a.prev-1` is the name that homellm keeps"),
    ("A: {}", "‸a: {}", "network-alias-twice", "would both be `a` in the stack's network"),
]


@pytest.mark.parametrize(("first", "second", "id", "message"), PAIRS, ids=[f"{r[0]} {r[1]}" for r in PAIRS])
def test_two_models_cannot_have_the_same(first: str, second: str, id: str, message: str) -> None:
    problem = complaint(f"stack: s\nmodels:\n  {first}\n  {second}\ndefaults: {{source: gguf:a}}\n")
    assert problem.id == id
    assert message in problem.message
    assert problem.model == second.partition(":")[0].strip("‸")


def test_a_port_of_the_defaults_is_told_once_for_each_pair() -> None:
    text, places = marked("stack: s\ndefaults: {source: gguf:a, ‸port: 80}\nmodels: {a: {}, b: {}}\n")
    found = problems_of(text)
    assert [(problem.line, problem.column) for problem in found] == places
    assert "`a` (line 2) and `b` (line 2)" in found[0].message


def test_a_fault_of_the_defaults_is_told_once_for_all_models() -> None:
    text = "stack: s\ndefaults: {source: gguf:a, ‸ubatch: 4096}\nmodels: {a: {}, b: {}, c: {}}\n"
    assert complaint(text).id == "contradiction"


def test_all_that_is_wrong_is_told_at_once_in_the_order_of_the_file() -> None:
    text, places = marked(
        """\
stack: home
‸stack: again
gpus:
  iris: {pci: ‸zero, api: vulkan}
  ‸other: {api: cuda}
models:
  smol:
    source: gguf:smol.gguf
    parallel: ‸3.5
    ‸paralel: 3
    ctx: ‸${NOPE}
    port: 80
    extra_args: [‸-c4096, x, ‸--parallel=3]
  big:
    source: ‸/big.gguf
    gpu: ‸irris
    ‸port: 80
  ‸none: {}
"""
    )
    found = problems_of(text)
    assert [(problem.line, problem.column) for problem in found] == places
    assert [problem.id for problem in found] == [
        "duplicate-key",
        "wrong-value",
        "gpu-selector",
        "wrong-value",
        "unknown-key",
        "variable-unset",
        "owned-by-key",
        "owned-by-key",
        "wrong-value",
        "unknown-gpu",
        "port-twice",
        "missing-key",
    ]


def test_a_key_that_is_wrong_is_not_called_missing_and_not_taken_from_the_defaults() -> None:
    text = stack_with("source: ‸x\nbatch: ‸x\nubatch: 1024", top="defaults: {batch: 512, source: gguf:a}\n")
    plain, places = marked(text)
    assert [(p.line, p.column) for p in problems_of(plain)] == places


def test_a_problem_shows_its_line_with_a_caret_under_the_place() -> None:
    problem = complaint("stack: home\nmodels:\n  smol:\n    source: gguf:a\n    ‸paralel: 3\n")
    assert problem.excerpt == "5 |     paralel: 3\n  |     ^"
    assert problem.message == "unknown key `paralel` in model `smol`; did you mean `parallel`?"


def test_a_long_line_is_cut_around_the_place() -> None:
    problem = complaint(stack_with(f"env: {{A: {'a' * 500}, B: ‸[], C: {'c' * 500}}}"))
    shown, caret = str(problem.excerpt).splitlines()
    assert len(shown) < 130
    assert shown[caret.index("^")] == "["


@pytest.mark.parametrize(
    "keys",
    [
        "api_key: hunter2\nctx: x",
        "env: {API_TOKEN: hunter2, B: []}",
        "env: [A_SECRET=hunter2, B]",
        "api_key: hun,ter2",
        "api_key: |\n  hunter2\n  hunter2",
        "api_key: [hunter2]",
        "api_key: ${KEY:-hunter2}${NOPE}",
        'api_key: "hunter2" x',
        "env: {DB_PASSWORD: hunter2\nctx: 3",
    ],
)
def test_no_secret_is_ever_shown(keys: str) -> None:
    for problem in problems_of(stack_with(keys)):
        told = f"{problem.message} {problem.hint} {problem.excerpt}"
        assert "hunter2" not in told
        assert "ter2" not in told


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("stack: home\nmodels:\n  smol:\n    ‸sorce: gguf:smol.gguf\n", "source"),
        ("stack: home\nmodels:\n  smol:\n    ‸model: gguf:smol.gguf\n", "source"),
        ("‸stak: home\nmodels:\n  smol:\n    source: gguf:smol.gguf\n", "stack"),
        ("stack: home\n‸model:\n  smol:\n    source: gguf:smol.gguf\n", "models"),
        ("stack: home\ngpus:\n  a: {auto: true, ‸apy: cuda}\nmodels:\n  smol:\n    source: gguf:smol.gguf\n", "api"),
    ],
)
def test_a_required_key_that_is_misspelt_is_one_error(text: str, meant: str) -> None:
    assert complaint(text).message.endswith(f"did you mean `{meant}`?")


def test_a_key_beside_the_right_one_says_nothing_of_it() -> None:
    (problem,) = problems_of(stack_with("sorce: gguf:x.gguf\nsource: gguf:smol.gguf"))
    assert problem.id == "unknown-key"

"""Ollama servers and the models they serve: what each key becomes, which server a model is for, what is refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from homellm.domain.names import ollama_url, server_alias, server_container_name
from homellm.domain.published import endpoint_on, endpoint_seen
from homellm.domain.secret import Secret
from homellm.domain.stack import LogSettings, LogSource, OllamaServer, Source, Volume
from homellm.domain.world import Container
from tests.unit.loading.given import complaint, loaded, marked, problems_of

ONE = "stack: home\nollama:\n  main: {port: 11434}\nmodels:\n  lfm:\n    source: ollama:lfm2.5:2.6b\n"


def server(keys: str, *, models: str = "  lfm: {source: ollama:lfm2}\n", top: str = "") -> OllamaServer:
    lines = "".join(f"    {line}\n" for line in keys.splitlines())
    stack = loaded(f"stack: home\n{top}ollama:\n  main:\n{lines}models:\n{models}")
    return stack.ollama[0]


class TestModels:
    def test_a_source_of_ollama_is_served_by_it(self) -> None:
        model = loaded(ONE).models[0]
        assert (model.runner, model.server, model.fallback) == ("ollama", "main", "llama-server")
        assert model.source == Source("ollama", "lfm2.5:2.6b")
        assert model.image == "ghcr.io/ggml-org/llama.cpp:server"

    def test_llama_server_may_serve_a_blob_of_the_store(self) -> None:
        stack = loaded(ONE + "    runner: llama-server\n")
        assert (stack.models[0].runner, stack.models[0].server) == ("llama-server", "main")
        assert stack.models_on(stack.ollama[0]) == ()

    def test_ollama_may_serve_a_file(self) -> None:
        stack = loaded("stack: home\nmodels:\n  smol: {source: gguf:smol.gguf, runner: ollama}\n")
        assert (stack.models[0].runner, stack.models[0].server) == ("ollama", "main")
        assert stack.models_on(stack.ollama[0]) == stack.models

    def test_fallback_keys(self) -> None:
        model = loaded(ONE + "    fallback: predict\n    fallback_source: gguf:./lfm.gguf\n").models[0]
        assert model.fallback == "predict"
        assert model.fallback_source == Source("gguf", "./lfm.gguf", Path("/srv/llm/lfm.gguf"))

    def test_a_fallback_source_of_the_hub(self) -> None:
        model = loaded(ONE + "    fallback_source: hf:org/tiny-GGUF:Q8_0\n").models[0]
        assert model.fallback_source == Source("hf", "org/tiny-GGUF:Q8_0")

    def test_a_model_without_ollama_has_no_server(self) -> None:
        stack = loaded("stack: home\ndefaults: {fallback: none}\nmodels:\n  a: {source: gguf:a}\n")
        assert stack.models[0].server is None
        assert stack.ollama == ()

    def test_endpoints(self) -> None:
        stack = loaded(ONE + "  other: {source: gguf:a, port: 8081}\n")
        assert endpoint_on(stack.ollama[0], None) == "http://127.0.0.1:11434/v1"
        unpublished = Container(id="c", name="c", image_id="i", image="i", status="running")
        assert endpoint_seen(stack.models[1], unpublished) == "http://other:8080/v1"
        published = replace(unpublished, ports=(("0.0.0.0", 8081, 8080),))
        assert endpoint_seen(stack.models[1], published) == "http://127.0.0.1:8081/v1"


class TestServers:
    def test_one_that_is_not_declared(self) -> None:
        text = "stack: home\ndefaults: {cpuset: 0-1, env: {A: b}, memory: 6g}\nmodels:\n  lfm: {source: ollama:lfm2}\n"
        stack = loaded(text)
        (main,) = stack.ollama
        assert (main.name, main.declared, main.ours, main.port) == ("main", False, True, None)
        assert main.store == Volume("home-main", "/root/.ollama", named=True)
        assert (main.cpuset, main.memory_bytes, dict(main.env)) == ("0-1", None, {})
        assert (main.image, main.keep_alive, main.section) == ("ollama/ollama:latest", -1, "")
        assert server_container_name(stack, main) == "home-main"
        assert ollama_url(main) == "http://main:11434"

    def test_every_key_arrives(self) -> None:
        one = server(
            """\
image: ollama/ollama:0.33.0
port: 11434
bind: 0.0.0.0
store: ./ollama
keep_alive: 1h30m
max_loaded_models: 2
max_queue: 64
load_timeout: 10m
kv_cache_type: q8_0
flash_attention: on
gpu_overhead: 512MiB
sched_spread: yes
origins: ["https://a.example", "https://b.example"]
llama_args: {cache-reuse: 256, LLAMA_ARG_THREADS_BATCH: 4}
gpu: iris
cpuset: 0-3
cpu_shares: 2048
memory: 12GiB
restart: always
stop_grace: 30s
pull: always
container_name: ollama
env: {OLLAMA_DEBUG: 1, A_TOKEN: x}
labels: {owner: eva}
volumes: ["./certs:/certs:ro"]
networks: [proxy]
log: {max_size: 50m}""",
            top="gpus:\n  iris: {api: vulkan, auto: true}\n",
        )
        assert (one.image, one.port, one.bind) == ("ollama/ollama:0.33.0", 11434, "0.0.0.0")
        assert one.store == Volume("/srv/llm/ollama", "/root/.ollama")
        assert (one.keep_alive, one.max_loaded_models, one.max_queue, one.load_timeout_s) == ("1h30m", 2, 64, 600)
        assert (one.kv_cache_type, one.flash_attention, one.gpu_overhead_bytes) == ("q8_0", "on", 512 * 2**20)
        assert (one.sched_spread, one.origins) == (True, ("https://a.example", "https://b.example"))
        assert dict(one.llama_args) == {"LLAMA_ARG_CACHE_REUSE": "256", "LLAMA_ARG_THREADS_BATCH": "4"}
        assert (one.gpu, one.cpuset, one.cpu_shares, one.memory_bytes) == ("iris", "0-3", 2048, 12 * 2**30)
        assert (one.restart, one.stop_grace_s, one.pull, one.container_name) == ("always", 30, "always", "ollama")
        assert dict(one.env) == {"OLLAMA_DEBUG": "1", "A_TOKEN": Secret("x")}
        assert (dict(one.labels), one.networks) == ({"owner": "eva"}, ("proxy",))
        assert one.volumes == (Volume("/srv/llm/certs", "/certs", read_only=True),)
        assert one.log == LogSettings(None, "50m", 3)
        assert (one.declared, one.places["port"].line, one.places[""].line) == (True, 7, 5)
        assert one.section.startswith("main:\n  image: ollama/ollama:0.33.0\n")

    @pytest.mark.parametrize(
        ("word", "value"), [("-1", -1), ("300", 300), ("0", 0), ("15m", "15m"), ("-1m", "-1m"), ("1.5h", "1.5h")]
    )
    def test_keep_alive_is_a_number_of_seconds_or_ollama_s_own_writing(self, word: str, value: int | str) -> None:
        assert server(f"keep_alive: {word}").keep_alive == value

    def test_a_store_is_a_folder_or_a_volume(self) -> None:
        assert server("store: volume:models").store == Volume("models", "/root/.ollama", named=True)
        assert server("store: ~/.ollama").store == Volume("/home/eva/.ollama", "/root/.ollama")

    @pytest.mark.parametrize(
        ("word", "source"),
        [
            ("journal", LogSource("journal", "ollama")),
            ("journal:my-ollama.service", LogSource("journal", "my-ollama.service")),
            ("docker:ollama", LogSource("container", "ollama")),
            ("./ollama.log", LogSource("file", "/srv/llm/ollama.log")),
        ],
    )
    def test_one_that_is_not_ours(self, word: str, source: LogSource) -> None:
        one = server(f"url: http://127.0.0.1:11434/\nlog_from: {word}\nkeep_alive: 5m", top="defaults: {cpuset: 0-1}\n")
        assert (one.ours, one.url, one.log_source) == (False, "http://127.0.0.1:11434", source)
        assert (one.store, one.cpuset, one.keep_alive) == (None, None, "5m")

    def test_the_store_of_one_that_is_not_ours_may_be_told(self) -> None:
        one = server("url: https://llm.example\nstore: /usr/share/ollama/.ollama")
        assert one.store == Volume("/usr/share/ollama/.ollama", "/root/.ollama")
        assert ollama_url(one) == "https://llm.example"

    def test_rocm_has_an_image_of_its_own(self) -> None:
        assert server("gpu: card", top="gpus:\n  card: {api: rocm, auto: true}\n").image == "ollama/ollama:rocm"

    def test_what_its_models_say_counts_for_the_server(self) -> None:
        top = "gpus:\n  iris: {api: rocm, auto: true}\n"
        models = (
            "  a: {source: ollama:a, gpu: iris, flash_attention: on, kv_cache_type: q8_0}\n  b: {source: ollama:b}\n"
        )
        one = server("port: 1", models=models, top=top)
        assert (one.gpu, one.flash_attention, one.kv_cache_type) == ("iris", "on", "q8_0")
        assert one.image == "ollama/ollama:rocm"

    def test_a_model_of_llama_server_says_nothing_for_it(self) -> None:
        models = "  a: {source: ollama:a}\n  b: {source: gguf:b, flash_attention: off}\n"
        assert server("port: 1", models=models).flash_attention is None

    def test_defaults_are_taken_back_by_null(self) -> None:
        assert server("cpuset: null", top="defaults: {cpuset: 0-1}\n").cpuset is None

    def test_two_servers(self) -> None:
        stack = loaded(
            "stack: home\nollama: {a: {}, b: {}}\nmodels:\n  x: {source: ollama:x, server: a, parallel: 3}\n"
            "  y: {source: ollama:y, server: b, parallel: 4}\n"
        )
        assert [[m.name for m in stack.models_on(s)] for s in stack.ollama] == [["x"], ["y"]]
        assert [server_alias(s) for s in stack.ollama] == ["a", "b"]


SERVER_FAULTS = [
    ("‸zzz: 1", "unknown-key", "unknown key `zzz` in Ollama server `main`", "Known here"),
    ("‸num_paralel: 3", "unknown-key", "unknown key `num_paralel`", ""),
    ("‸ctx: 3", "unknown-key", "unknown key `ctx`", "is a key of a model"),
    ("keep_alive: ‸2d", "wrong-value", "does not read as a time", "write 48h"),
    ("keep_alive: ‸forever", "wrong-value", "does not read as a time", "Write -1"),
    ("store: ‸ollama", "wrong-value", "neither a folder nor a volume", "`./ollama`"),
    ("store: ‸\"volume:\"", "wrong-value", "names no volume", ""),
    ("url: ‸127.0.0.1:11434", "wrong-value", "no URL", "http://127.0.0.1:11434"),
    ("url: ‸http://h:11434/v1", "wrong-value", "ends in `/v1`", "http://h:11434"),
    ("url: ‸http://u:p@h", "wrong-value", "more in it", ""),
    ("url: ‸http://h:x", "wrong-value", "no URL", ""),
    ("url: http://h\nlog_from: ‸syslog", "wrong-value", "no place of a log", "journal"),
    ("url: http://h\nlog_from: ‸\"docker:\"", "wrong-value", "names nothing", ""),
    ("url: http://h\n‸port: 11434", "contradiction", "`port` in Ollama server `main` cannot be set", "remove `url`"),
    ("url: http://h\n‸image: a/b", "contradiction", "`image` in Ollama server `main` cannot be set", ""),
    ("‸log_from: journal", "contradiction", "means nothing", ""),
    ("origins: [‸\"a,b\"]", "wrong-value", "more than one origin", ""),
    ("kv_cache_type: ‸q9", "wrong-value", "it must be f32", ""),
    ("‸kv_cache_type: q8_0\nflash_attention: off", "contradiction", "needs flash attention", "flash_attention: on"),
    ("gpu: ‸iris", "unknown-gpu", "no GPU `iris`", "Declare it"),
    ("env: {‸OLLAMA_NUM_PARALLEL: 3}", "owned-by-key", "the key `parallel` says", "Set `parallel` at its models"),
    ("env: {‸OLLAMA_HOST: 1}", "owned-by-key", "the key `port` says", ""),
    ("env: {‸GGML_VK_VISIBLE_DEVICES: 0}", "owned-by-key", "the key `gpu` says", ""),
    ("llama_args: {‸threads: 3}", "owned-by-key", "the key `cpuset` says", "`cpuset`"),
    ("llama_args: {‸ctx-size: 3}", "owned-by-key", "the key `ctx` says", ""),
    ("llama_args: {‸batch: 3}", "contradiction", "Ollama itself passes it", "Remove it"),
    ("llama_args: {‸\"a b\": 3}", "wrong-value", "no argument of llama-server", ""),
    ("llama_args: {cache_reuse: 3, ‸LLAMA_ARG_CACHE_REUSE: 4}", "duplicate-key", "is too", "Keep one"),
    ("env: {LLAMA_ARG_CACHE_REUSE: 3}\nllama_args: {‸cache_reuse: 4}", "duplicate-key", "a variable of `env`", ""),
    ("volumes: [‸\"./x:/root\"]", "contradiction", "where its store is", "`store:`"),
    ("labels: {‸homellm.x: y}", "contradiction", "homellm's own", ""),
    ("log: {driver: journald, ‸max_size: 1m}", "contradiction", "keeps no files", ""),
]  # fmt: skip


@pytest.mark.parametrize(("keys", "id", "message", "hint"), SERVER_FAULTS)
def test_a_wrong_server_is_told_where_it_stands(keys: str, id: str, message: str, hint: str) -> None:
    lines = "".join(f"    {line}\n" for line in keys.splitlines())
    problem = complaint(f"stack: home\nollama:\n  main:\n{lines}models:\n  lfm: {{source: ollama:lfm2}}\n")
    assert problem.id == id
    assert message in problem.message
    assert hint in problem.hint
    assert problem.model is None


MODEL_FAULTS = [
    ('source: ‸"ollama:"', "wrong-value", "names no model", ""),
    ("source: ‸ollama:a b", "wrong-value", "does not take", "ollama pull"),
    ("source: ‸ollama:gpt-oss:120b-cloud", "wrong-value", "a cloud model", "tag with weights"),
    ("source: ‸olama:x", "wrong-value", "does not begin with `gguf:`, `hf:` or `ollama:`", "`ollama:`"),
    ("source: ollama:x\nfallback: ‸off", "wrong-value", "did you mean `none`?", ""),
    ("source: ollama:x\nfallback_source: ‸ollama:y", "wrong-value", "tried before it anyway", "gguf:"),
    ("source: ollama:x\nfallback_source: ‸hf:a", "wrong-value", "name a repository", "fallback_source: hf:org/repo"),
    ("source: ollama:x\nfallback_source: ‸/a.gguf", "wrong-value", "`gguf:` or `hf:`", "`fallback_source: gguf:/a"),
    ("source: ollama:x\nfallback_source: ‸'gguf:'", "wrong-value", "names no file", "`fallback_source: gguf:"),
    ("source: ollama:x\nserver: ‸man", "unknown-server", "did you mean `main`?", ""),
    ("source: ollama:x\nserver: ‸zzz", "unknown-server", "no Ollama server `zzz`", "Declare it"),
    ("source: ollama:x\n‸api_key: abc", "contradiction", "would protect nothing", "runner: llama-server"),
    ("source: ollama:x\n‸kv_cache_type: {k: q8_0, v: f16}", "contradiction", "has two types", "Name one"),
    ("source: gguf:x\n‸server: main", "contradiction", "means nothing", "runner: ollama"),
    ("source: gguf:x\n‸fallback: none", "contradiction", "means nothing", ""),
]


@pytest.mark.parametrize(("keys", "id", "message", "hint"), MODEL_FAULTS)
def test_a_wrong_model_is_told_where_it_stands(keys: str, id: str, message: str, hint: str) -> None:
    lines = "".join(f"    {line}\n" for line in keys.splitlines())
    problem = complaint(f"stack: home\nmodels:\n  lfm:\n{lines}")
    assert problem.id == id
    assert message in problem.message
    assert hint in problem.hint
    assert problem.model == "lfm"


def test_models_on_one_server_that_differ_in_parallel_name_both_lines_and_the_ways_out() -> None:
    problem = complaint(
        "stack: home\nmodels:\n  a:\n    source: ollama:a\n    parallel: 3\n  b:\n    source: ollama:b\n"
        "    ‸parallel: 4\n"
    )
    assert problem.id == "parallel-differs"
    assert "models `a` (line 5) and `b` (line 8) are on the Ollama server `main`" in problem.message
    assert "(3 and 4)" in problem.message
    assert "the same `parallel`" in problem.hint
    assert "second server" in problem.hint


def test_a_model_that_says_no_parallel_has_one_slot() -> None:
    problem = complaint("stack: home\nmodels:\n  a: {source: ollama:a, parallel: 3}\n  ‸b: {source: ollama:b}\n")
    assert "(3 and 1)" in problem.message


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("source: ollama:a, ctx: 1024", "source: ollama:a:latest, ‸ctx: 2048"),
        ("source: ollama:a, ctx: 1024", "source: ollama:library/A"),
        ("source: gguf:/a, runner: ollama, ctx: 1024", "source: gguf:/a, runner: ollama, ‸ctx: 2048"),
    ],
)
def test_the_same_weights_have_one_context(first: str, second: str) -> None:
    x = "x" if "‸" in second else "‸x"
    problem = complaint(f"stack: home\nmodels:\n  a: {{{first}}}\n  {x}: {{{second}}}\n")
    assert problem.id == "contradiction"
    assert "each request to one would put out the other" in problem.message
    assert "runner: llama-server" in problem.hint


def test_contexts_may_differ() -> None:
    stack = loaded("stack: s\nmodels:\n  a: {source: ollama:a, ctx: 1024}\n  b: {source: ollama:b, ctx: 2048}\n")
    assert [model.ctx for model in stack.models] == [1024, 2048]


@pytest.mark.parametrize(
    ("server", "models"),
    [
        ("", "  a: {source: ollama:a, flash_attention: on}\n  b: {source: ollama:b, ‸flash_attention: off}\n"),
        ("    flash_attention: on\n", "  b: {source: ollama:b, ‸flash_attention: off}\n"),
        ("    kv_cache_type: f16\n", "  b: {source: ollama:b, ‸kv_cache_type: q8_0}\n"),
    ],
)
def test_what_a_server_has_once_cannot_differ(server: str, models: str) -> None:
    problem = complaint(f"stack: s\nollama:\n  main:\n    port: 1\n{server}models:\n{models}")
    assert problem.id == "contradiction"
    assert "Ollama server `main`" in problem.message


def test_a_model_must_say_which_of_several_servers() -> None:
    problem = complaint("stack: s\nollama: {a: {}, b: {}}\nmodels:\n  ‸x: {source: ollama:x}\n")
    assert "does not say which Ollama server" in problem.message
    assert "one of a, b" in problem.hint


@pytest.mark.parametrize(
    ("text", "id", "message"),
    [
        (
            "stack: s\nollama:\n  main: {port: 80}\nmodels:\n  a: {source: ollama:a, ‸port: 80}\n",
            "port-twice",
            "both publish port 80",
        ),
        (
            "stack: s\nollama: {a: {port: 80}, b: {‸port: 80}}\nmodels:\n  x: {source: gguf:x}\n",
            "port-twice",
            "Ollama servers `a` (line 2) and `b` (line 2)",
        ),
        (
            "stack: s\nollama:\n  main: {}\nmodels:\n  ‸main: {source: ollama:x}\n",
            "container-name-twice",
            "Ollama server `main` (line 3) and model `main` (line 5) would both be the container `s-main`",
        ),
        (
            "stack: s\nollama:\n  main: {container_name: x}\nmodels:\n  ‸Main: {source: ollama:x}\n",
            "network-alias-twice",
            "in the stack's network",
        ),
        ("stack: s\nmodels:\n  ‸my model: {source: ollama:x}\n", "model-name", "and Ollama is to serve it"),
        (
            "stack: s\nmodels:\n  a: {source: ollama:x}\n  ‸a:latest: {source: ollama:y}\n",
            "model-name",
            "one and the same name",
        ),
    ],
)
def test_names_and_ports_collide_across_models_and_servers(text: str, id: str, message: str) -> None:
    problem = complaint(text)
    assert problem.id == id
    assert message in problem.message


def test_all_faults_of_servers_and_models_are_told_at_once() -> None:
    text, places = marked(
        "stack: s\nollama:\n  main:\n    port: ‸x\n    ‸paralel: 3\nmodels:\n"
        "  a: {source: ollama:a, parallel: ‸x}\n  b: {source: ollama:b, parallel: 4, server: ‸zz}\n"
    )
    assert [(p.line, p.column) for p in problems_of(text)] == places

"""What a model of Ollama's becomes under llama-server: files, flags, and what is said to be lost."""

from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

import pytest

from homellm.domain.ollama import StoredModel
from homellm.domain.stack import Program, Source, Stack, StoredFile, StoredFiles
from homellm.domain.world import EngineInfo, Host, HostGpu, Image, World
from homellm.loading import load
from homellm.runners.llama_server import build
from homellm.runners.ollama_fallback import bundled_program, carry_over, stored_files
from tests.unit.runners.build import dialect, value_of

HEX = "b" * 64
BLOB = f"blobs/sha256-{HEX}"
IRIS = HostGpu("0000:00:02.0", "8086:9a49", "intel", "Iris Xe", "i915", True, "renderD128", 993)
PARAMS = {"temperature": 0.2, "top_k": 20, "top_p": 1.0, "stop": ("<|im_end|>", "<|x|>"), "num_ctx": 1024}
STORED = StoredModel(
    name="registry.ollama.ai/library/lfm2:latest",
    state="ok",
    digest="d" * 64,
    blob=BLOB,
    blob_digest=f"sha256:{HEX}",
    size_bytes=98362432,
    params=MappingProxyType(PARAMS),
    family="lfm2",
)
TEXT = """\
stack: nuc
gpus:
  iris: {api: vulkan, pci: "0000:00:02.0"}
ollama:
  main: {store: STORE}
models:
  lfm: {source: "ollama:lfm2", parallel: 3, ctx: 2048, cache_reuse: 256, port: 8081MORE}
"""


def stack(store: str = "./ollama", more: str = "") -> Stack:
    text = TEXT.replace("STORE", store).replace("MORE", f", {more}" if more else "")
    return load(Path("/srv/llm/homellm.yaml"), text, {})


def carried(rung="llama-server", *, stored=STORED, of=None, **how):
    of = of or stack()
    return carry_over(of.models[0], stored, rung, of, **how)


def built(moved, of=None):
    engine = EngineInfo("id", "27.1", "/var/lib/docker", 8, 8 << 30, log_driver="json-file")
    host = Host(readable=True, gpus=(IRIS,), online_cpus=tuple(range(8)))
    images = {moved.image: Image("sha256:1")}
    world = World(engine, host, images=images, dialects={moved.image: dialect("b11669")})
    made = build(moved, of or stack(), world)
    assert made.spec is not None, made.problems
    return made


def test_the_blob_alone_is_mounted_and_served_under_the_models_own_name():
    made = built(carried().model)
    assert [(m.kind, m.source, m.target, m.read_only) for m in made.spec.mounts] == [
        ("bind", f"/srv/llm/ollama/models/{BLOB}", f"/models/sha256-{HEX}", True)
    ]
    words = list(made.spec.argv)
    assert value_of(words, "--model") == made.expected_path == f"/models/sha256-{HEX}"
    assert value_of(words, "--alias") == "lfm"
    assert (value_of(words, "--parallel"), value_of(words, "--ctx-size")) == ("3", "6144")
    assert value_of(words, "--cache-reuse") == "256"
    assert (made.spec.name, made.spec.image) == ("nuc-lfm", "ghcr.io/ggml-org/llama.cpp:server")
    assert [(p.host_port, p.container_port) for p in made.spec.ports] == [(8081, 8080)]


def test_a_store_in_a_volume_is_mounted_whole_and_read_only():
    of = stack("volume:models")
    made = built(carried(of=of).model, of)
    assert [(m.kind, m.source, m.target, m.read_only) for m in made.spec.mounts] == [
        ("volume", "models", "/store", True)
    ]
    assert made.expected_path == f"/store/models/{BLOB}"


def test_parameters_become_flags():
    words = list(built(carried().model).spec.argv)
    assert (value_of(words, "--temp"), value_of(words, "--top-k"), value_of(words, "--top-p")) == ("0.2", "20", "1")


def test_what_extra_args_say_already_stays_as_it_is():
    of = stack(more="extra_args: [--temperature, '0.9', -s, '7']")
    stored = replace(STORED, params=MappingProxyType({"temperature": 0.2, "seed": 1, "min_p": 0.05}))
    assert carried(of=of, stored=stored).model.extra_args == ("--temperature", "0.9", "-s", "7", "--min-p", "0.05")


def test_every_flag_of_a_parameter_is_one_of_a_real_build():
    names = ("temperature", "top_k", "top_p", "min_p", "typical_p", "repeat_penalty", "repeat_last_n", "seed")
    more = (
        "presence_penalty",
        "frequency_penalty",
        "mirostat",
        "mirostat_tau",
        "mirostat_eta",
        "num_predict",
        "num_keep",
    )
    stored = replace(STORED, params=MappingProxyType(dict.fromkeys(names + more, 1)))
    moved = carried(stored=stored)
    assert moved.lost == ()
    assert len(moved.model.extra_args) == 2 * len(names + more)
    built(moved.model)


@pytest.mark.parametrize("name", ["b10434", "early-2025"])
def test_older_builds_take_the_flags_too(name):
    moved = carried().model
    engine = EngineInfo("id", "27.1", "/var/lib/docker", 8, 8 << 30, log_driver="json-file")
    world = World(engine, Host(readable=True), images={moved.image: Image("1")}, dialects={moved.image: dialect(name)})
    assert build(moved, stack(), world).problems == ()


def test_what_cannot_be_carried_is_listed():
    stored = replace(
        STORED,
        system="You are calm.",
        template="{{ .Prompt }}",
        renderer="gemma4",
        messages=2,
        draft="blobs/sha256-x",
        projectors=("blobs/a", "blobs/b"),
        params=MappingProxyType({**PARAMS, "use_mmap": True, "numa": 1}),
    )
    assert carried(stored=stored).lost == (
        "the system prompt (13 characters): clients have to send it",
        "the stop words <|im_end|> <|x|>: the chat template's own end of a turn counts",
        "Ollama's own template: the GGUF's is used",
        "Ollama's renderer gemma4: the GGUF's template is used",
        "the 2 messages that every conversation began with",
        "the draft model",
        "all projectors but the first of 2",
        "the parameters numa, use_mmap",
    )


def test_nothing_is_lost_of_a_plain_model():
    assert carried(stored=replace(STORED, params=MappingProxyType({"num_ctx": 4096}))).lost == ()


def test_projector_and_adapters_come_along():
    stored = replace(STORED, projectors=("blobs/sha256-mm",), adapters=("blobs/sha256-l1", "blobs/sha256-l2"))
    made = built(carried(stored=stored).model)
    words = list(made.spec.argv)
    assert value_of(words, "--mmproj") == "/models/sha256-mm"
    assert [words[n + 1] for n, word in enumerate(words) if word == "--lora"] == [
        "/models/sha256-l1",
        "/models/sha256-l2",
    ]
    assert len(made.spec.mounts) == 4


def test_in_a_volume_all_files_share_one_mount():
    of = stack("volume:models")
    made = built(carried(stored=replace(STORED, projectors=("blobs/sha256-mm",)), of=of).model, of)
    assert len(made.spec.mounts) == 1
    assert value_of(list(made.spec.argv), "--mmproj") == "/store/models/blobs/sha256-mm"


def test_a_projector_of_the_stack_file_comes_first():
    of = stack(more="mmproj: ./mine.gguf")
    made = built(carried(stored=replace(STORED, projectors=("blobs/sha256-mm",)), of=of).model, of)
    assert value_of(list(made.spec.argv), "--mmproj") == "/mmproj/mine.gguf"


def test_batch_and_layers_of_the_parameters_count_where_the_file_says_nothing():
    stored = replace(STORED, params=MappingProxyType({"num_batch": 1024, "num_gpu": 12}))
    of = stack(more="gpu: iris")
    moved = carried(stored=stored, of=of).model
    assert (moved.batch, moved.ubatch, moved.gpu_layers) == (1024, 1024, 12)
    assert carried(stored=stored).model.gpu_layers is None
    said = carried(stored=stored, of=stack(more="gpu: iris, batch: 512, gpu_layers: all")).model
    assert (said.batch, said.ubatch, said.gpu_layers) == (512, None, "all")


class TestBundled:
    def test_ollamas_own_program_of_ollamas_image(self):
        made = built(carried("bundled").model)
        assert made.spec.image == "ollama/ollama:latest"
        assert made.spec.entrypoint == ("/usr/lib/ollama/llama-server",)
        assert {v.name: v.value for v in made.spec.env} == {"LD_LIBRARY_PATH": "/usr/lib/ollama"}
        assert value_of(list(made.spec.argv), "--parallel") == "3"

    def test_with_a_gpu_it_finds_its_libraries(self):
        of = stack(more="gpu: iris")
        made = built(carried("bundled", of=of).model, of)
        said = {v.name: v.value for v in made.spec.env}
        assert said["LD_LIBRARY_PATH"] == "/usr/lib/ollama:/usr/lib/ollama/vulkan"
        assert said["GGML_BACKEND_PATH"] == "/usr/lib/ollama/vulkan/libggml-vulkan.so"
        assert made.spec.group_add == (993,)

    def test_the_folder_that_ollama_named_is_taken(self):
        program = bundled_program("cuda", "cuda_v13")
        assert program.env["GGML_BACKEND_PATH"] == "/usr/lib/ollama/cuda_v13/libggml-cuda.so"
        other = bundled_program("cuda", "vulkan")
        assert other.env["GGML_BACKEND_PATH"] == "/usr/lib/ollama/cuda_v12/libggml-cuda.so"
        assert bundled_program(None) == Program("/usr/lib/ollama/llama-server", {"LD_LIBRARY_PATH": "/usr/lib/ollama"})


class TestSource:
    def test_the_declared_file_with_the_same_parameters(self):
        of = stack(more='fallback_source: "gguf:./lfm.gguf"')
        moved = carried("source", of=of).model
        assert (moved.source, moved.stored) == (Source("gguf", "./lfm.gguf", Path("/srv/llm/lfm.gguf")), None)
        words = list(built(moved, of).spec.argv)
        assert (value_of(words, "--model"), value_of(words, "--temp")) == ("/models/lfm.gguf", "0.2")

    def test_one_of_the_hub_is_at_fault_where_it_stands(self):
        of = stack(more='fallback_source: "hf:org/lfm-GGUF:Q8_0"')
        moved = carried("source", of=of).model
        assert (moved.source, moved.stored) == (Source("hf", "org/lfm-GGUF:Q8_0"), None)
        assert moved.places["source"] == of.models[0].places["fallback_source"]
        assert moved.places["source"] != of.models[0].places["source"]

    def test_what_belongs_to_ollamas_weights_is_said_to_be_lost(self):
        both = replace(STORED, projectors=(f"blobs/sha256-{'c' * 64}",), adapters=(f"blobs/sha256-{'e' * 64}",))
        of = stack(more='fallback_source: "gguf:./lfm.gguf"')
        lost = carried("source", stored=both, of=of).lost
        assert [one for one in lost if "projector of" in one or "adapters of" in one] == [
            "the projector of Ollama's model: name one that fits fallback_source by `mmproj`",
            "the adapters of Ollama's model",
        ]
        assert not [one for one in carried("bundled", stored=both, of=of).lost if "projector of" in one]
        named = stack(more='fallback_source: "gguf:./lfm.gguf", mmproj: ./mmproj.gguf')
        assert not [one for one in carried("source", stored=both, of=named).lost if "projector" in one]

    def test_without_one_there_is_no_such_rung(self):
        assert carried("source") is None


class TestWhereTheFilesAre:
    def test_a_file_that_ollama_was_given_is_served_itself(self):
        of = load(Path("/srv/h.yaml"), "stack: s\nmodels: {a: {source: gguf:a.gguf, runner: ollama}}\n", {})
        moved = carried(of=of).model
        assert (moved.stored, moved.source.path) == (None, Path("/srv/a.gguf"))
        bundled = carried("bundled", of=of).model
        assert bundled.stored == StoredFiles(StoredFile(f"models/{BLOB}", "s-main"))

    def test_of_a_server_that_is_not_ours_they_are_where_it_says(self):
        text = "stack: s\nollama: {main: {url: 'http://127.0.0.1:11434'}}\nmodels: {a: {source: ollama:a}}\n"
        of = load(Path("/x"), text, {})
        blob_path = f"/usr/share/ollama/.ollama/models/{BLOB}"
        assert stored_files(STORED, of.ollama[0], blob_path) == StoredFiles(StoredFile(blob_path))
        assert stored_files(STORED, of.ollama[0]) is None
        assert stored_files(STORED, replace(of.ollama[0], url="http://10.0.0.9:11434"), blob_path) is None
        assert carried(of=of) is None
        assert carried(of=of, blob_path=blob_path) is not None
        assert carried("bundled", of=of, blob_path=blob_path) is None

    @pytest.mark.parametrize("state", ["cloud", "safetensors", "blob-missing", "absent"])
    def test_a_model_that_is_not_whole_has_none(self, state):
        assert carried(stored=replace(STORED, state=state)) is None


def test_an_embedding_model_is_served_as_one():
    assert carried(embedding=True).model.embedding

"""The container of an Ollama server: variables, GPU, store and network, from the stack file to the spec."""

from dataclasses import replace
from pathlib import Path

import pytest

from homellm.domain.ollama_settings import owner_of_ollama_env
from homellm.domain.secret import Secret
from homellm.domain.stack import Stack
from homellm.domain.world import Host, HostGpu
from homellm.loading import load
from homellm.runners.built import Built
from homellm.runners.hashing import spec_hash
from homellm.runners.ollama_server import STORE_ROOT, build
from tests.unit.runners.build import world

IRIS = HostGpu("0000:00:02.0", "8086:9a49", "intel", "Iris Xe", "i915", True, "renderD128", 993)
ARC = HostGpu("0000:03:00.0", "8086:56a0", "intel", "Arc A770", "i915", False, "renderD129", 993)
RTX = HostGpu("0000:01:00.0", "10de:249d", "nvidia", "RTX 3070", "nvidia", False, uuid="GPU-5a3f", minor=0)
RADEON = HostGpu("0000:05:00.0", "1002:1638", "amd", "Radeon", "amdgpu", True, "renderD130", 105)
GPUS = 'gpus:\n  iris: {api: vulkan, pci: "0000:00:02.0"}\n'
TWO = "  a: {source: ollama:a, parallel: 3, ctx: 2048}\n  b: {source: ollama:b, parallel: 3, ctx: 2048}\n"


def built(
    server: str = "", *, models: str = TWO, top: str = "", gpus: tuple[HostGpu, ...] = (IRIS, ARC), **of_world
) -> Built:
    lines = "".join(f"    {line}\n" for line in server.splitlines()) or "    {}\n"
    stack = load(Path("/srv/llm/homellm.yaml"), f"stack: nuc\n{top}ollama:\n  main:\n{lines}models:\n{models}", {})
    host = Host(readable=True, gpus=gpus, online_cpus=tuple(range(8)), nvidia_hook=True, kfd_gid=106)
    return build(stack.ollama[0], stack.models_on(stack.ollama[0]), stack, world(host=host, **of_world))


def env(made: Built) -> dict[str, object]:
    assert made.spec is not None, made.problems
    return {variable.name: variable.value for variable in made.spec.env}


def test_slots_context_and_keep_alive_are_said_outright():
    said = env(built())
    assert said == {
        "OLLAMA_HOST": "0.0.0.0:11434",
        "OLLAMA_NUM_PARALLEL": "3",
        "OLLAMA_CONTEXT_LENGTH": "2048",
        "OLLAMA_KEEP_ALIVE": "-1",
    }


def test_the_order_of_the_file_makes_no_other_container():
    orders = (
        "env: {A: x, B: y}\nllama_args: {cache-reuse: 1, seed: 2}\norigins: [https://a, https://b]\nnetworks: [m, n]",
        "networks: [n, m]\norigins: [https://b, https://a]\nllama_args: {seed: 2, cache-reuse: 1}\nenv: [B=y, A=x]",
    )
    hashes = {spec_hash(built(order).spec, "sha256:1") for order in orders}
    assert len(hashes) == 1


def test_every_variable_has_its_reason_and_an_owner():
    spec = built("cpuset: 0-3\nflash_attention: on\nkv_cache_type: q8_0").spec
    assert all(variable.because for variable in spec.env)
    assert [variable.name for variable in spec.env if owner_of_ollama_env(variable.name) is None] == []


def test_everything_that_was_said_arrives_in_ollama_s_own_words():
    said = env(
        built(
            "keep_alive: 1h30m\nmax_loaded_models: 2\nmax_queue: 64\nload_timeout: 10m\nkv_cache_type: q8_0\n"
            'flash_attention: on\ngpu_overhead: 512MiB\nsched_spread: yes\norigins: ["https://a", "https://b"]\n'
            "llama_args: {cache_reuse: 256}\nenv: {OLLAMA_DEBUG: 1, MY_TOKEN: x}"
        )
    )
    assert {name: value for name, value in said.items() if name not in ("OLLAMA_HOST", "OLLAMA_NUM_PARALLEL")} == {
        "OLLAMA_CONTEXT_LENGTH": "2048",
        "OLLAMA_KEEP_ALIVE": "1h30m",
        "OLLAMA_MAX_LOADED_MODELS": "2",
        "OLLAMA_MAX_QUEUE": "64",
        "OLLAMA_LOAD_TIMEOUT": "600s",
        "OLLAMA_KV_CACHE_TYPE": "q8_0",
        "OLLAMA_FLASH_ATTENTION": "1",
        "OLLAMA_GPU_OVERHEAD": str(512 * 2**20),
        "OLLAMA_SCHED_SPREAD": "1",
        "OLLAMA_ORIGINS": "https://a,https://b",
        "LLAMA_ARG_CACHE_REUSE": "256",
        "OLLAMA_DEBUG": "1",
        "MY_TOKEN": Secret("x"),
    }


@pytest.mark.parametrize(("word", "value"), [("on", "1"), ("off", "0"), ("auto", None)])
def test_flash_attention(word, value):
    """OLLAMA_FLASH_ATTENTION is a boolean, for which every word that is none means yes: `auto` is no word of it."""
    assert env(built(f"flash_attention: {word}")).get("OLLAMA_FLASH_ATTENTION") == value


def test_the_context_of_most_models_is_the_servers_own():
    models = (
        "  a: {source: ollama:a, ctx: 512}\n  b: {source: ollama:b, ctx: 8192}\n  c: {source: ollama:c, ctx: 8192}\n"
    )
    assert env(built(models=models))["OLLAMA_CONTEXT_LENGTH"] == "8192"
    two = "  a: {source: ollama:a, ctx: 512}\n  b: {source: ollama:b, ctx: 8192}\n"
    assert env(built(models=two))["OLLAMA_CONTEXT_LENGTH"] == "512"


@pytest.mark.parametrize(("count", "value"), [(1, None), (3, None), (4, "4"), (7, "7")])
def test_as_many_models_stay_loaded_as_are_declared(count, value):
    models = "".join(f"  m{n}: {{source: ollama:m{n}}}\n" for n in range(count))
    assert env(built(models=models)).get("OLLAMA_MAX_LOADED_MODELS") == value


def test_models_of_llama_server_do_not_count():
    models = "  a: {source: ollama:a, parallel: 3}\n  b: {source: ollama:b, runner: llama-server, parallel: 8}\n"
    assert env(built(models=models))["OLLAMA_NUM_PARALLEL"] == "3"


def test_the_container():
    spec = built("port: 11434\nbind: 0.0.0.0\nstore: ./ollama\nnetworks: [proxy]\nmemory: 8g\ncpu_shares: 512").spec
    assert (spec.name, spec.image, spec.argv) == ("nuc-main", "ollama/ollama:latest", ("serve",))
    assert [(m.kind, m.source, m.target, m.read_only) for m in spec.mounts] == [
        ("bind", "/srv/llm/ollama", "/root/.ollama", False)
    ]
    assert [(p.host_ip, p.host_port, p.container_port) for p in spec.ports] == [("0.0.0.0", 11434, 11434)]
    assert [(n.name, n.aliases, n.external) for n in spec.networks] == [
        ("homellm-nuc", ("main",), False),
        ("proxy", ("main",), True),
    ]
    assert (spec.memory_bytes, spec.cpu_shares, spec.restart) == (8 * 2**30, 512, "unless-stopped")
    assert spec.log.options == {"max-size": "10m", "max-file": "3"}
    assert spec.health_check is None
    assert spec.cap_add == ()
    assert built().expected_path == STORE_ROOT == "/root/.ollama/models"


def test_a_store_that_was_not_declared_is_a_volume():
    (mount,) = built().spec.mounts
    assert (mount.kind, mount.source, mount.read_only) == ("volume", "nuc-main", False)


def test_threads_follow_from_the_cpuset():
    assert env(built("cpuset: 0-2,5"))["LLAMA_ARG_THREADS"] == "4"


def test_mlock_reaches_ollamas_server_and_says_where_it_cannot_help():
    made = built(models="  a: {source: ollama:a, mlock: true}\n")
    assert env(made)["LLAMA_ARG_LOAD_MODE"] == "mmap+mlock"
    assert made.spec.cap_add == ("IPC_LOCK",)
    assert "on the CPU Ollama reads weights without mapping them" in made.notes[0]
    assert built(models="  a: {source: ollama:a, mlock: true, gpu: iris}\n", top=GPUS).notes == ()


def test_an_integrated_gpu_is_passed_alone_and_enabled():
    made = built(models="  a: {source: ollama:a, gpu: iris}\n", top=GPUS)
    assert [device.host for device in made.spec.devices] == ["/dev/dri/renderD128"]
    assert made.spec.group_add == (993,)
    said = env(made)
    assert said["OLLAMA_IGPU_ENABLE"] == "1"
    assert said["MESA_VK_DEVICE_SELECT"] == "8086:9a49!"
    assert said["OLLAMA_VULKAN"] == "1"


def test_a_card_of_its_own_is_not_called_integrated():
    made = built("gpu: arc", top='gpus:\n  arc: {api: vulkan, pci: "0000:03:00.0"}\n')
    assert "OLLAMA_IGPU_ENABLE" not in env(made)
    assert [device.host for device in made.spec.devices] == ["/dev/dri/renderD129"]


def test_nvidia_is_asked_for_by_uuid_and_vulkan_is_off():
    made = built("gpu: rtx", top="gpus:\n  rtx: {api: cuda, auto: true}\n", gpus=(RTX,))
    assert [(request.driver, request.device_ids) for request in made.spec.gpu_requests] == [("nvidia", ("GPU-5a3f",))]
    assert made.spec.devices == ()
    assert env(made)["OLLAMA_VULKAN"] == "0"


def test_rocm_has_its_image_kfd_and_no_vulkan():
    made = built("gpu: apu", top="gpus:\n  apu: {api: rocm, auto: true}\n", gpus=(RADEON,))
    assert made.spec.image == "ollama/ollama:rocm"
    assert [device.host for device in made.spec.devices] == ["/dev/kfd", "/dev/dri/renderD130"]
    assert env(made)["OLLAMA_VULKAN"] == "0"


def test_a_gpu_that_is_not_there_is_told_before_anything_is_made():
    made = built("gpu: iris", top=GPUS, gpus=())
    assert made.spec is None
    assert [(problem.id, problem.model) for problem in made.problems] == [("gpu-not-there", None)]


def test_a_network_that_cannot_be_is_told_at_its_place():
    made = built("networks: [host]")
    assert {problem.id for problem in made.problems} == {"network-built-in"}
    assert made.problems[0].line == 4


def test_a_log_without_rotation_is_told():
    assert "journald" in built(log_driver="journald").notes[0]


def test_one_that_is_not_ours_is_not_built():
    made = built("url: http://127.0.0.1:11434")
    assert made.spec is None
    assert made.problems[0].id == "server-not-ours"


def test_a_changed_context_is_another_container_and_a_changed_reason_is_not():
    one, other = built().spec, built(models=TWO.replace("2048", "4096")).spec
    assert spec_hash(one, "sha256:1") != spec_hash(other, "sha256:1")
    assert spec_hash(one, "sha256:1") == spec_hash(
        replace(one, env=tuple(replace(variable, because="") for variable in one.env)), "sha256:1"
    )


def test_a_server_without_models_takes_none_of_their_settings():
    stack = Stack("nuc", Path("/x"))
    server = load(Path("/x"), "stack: nuc\nollama: {main: {}}\nmodels: {a: {source: gguf:a}}\n", {}).ollama[0]
    made = build(server, (), stack, world())
    assert set(env(made)) == {"OLLAMA_HOST", "OLLAMA_KEEP_ALIVE"}

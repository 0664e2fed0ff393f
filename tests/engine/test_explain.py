"""`homellm explain` on what the real server of today writes: recorded logs grow old, this one does not."""

import subprocess
import sys

import pytest

from tests.engine.support.removal import remove_by_force
from tests.engine.support.wait import wait_for

SERVE = ["--host", "0.0.0.0", "--port", "8080"]


@pytest.fixture
def explained(docker_api, prefix, llama_image, tiny_lfm2, smollm2, cli, tmp_path):
    """Runs the server with these arguments until it is ready or has ended, and explains its log."""
    (tmp_path / "cut.gguf").write_bytes(tiny_lfm2.read_bytes()[:4_000_000])

    def explain(*arguments, model="/m/model.gguf", environment=None):
        files = {"model": tiny_lfm2, "smollm2": smollm2, "cut": tmp_path / "cut.gguf"}
        binds = [f"{path}:/m/{name}.gguf:ro" for name, path in files.items()]
        made = docker_api.create_container(
            llama_image,
            ["-m", model, *SERVE, *arguments],
            name=f"{prefix}-explain",
            environment=environment,
            host_config=docker_api.create_host_config(binds=binds),
        )
        docker_api.start(made["Id"])

        def log():
            running = docker_api.inspect_container(made["Id"])["State"]["Running"]
            text = docker_api.logs(made["Id"])  # after the look: the log of one that has ended is whole
            return text if not running or b"listening on" in text else None

        path = tmp_path / "server.log"
        path.write_bytes(wait_for(log, "the server to be ready or to end", timeout_s=120))
        remove_by_force(docker_api, made["Id"])
        result = cli("explain", path, "--format", "json")
        assert result.code == 0, result
        found = result.json
        found["ids"] = {problem["id"] for problem in found["problems"]}
        return found

    return explain


@pytest.mark.parametrize("form", [(), ("--log-jsonl",), ("--no-log-prefix", "--no-log-timestamps")])
def test_a_good_start(explained, form):
    found = explained("-np", "3", "-c", "6144", "-lv", "4", *form)
    assert (found["ready"], found["slots"], found["ctx_per_slot"], found["kv_unified"]) == (True, 3, 2048, False)
    assert (found["device"], found["slots_used"]) == ("cpu", 0)
    assert found["memory"][0]["device"] == "Host"
    assert not found["ids"] - {"no-auth"}


def test_without_a_number_of_slots_four_share_one_pool(explained):
    found = explained("-c", "1024")
    assert (found["slots"], found["ctx_per_slot"], found["kv_unified"], found["device"]) == (4, 1024, True, None)


def test_a_vulkan_driver_on_the_cpu_is_no_gpu(explained):
    found = explained(
        # No layer on it: its shaders would be compiled for half a minute, and the log names it all the same.
        *("--device", "Vulkan0", "-ngl", "0", "-c", "256", "-np", "1", "-lv", "4", "--no-warmup"),
        environment={"GGML_VK_VISIBLE_DEVICES": "0"},
    )
    assert found["ready"] is True
    assert "llvmpipe" in found["device"]
    assert found["layers_offloaded"] == "0/7"
    assert found["ids"] >= {"cpu-device", "layers-partial"}


def test_weights_that_could_not_be_locked(explained):
    """Larger than the few MiB that Docker lets every container lock."""
    found = explained("--load-mode", "mlock", "-np", "1", "-c", "512", model="/m/smollm2.gguf")
    assert (found["ready"], found["slots"]) == (True, 1)
    assert "mlock-failed" in found["ids"]


@pytest.mark.parametrize(
    ("arguments", "id"),
    [
        (("-np", "1", "-c", "512", "--reasoning-preserve"), "reasoning-preserve-off"),
        (("-np", "1", "-c", "512", "-ngl", "99"), "no-gpu"),
    ],
)
def test_what_a_server_that_runs_on_warns_of(explained, arguments, id):
    found = explained(*arguments)
    assert (found["ready"], found["slots"]) == (True, 1)
    assert id in found["ids"]


@pytest.mark.parametrize(
    ("arguments", "model", "id"),
    [
        ((), "/m/none.gguf", "model-missing"),
        ((), "/m/cut.gguf", "model-corrupt"),
        ((), "/bin/sh", "not-gguf"),
        ((), "/m", "not-gguf"),
        (("--bogus",), "/m/model.gguf", "flag-unknown"),
        (("--mlock",), "/m/model.gguf", "flag-unknown"),
        (("-np", "many"), "/m/model.gguf", "setting-invalid"),
        (("--device", "Vulkan0"), "/m/model.gguf", "no-gpu"),
        (("-fa", "off", "-ctv", "q8_0"), "/m/model.gguf", "flash-attn-required"),
    ],
)
def test_why_a_server_did_not_start(explained, arguments, model, id):
    found = explained(*arguments, model=model)
    assert found["ready"] is False
    assert id in found["ids"]


def test_docker_logs_through_a_pipe(docker_api, prefix, llama_image):
    """As people do it: docker logs NAME 2>&1 | homellm explain."""
    made = docker_api.create_container(llama_image, ["--bogus"], name=f"{prefix}-pipe")
    docker_api.start(made["Id"])
    docker_api.wait(made["Id"])
    pipe = f"docker logs -t {prefix}-pipe 2>&1 | {sys.executable} -m homellm explain"
    said = subprocess.run(["/bin/sh", "-c", pipe], capture_output=True, text=True, check=True, timeout=60)
    assert "✘ flag-unknown\n    error: invalid argument: --bogus\n" in said.stdout

"""The record keeps what a log has lost, and a restarted container is judged by its present run alone."""

from __future__ import annotations

import json
import os
import tarfile
from io import BytesIO
from pathlib import Path

import pytest

from homellm.adapters.docker_engine import connect
from homellm.adapters.host import LinuxHost
from tests.engine.support import gate
from tests.engine.support.asking import get, post, status
from tests.engine.support.ports import free_port
from tests.engine.support.wait import wait_for

#: What the load writes and nothing afterwards.
LOAD_LINES = ("loading model", "model buffer size", "llama_kv_cache: size", "llama_context: n_batch", "n_slots")
LOG_ONLY = ("offload", "cache-reuse", "flash-attention", "kv-cache", "batch", "memory")
SHARED = " ".join(f"The {word} river runs to the sea." for word in ("wide", "cold", "grey", "old", "deep", "calm"))


@pytest.fixture
def port():
    return free_port()


def checks(result, code=0):
    assert result.code == code, result
    (model,) = result.json["models"]
    return {check["id"]: check for check in model["checks"]}


def told(found, key, which=None):
    """One field of these checks, of all when none are named."""
    return {check: found[check][key] for check in which or found}


def log_of(docker_api, name):
    return docker_api.logs(name).decode(errors="replace")


def record_of(docker_api, name):
    chunks, _ = docker_api.get_archive(name, "/.homellm.json")
    with tarfile.open(fileobj=BytesIO(b"".join(chunks))) as tar:
        return json.load(tar.extractfile(".homellm.json"))


def restart_by_hand(docker_api, name, port):
    """`docker restart`, until it serves again; what inspect then says of its run."""
    docker_api.restart(name, timeout=10)
    wait_for(lambda: status(port, "/health") == 200, f"{name} to serve again")
    return docker_api.inspect_container(name)["State"]


class TestOnARealServer:
    @pytest.fixture
    def declare(self, stack_file, llama_image, smollm2, port):
        def write(**keys):
            declared = {
                "source": f"gguf:{smollm2}",
                "image": llama_image,
                "parallel": 1,
                "ctx": 1024,
                "cpuset": "0",
                "port": port,
                "gpu_layers": 0,
                "batch": 512,
                "ubatch": 256,
                "flash_attention": "on",
                "kv_cache_type": "q8_0",
                "cache_reuse": 32,
                "log": {"max_size": "10k", "max_files": 2},
            }
            return stack_file({"smol": declared | keys})

        return write

    def test_checks_outlive_the_lines_of_the_load(self, cli, declare, docker_api, prefix, port):
        name = f"{prefix}-smol"
        declare()
        assert cli("up").code == 0
        # The second prompt is the first one with a piece cut out of its middle.
        for middle in (" Once upon a time there was rain.", ""):
            prompt = f"Sing a song of every river in the land.{middle} {SHARED}"
            post(port, "/completion", {"prompt": prompt, "n_predict": 1, "cache_prompt": True})
        before = checks(cli("check", "--format", "json"))
        assert told(before, "verdict", LOG_ONLY) == dict.fromkeys(LOG_ONLY, "pass")

        for number in range(100):
            post(port, "/completion", {"prompt": f"{number}", "n_predict": 1, "cache_prompt": False})
            said = log_of(docker_api, name)
            if not any(line in said for line in (*LOAD_LINES, "reusing chunk")):
                break
        else:
            pytest.fail(f"the load still stands in the log:\n{said}")

        after = checks(cli("check", "--format", "json"))
        assert told(after, "verdict") == dict.fromkeys(after, "pass")
        assert told(after, "source", LOG_ONLY) == dict.fromkeys(LOG_ONLY, "record")
        assert told(after, "observed", LOG_ONLY) == told(before, "observed", LOG_ONLY)
        assert (after["slots"]["source"], after["ctx"]["source"]) == ("/props", "/props")
        table = cli("check")
        (row,) = [line for line in table.stdout.splitlines() if "kv-cache" in line]
        assert row.split()[-1] == "record"

        up = cli("up", "--format", "json")
        assert told(checks(up), "verdict") == dict.fromkeys(after, "pass")

    def test_a_restart_makes_the_record_void(self, cli, declare, docker_api, prefix, port):
        """The lines of the new run are there, those of the old one too: only the new ones count."""
        name = f"{prefix}-smol"
        declare(log={"max_size": "10m"})
        assert cli("up").code == 0
        first = docker_api.inspect_container(name)["State"]
        assert record_of(docker_api, name)["started_at"] == first["StartedAt"]

        second = restart_by_hand(docker_api, name, port)
        assert log_of(docker_api, name).count("model loaded") == 2
        assert cli("ps", "--format", "json").json["models"][0]["state"] == "unverified"
        found = checks(cli("check", "--format", "json"))
        assert set(told(found, "source", LOG_ONLY).values()) == {"log"}
        assert found["restarts"]["observed"] == 0
        assert record_of(docker_api, name)["started_at"] == second["StartedAt"]
        assert cli("ps", "--format", "json").json["models"][0]["state"] == "verified"


class TestWhatAnEarlierRunSaid:
    """The same container, whose server says something else in its second run."""

    BARE = ("srv  llama_server: model loaded", "srv  llama_server: listening on http://0.0.0.0:8080")
    WHOLE = (
        "load_tensors: loading model tensors, this can take a while... (load_mode = mmap)",
        "load_tensors:   CPU_Mapped model buffer size =     8.30 MiB",
        "llama_context: constructing llama_context",
        "llama_context: n_batch               = 512",
        "llama_context: flash_attn            = enabled",
        "llama_kv_cache: size = 1.00 MiB ( 512 cells, 2 layers, 2/2 seqs), K (f16): 0.50 MiB, V (f16): 0.50 MiB",
        "srv    load_model: initializing, n_slots = 2, n_ctx_slot = 512, kv_unified = 'false'",
        *BARE,
    )
    TROUBLE = "srv    load_model: cache_reuse is not supported by this context, it will be disabled"

    @pytest.fixture
    def says(self, tmp_path):
        """What the server says from its next start on, with the stamps of its own lines."""
        (tmp_path / "said").mkdir()

        def write(*lines):
            (tmp_path / "said" / "log").write_text("".join(f"0.00.100.000 I {line}\n" for line in lines))

        return write

    @pytest.fixture
    def started(self, cli, stack_file, instant_image, tiny_lfm2, tmp_path, port):
        def start():
            model = {
                "source": f"gguf:{tiny_lfm2}",
                "image": instant_image,
                "parallel": 2,
                "ctx": 512,
                "port": port,
                "kv_cache_type": "f16",
                "flash_attention": "on",
                "batch": 512,
                "cache_reuse": 256,
                "env": {"INSTANT_REPLAY": "/said/log"},
                "volumes": [f"{tmp_path}/said:/said:ro"],
            }
            stack_file({"m": model})
            return cli("up", "--format", "json")

        return start

    def test_a_pass_of_the_first_run_is_none_of_the_second(self, cli, docker_api, prefix, port, says, started):
        says(*self.WHOLE)
        assert checks(started())["kv-cache"]["verdict"] == "pass"
        says(*self.BARE)
        restart_by_hand(docker_api, f"{prefix}-m", port)
        assert "K (f16)" in log_of(docker_api, f"{prefix}-m")
        for verb in ("check", "up"):
            found = checks(cli(verb, "--format", "json"))
            for check in ("kv-cache", "flash-attention", "batch", "memory"):
                assert (found[check]["verdict"], found[check]["observed"]) == ("unknown", None)
            assert (found["slots"]["verdict"], found["slots"]["source"]) == ("pass", "/props")

    def test_a_fault_of_the_first_run_is_none_of_the_second(self, cli, docker_api, prefix, port, says, started):
        says(self.TROUBLE, *self.WHOLE)
        assert checks(started(), code=5)["cache-reuse"]["verdict"] == "fail"
        says(*self.WHOLE)
        restart_by_hand(docker_api, f"{prefix}-m", port)
        assert self.TROUBLE in log_of(docker_api, f"{prefix}-m")
        assert checks(cli("check", "--format", "json"))["cache-reuse"]["verdict"] == "unknown"

    def test_a_fault_of_the_second_run_is_seen(self, cli, docker_api, prefix, port, says, started):
        says(*self.WHOLE)
        started()
        says(self.TROUBLE, *self.WHOLE)
        restart_by_hand(docker_api, f"{prefix}-m", port)
        found = checks(cli("up", "--format", "json"), code=5)
        assert (found["cache-reuse"]["verdict"], found["cache-reuse"]["source"]) == ("fail", "log")

    def test_what_this_run_said_before_its_log_was_lost_still_counts(
        self, cli, docker_api, prefix, port, says, started
    ):
        """A problem of the load, which rotation has taken, is judged by the record and names it."""
        says(self.TROUBLE, *self.WHOLE)
        started()
        container = docker_api.inspect_container(f"{prefix}-m")
        with open(container["LogPath"], "w"):  # noqa: PTH123 - as a rotation leaves it
            pass
        assert self.TROUBLE not in log_of(docker_api, f"{prefix}-m")
        found = checks(cli("check", "--format", "json"), code=5)
        assert (found["cache-reuse"]["verdict"], found["cache-reuse"]["source"]) == ("fail", "record")
        assert get(port, "/props")["total_slots"] == 2


def test_a_record_that_is_read_on_the_spot_is_the_one_that_the_engine_gives(
    cli, stack_file, instant_image, tiny_lfm2, prefix, tmp_path
):
    stack_file({"m": {"source": f"gguf:{tiny_lfm2}", "image": instant_image, "port": free_port()}})
    assert cli("up").code == 0
    engine = connect(os.environ, tmp_path)
    container = engine.find_container(f"{prefix}-m")
    host = LinuxHost(Path("/"), local=True)
    given, read = engine.get_file(container.id, "/.homellm.json"), host.file_of(container, ".homellm.json")
    assert json.loads(given)["started_at"] == container.started_at
    assert read == (given if os.geteuid() == 0 else None)
    assert host.file_of(container, ".homellm.none") == (b"" if os.geteuid() == 0 else None)
    engine.close()


def test_up_waits_for_a_server_that_somebody_restarted(cli, stack_file, instant_image, tiny_lfm2, docker_api, prefix):
    """It runs as declared and still loads: there is nothing to do but to wait, and then to prove it."""
    model = {"source": f"gguf:{tiny_lfm2}", "image": instant_image, "parallel": 2, "ctx": 512, "port": free_port()}
    stack_file({"m": model | {"env": {"INSTANT_READY_WHEN": gate.PATH, "INSTANT_TALK_WHILE_LOADING": "1"}}})
    first = cli.start("up")
    gate.Gate(docker_api, f"{prefix}-m.next").open()
    assert first.finish().code == 0
    loads = gate.Gate(docker_api, f"{prefix}-m")
    loads.shut()
    docker_api.restart(f"{prefix}-m", timeout=10)
    started = docker_api.inspect_container(f"{prefix}-m")["State"]["StartedAt"]
    waiting = cli.start("up")
    waiting.wait_for_text("loading")
    loads.open()
    assert (up := waiting.finish()).code == 0, up
    result = cli("check", "--format", "json")
    assert set(told(checks(result), "verdict", ("ready", "slots", "ctx", "api")).values()) == {"pass"}
    assert docker_api.inspect_container(f"{prefix}-m")["State"]["StartedAt"] == started
    assert record_of(docker_api, f"{prefix}-m")["started_at"] == started

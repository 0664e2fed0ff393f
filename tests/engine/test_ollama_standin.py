"""The Ollama of the tests, held against recordings of the real one: no line and no answer that the real one has not."""

import json
import os
import subprocess
import urllib.request
from pathlib import Path

import pytest

from tests.engine.support.ollama_recordings import LOGS, OLD, REAL, commands, loads, recorded_shapes, shapes, spoken
from tests.engine.support.ollama_scenario import play
from tests.engine.support.ollama_shapes import answer_shape, differences, line_shape
from tests.engine.support.tiny_models import tiny_lfm2 as make_tiny_lfm2
from tests.engine.support.wait import wait_for


@pytest.fixture(scope="module")
def real_shapes():
    return recorded_shapes()


@pytest.fixture
def serve(run_ollama):
    """Runs it with the cloud off, as the recorded ones did: they asked ollama.com for nothing."""
    return lambda store=None, **env: run_ollama(store=store and store.root, env={"OLLAMA_NO_CLOUD": "1", **env})


@pytest.fixture
def offered(ollama_registry, smollm2, tiny_lfm2, tmp_path):
    """The names of the scenario, in a registry of the test's own."""
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(tiny_lfm2.read_bytes()[:4_000_000])
    smol = {"params": {"stop": ["<|im_end|>"]}, "template": "{{ .Prompt }}"}
    # Slow enough for a pull to tell its progress.
    ollama_registry.rate_bytes_s = 200e6
    return {
        "smol": ollama_registry.add("smol:135m", smollm2, **smol),
        "lfm2": ollama_registry.add("lfm2:tiny", tiny_lfm2),
        "broken": ollama_registry.add("broken:1", broken),
        "registry": f"http://{ollama_registry.host}",
    }


def settled(body):
    """An answer without the rows of a pull's progress: a quick one has none."""
    if not isinstance(body, list):
        return body
    return [row for row in body if not (isinstance(row, dict) and "digest" in row)]


def test_the_scenario_answers_and_speaks_as_the_real_one(serve, offered, smollm2, real_shapes):
    server = serve(OLLAMA_NUM_PARALLEL="3")
    ours = play(server.url, offered, make_tiny_lfm2(smollm2, name="another tiny lfm2"))
    theirs = json.loads((REAL / "scenario.json").read_text())
    assert ours.keys() == theirs.keys()
    found = []
    for name, answer in ours.items():
        real = theirs[name]
        found += differences(str(answer["status"]), str(real["status"]), f"{name} status")
        found += differences(answer["type"], real["type"], f"{name} type")
        found += differences(answer_shape(settled(answer["body"])), answer_shape(settled(real["body"])), name)
    assert found == []
    (progress,) = answer_shape([row for row in ours["pull-smol"]["body"] if "total" in row])
    assert progress == {"completed": "number", "digest": "text", "status": "pulling HASH", "total": "number"}
    # What is loaded takes the same memory, by the same lines of the child.
    sizes = [{model["name"].rpartition("/")[2]: model["size"] for model in of["ps-loaded"]["body"]["models"]}
             for of in (ours, theirs)]  # fmt: skip
    assert sizes[0] == pytest.approx(sizes[1], abs=2)

    log = server.log()
    said = spoken(log)
    assert said - real_shapes == set(), "lines that the real one never printed"
    # How a load is waited for depends on its time.
    needed = {line for line in shapes(REAL / "scenario.log") if "to become available" not in line}
    assert needed - said == set(), "lines of the real one that are missing"
    assert loads(log) == loads((REAL / "scenario.log").read_text())


def test_the_canary_gets_three_slots_and_one(serve, store_with, smollm2, tiny_lfm2, real_shapes):
    """The recorded run once more: the same loads in the same order, with the same numbers."""
    store = store_with({"smol": smollm2, "tinylfm2": tiny_lfm2})
    server = serve(store, OLLAMA_NUM_PARALLEL="3")
    for name in ("smol", "tinylfm2"):
        server.load(name, num_ctx=2048)
    log, real = server.log(), (LOGS / "o-canary.log").read_text()
    telling = ("n_slots = ", "| new slot, n_ctx", "llama_context: n_seq_max", "llama_server: model loaded")

    def told(text):
        return [line.strip() for line in text.splitlines() if any(word in line for word in telling)]

    assert told(log) == told(real)
    assert [line for line in told(log) if "n_slots" in line] == [
        "srv    load_model: initializing, n_slots = 3, n_ctx_slot = 2048, kv_unified = 'false'",
        "srv    load_model: initializing, n_slots = 1, n_ctx_slot = 2048, kv_unified = 'false'",
    ]
    # The refusal stands before the load that it belongs to, and the blob in that load.
    warning = log.index("does not currently support parallel requests")
    assert warning < log.index(store.blob("tinylfm2").name)
    assert log.index(store.blob("smol").name) < warning
    said = spoken(log)
    assert said - real_shapes == set()
    contexts = {model["name"]: model["context_length"] for model in server.ask("/api/ps")[1]["models"]}
    assert contexts == {"smol:latest": 2048, "tinylfm2:latest": 2048}


@pytest.mark.parametrize(("value", "told"), [(None, 0), ("0", 0), ("1", 0), ("abc", 3)])
def test_without_a_number_there_is_one_slot_and_no_refusal(serve, store_with, tiny_lfm2, real_shapes, value, told):
    env = {} if value is None else {"OLLAMA_NUM_PARALLEL": value}
    server = serve(store_with({"m": tiny_lfm2}), **env)
    server.load("m", num_ctx=512)
    log = server.log()
    assert "n_slots = 1, n_ctx_slot = 512" in log
    assert "support parallel" not in log
    lines = [line for line in log.splitlines() if "invalid environment variable" in line and line.startswith("time=")]
    assert len(lines) == told
    assert all("key=OLLAMA_NUM_PARALLEL value=abc default=1" in line for line in lines)
    assert spoken(log) - real_shapes == set()


def test_embeddings_get_one_slot_without_a_word(serve, store_with, smollm2, real_shapes):
    server = serve(store_with({"m": make_tiny_lfm2(smollm2, embedding=True)}), OLLAMA_NUM_PARALLEL="3")
    assert server.ask("/api/show", {"model": "m"})[1]["capabilities"] == ["embedding"]
    assert server.ask("/api/generate", {"model": "m"}) == (400, {"error": '"m" does not support generate'})
    assert server.ask("/api/embed", {"model": "m", "keep_alive": -1}) == (200, {"model": "m", "embeddings": []})
    log, real = server.log(), (REAL / "embedding.log").read_text()
    assert commands(log) == commands(real)
    assert loads(log) == loads(real)
    assert "n_slots = 1, n_ctx_slot = 4096" in log
    assert spoken(log) - real_shapes == set()
    status, answer = server.ask("/api/embed", {"model": "m", "input": ["one", "two"]})
    assert (status, [len(vector) for vector in answer["embeddings"]]) == (200, [64, 64])
    status, answer = server.ask("/v1/embeddings", {"model": "m", "input": "one"})
    assert (status, len(answer["data"][0]["embedding"])) == (200, 64)


def test_another_num_ctx_loads_anew_and_back(serve, store_with, smollm2):
    store = store_with({"smol": {"gguf": smollm2, "params": {"num_ctx": 2048}}})
    server = serve(store, OLLAMA_NUM_PARALLEL="3")
    server.load("smol")
    server.load("smol", num_ctx=512)
    server.load("smol")
    found = [line for line in server.log().splitlines() if "initializing, n_slots" in line]
    assert [line.partition("n_ctx_slot = ")[2].partition(",")[0] for line in found] == ["2048", "512", "2048"]


def test_a_file_of_ollamas_own_format_loads_there_and_nowhere_else(
    serve, store_with, ollama_format_lfm2, ollama_image, docker_api, prefix, real_shapes
):
    store = store_with({"olfm": ollama_format_lfm2})
    server = serve(store, OLLAMA_NUM_PARALLEL="3")
    server.load("olfm", num_ctx=512)
    log = server.log()
    detected = "handle_lfm2: detected Ollama-format lfm2 GGUF; applying compatibility fixes"
    assert log.count(detected) == (LOGS / "o-compat.log").read_text().count(detected) == 2
    assert "n_slots = 1, n_ctx_slot = 512" in log
    assert f"loading model '/root/.ollama/models/blobs/{store.blob('olfm').name}'" in log
    assert spoken(log) - real_shapes == set()

    # Its own llama-server, run from the same image without Ollama, has no limit of slots; llama.cpp's refuses the file.
    def slots(program):
        name = f"{prefix}-{Path(program).parent.name}"
        command = ["docker", "run", "-d", "--name", name, "--entrypoint", program]
        command += ["-v", f"{store.blob('olfm')}:/m.gguf:ro", ollama_image, "-m", "/m.gguf", "-np", "3", "-c", "1536"]
        subprocess.run(command, check=True, capture_output=True)

        def told():
            text = docker_api.logs(name).decode()
            return text if "n_slots" in text or "error loading" in text else None

        return wait_for(told, f"{program} to load or to refuse")

    assert "n_slots = 3, n_ctx_slot = 512" in slots("/usr/lib/ollama/llama-server")
    assert "tensor 'token_embd_norm.weight' not found" in slots("/usr/bin/llama-server")


class TestTheOldOne:
    """0.24.0: no n_slots at all."""

    def test_its_lines_are_those_of_the_recording(self, run_ollama, store_with, smollm2, tiny_lfm2):
        store = store_with({"smol": smollm2, "tinylfm2": tiny_lfm2})
        server = run_ollama(store=store.root, env={"OLLAMA_NUM_PARALLEL": "3", "STANDIN_AGE": "old"})
        server.load("smol", num_ctx=1024)
        server.load("tinylfm2")
        real = (LOGS / "o-v0.24.0.log").read_text()
        log = server.log()
        known = {line_shape(line) for line in real.splitlines()} | shapes(OLD / "scenario.log")
        asked = {'[GIN] TIME | N | DURATION | ADDRESS | GET "/api/version"'}
        assert {line_shape(line) for line in log.splitlines()} - known - asked == set()
        commits = [line.partition("request=")[2] for line in log.splitlines() if "Operation:commit" in line]
        assert commits == [line.partition("request=")[2] for line in real.splitlines() if "Operation:commit" in line]
        assert "n_slots" not in log
        assert "llama_context: n_seq_max     = 3" in log
        assert server.ask("/api/version")[1] == {"version": "0.24.0"}
        missing = {line_shape(line) for line in real.splitlines() if "msg=" in line} - spoken(log)
        # Pulls, the cloud, how long a load took, another file type, and memory that its own engine alone knows of.
        left_out = ("downloading", "cloud cache", "recommendations", "to become available", "file_type", "graph")
        assert [shape for shape in missing if not any(word in shape for word in left_out)] == []

    def test_a_file_that_it_cannot_read_ends_its_runner_by_a_panic(self, run_ollama, store_with, smollm2, tmp_path):
        lacking = tmp_path / "lacking.gguf"
        lacking.write_bytes(smollm2.read_bytes().replace(b"output_norm.weight", b"output_nurm.weight"))
        env = {"OLLAMA_NUM_PARALLEL": "3", "OLLAMA_NO_CLOUD": "1", "STANDIN_AGE": "old"}
        server = run_ollama(store=store_with({"lacking": lacking}).root, env=env)
        error = "error loading model: missing tensor 'output_norm.weight'\npanic:"
        said = f"llama runner process has terminated: {error}"
        assert server.ask("/api/generate", {"model": "lacking", "stream": False}) == (500, {"error": said})
        log, real = server.log(), (OLD / "dies.log").read_text()
        assert spoken(log) - shapes(*OLD.glob("*.log"), LOGS / "o-v0.24.0.log") == set()
        telling = ("error loading model", "failed to load model", "panic:", "runner terminated", "Load failed")

        def told(text):
            return [line_shape(line) for line in text.splitlines() if any(word in line for word in telling)]

        assert told(log) == told(real)
        assert server.ask("/api/ps") == (200, {"models": []})

    def test_a_runner_that_is_killed_has_the_number_that_go_gives_it(self, run_ollama, store_with, smollm2):
        """So said the real one under a memory limit."""
        env = {"OLLAMA_NUM_PARALLEL": "3", "OLLAMA_NO_CLOUD": "1", "STANDIN_AGE": "old", "STANDIN_DIE": "9"}
        server = run_ollama(store=store_with({"smol": smollm2}).root, env=env)
        said = "llama runner process has terminated with exit code -1"
        assert server.ask("/api/generate", {"model": "smol", "stream": False}) == (500, {"error": said})
        assert f'error="{said}"' in (OLD / "killed.log").read_text()
        assert spoken(server.log()) - shapes(*OLD.glob("*.log"), LOGS / "o-v0.24.0.log") == set()


def test_a_start_removes_what_nothing_uses_after_an_hour(run_ollama, store_with, tiny_lfm2):
    """And what an upload that was cut off left, which it does not count: so did 0.24.0 and 0.33.0."""
    store = store_with({"m": tiny_lfm2})
    blobs = store.blob("m").parent
    for name in (f"sha256-{'a' * 64}", "sha256-3465742883"):
        (blobs / name).write_bytes(b"old")
    used = len(list(blobs.iterdir())) - 2
    (blobs / "sha256-1").write_bytes(b"young")
    for path in blobs.iterdir():
        if path.name != "sha256-1":
            os.utime(path, (1_700_000_000, 1_700_000_000))
    log = run_ollama(store=store.root).log()
    assert f'msg="total blobs: {used + 1}"' in log
    assert 'msg="total unused blobs removed: 1"' in log
    assert len(list(blobs.iterdir())) == used + 1
    assert (blobs / "sha256-1").exists()


class TestKnobs:
    def test_families_can_be_refused_and_permitted(self, serve, store_with, smollm2, tiny_lfm2):
        store = store_with({"smol": smollm2, "m": tiny_lfm2, "nameless": {"gguf": tiny_lfm2, "family": ""}})
        env = {"OLLAMA_NUM_PARALLEL": "2", "STANDIN_REFUSE": "llama,lfm2", "STANDIN_PERMIT": "lfm2"}
        server = serve(store, **env, STANDIN_VERSION="0.40.0")
        for name in ("smol", "m"):
            server.load(name, num_ctx=512)
        slots = [line for line in server.log().splitlines() if "initializing, n_slots" in line]
        assert ["n_slots = 1" in slots[0], "n_slots = 2" in slots[1]] == [True, True]
        assert "architecture=llama" in server.log()
        assert "Listening on [::]:11434 (version 0.40.0)" in server.log()

    def test_what_counts_is_the_family_of_the_config(self, serve, store_with, tiny_lfm2):
        store = store_with({"nameless": {"gguf": tiny_lfm2, "family": ""}})
        server = serve(store, OLLAMA_NUM_PARALLEL="3")
        server.load("nameless", num_ctx=512)
        assert "n_slots = 3, n_ctx_slot = 512" in server.log()

    def test_a_child_can_be_killed_while_it_loads(self, serve, store_with, smollm2, tiny_lfm2, real_shapes):
        store = store_with({"smol": smollm2, "m": tiny_lfm2})
        server = serve(store, STANDIN_DIE="4:lfm2")
        status, answer = server.ask("/api/generate", {"model": "m", "stream": False})
        assert (status, answer) == (500, {"error": "llama-server process has terminated: signal: illegal instruction"})
        server.load("smol", num_ctx=512)
        assert spoken(server.log().replace("illegal instruction", "killed")) - real_shapes == set()

    def test_an_integrated_gpu_is_dropped_and_taken(self, serve, store_with, tiny_lfm2):
        store = store_with({"m": tiny_lfm2})
        dropped = serve(store, STANDIN_GPU="iris")
        dropped.load("m", num_ctx=256)
        assert (
            'source=runner.go:405 msg="dropping integrated GPU; to enable, set OLLAMA_IGPU_ENABLE=1" id=0 '
            'library=Vulkan compute=0.0 name=Vulkan0 description="Intel(R) Iris(R) Xe Graphics (TGL GT2)" '
            "pci_id=0000:00:02.0"
        ) in dropped.log()
        assert dropped.ask("/api/ps")[1]["models"][0]["size_vram"] == 0
        taken = serve(store, STANDIN_GPU="iris", OLLAMA_IGPU_ENABLE="1")
        taken.load("m", num_ctx=256)
        assert "using device Vulkan0 (Intel(R) Iris(R) Xe Graphics (TGL GT2))" in taken.log()
        (model,) = taken.ask("/api/ps")[1]["models"]
        assert model["size_vram"] == model["size"] > 0
        ours = {line for line in spoken(taken.log()) if "inference compute" in line}
        theirs = {line for line in shapes(REAL / "vulkan.log") if "inference compute" in line}
        as_there = {
            line.replace('"Intel(R) Iris(R) Xe Graphics (TGL GTN)"', '"llvmpipe (LLVM VERSION, N bits)"')
            .replace("pci_id=N:N:N", 'pci_id=""')
            .replace("type=iGPU", "type=discrete")
            for line in ours
        }
        assert as_there == theirs


def test_it_stops_at_once_and_keeps_what_was_pulled(run_ollama, ollama_registry, tiny_lfm2, tmp_path):
    store = tmp_path / "store"
    store.mkdir()
    name = ollama_registry.add("lfm2:tiny", tiny_lfm2)
    server = run_ollama(store=store)
    ollama_registry.break_after_bytes = 3_000_000
    body = json.dumps({"model": name, "insecure": True}).encode()
    with urllib.request.urlopen(server.url + "/api/pull", body) as reply:
        rows = [json.loads(line) for line in reply]
    assert rows[-1] == {"status": "success"}
    ranges = [asked.range.rpartition("-")[0] for asked in ollama_registry.requests if asked.range]
    assert ranges[:2] == ["bytes=0", "bytes=3000000"]
    assert (store / "models" / "manifests" / ollama_registry.host / "library" / "lfm2" / "tiny").is_file()
    server.load(name.removeprefix("http://"), num_ctx=512)
    server.api.stop(server.id, timeout=10)
    state = wait_for(lambda: None if server.state()["Running"] else server.state(), "the end")
    assert (state["ExitCode"], state["OOMKilled"]) == (0, False)

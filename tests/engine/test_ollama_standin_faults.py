"""The Ollama of the tests in trouble, as the real one was when it was recorded."""

import json
import socket
import threading

import pytest

from tests.engine.support.ollama_recordings import REAL, commands, loads, recorded_shapes, spoken
from tests.engine.support.wait import wait_for


@pytest.fixture(scope="module")
def real_shapes():
    return recorded_shapes()


@pytest.fixture
def serve(run_ollama):
    return lambda store=None, **env: run_ollama(store=store and store.root, env={"OLLAMA_NO_CLOUD": "1", **env})


def hang_up(server, path, body, until):
    """Ask, wait until `until` is true, and close the connection without reading an answer."""
    data = json.dumps(body).encode()
    with socket.create_connection(("127.0.0.1", server.port)) as line:
        line.sendall(f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Length: {len(data)}\r\n\r\n".encode() + data)
        wait_for(until, f"{path} to be at work; log: {server.log()}")


def is_begun(part):
    """Whether some of it is there: the file has its whole size from the start, and holes."""
    return part.stat().st_blocks > 0


def test_a_deleted_blob(serve, store_with, smollm2, real_shapes):
    store = store_with({"smol": smollm2})
    server = serve(store)
    store.blob("smol").unlink()
    messages = [{"role": "user", "content": "hi"}]
    told = '"smol" does not support '
    assert server.ask("/api/generate", {"model": "smol", "prompt": "x"}) == (400, {"error": f"{told}generate"})
    assert server.ask("/api/chat", {"model": "smol", "messages": messages}) == (400, {"error": f"{told}chat"})
    assert server.ask("/api/show", {"model": "smol"}) == (404, {"error": "model 'smol:latest' not found"})
    assert server.ask("/api/tags") == (200, {"models": []})
    status, answer = server.ask("/v1/chat/completions", {"model": "smol", "messages": messages})
    assert (status, answer["error"]["message"], answer["error"]["type"]) == (
        400,
        f"{told}chat",
        "invalid_request_error",
    )
    assert spoken(server.log()) - real_shapes == set()


def test_a_child_that_cannot_read_the_file(serve, store_with, ollama_format_lfm2, real_shapes):
    """As the real one under a llama-server without Ollama's patches: the reason is in the answer, once for each try."""
    server = serve(store_with({"olfm": ollama_format_lfm2}), STANDIN_NO_COMPAT="1", OLLAMA_NUM_PARALLEL="3")
    reason = "error loading model: check_tensor_dims: tensor 'token_embd_norm.weight' not found"
    error = f"llama-server process has terminated: exit status 1: {reason}\n{reason}"
    assert server.ask("/api/generate", {"model": "olfm", "stream": False}) == (500, {"error": error})
    assert server.ask("/api/ps") == (200, {"models": []})
    assert loads(server.log()) == loads((REAL / "dies.log").read_text())[:1]
    assert spoken(server.log()) - real_shapes == set()


def test_a_memory_limit_kills_the_child_and_not_the_container(run_ollama, store_with, smollm2, real_shapes):
    store = store_with({"smol": smollm2})
    limits = {"mem_limit": 160 << 20, "memswap_limit": 160 << 20}
    env = {"OLLAMA_NUM_PARALLEL": "3", "OLLAMA_NO_CLOUD": "1"}
    server = run_ollama(store=store.root, env=env, **limits)
    status, answer = server.ask("/api/generate", {"model": "smol", "stream": False})
    assert (status, answer) == (500, {"error": "llama-server process has terminated: signal: killed"})
    assert server.state()["Running"]
    assert spoken(server.log()) - real_shapes == set()


def test_one_model_at_a_time_and_its_end(serve, store_with, smollm2, tiny_lfm2, real_shapes):
    env = {"OLLAMA_MAX_LOADED_MODELS": "1", "OLLAMA_KEEP_ALIVE": "8s", "OLLAMA_CONTEXT_LENGTH": "x1"}
    server = serve(store_with({"smol": smollm2, "lfm2": tiny_lfm2}), **env)
    for name in ("smol", "lfm2"):
        assert server.ask("/api/generate", {"model": name, "stream": False})[0] == 200
        names = [model["name"] for model in server.ask("/api/ps")[1]["models"]]
        assert names == [f"{name}:latest"]
    wait_for(lambda: not server.ask("/api/ps")[1]["models"], "the model's time to be over")
    assert loads(server.log()) == loads((REAL / "evict-and-expire.log").read_text())
    assert commands(server.log()) == commands((REAL / "evict-and-expire.log").read_text())
    assert spoken(server.log()) - real_shapes == set()


def test_contexts_and_flags_reach_the_child(run_ollama, store_with, smollm2, real_shapes):
    """More context than the model has, an element type, two models on one blob, and what a request asks."""
    env = {"OLLAMA_CONTEXT_LENGTH": "16384", "OLLAMA_KV_CACHE_TYPE": "q8_0", "OLLAMA_FLASH_ATTENTION": "1"}
    store = store_with({"smol": smollm2, "smolctx": {"gguf": smollm2, "params": {"num_ctx": 2048}}})
    env |= {"OLLAMA_NUM_PARALLEL": "3", "LLAMA_ARG_THREADS": "1"}
    server = run_ollama(store=store.root, env=env)
    asked = {"num_ctx": 1000, "num_batch": 256, "num_gpu": 0, "num_thread": 1}
    found = []
    for body in ({"model": "smol"}, {"model": "smolctx"}, {"model": "smol", "options": asked}):
        assert server.ask("/api/generate", {**body, "stream": False})[0] == 200
        found += [(model["name"], model["context_length"]) for model in server.ask("/api/ps")[1]["models"]]
    assert found == [("smol:latest", 8192), ("smolctx:latest", 2048), ("smol:latest", 1000)]
    assert commands(server.log()) == commands((REAL / "context-and-cache.log").read_text())
    assert loads(server.log()) == loads((REAL / "context-and-cache.log").read_text())
    assert spoken(server.log()) - real_shapes == set()


def test_a_full_queue_is_told(serve, store_with, smollm2, tiny_lfm2, real_shapes):
    server = serve(store_with({"smol": smollm2, "lfm2": tiny_lfm2}), OLLAMA_MAX_QUEUE="1", STANDIN_LOAD_DELAY_S="5")
    answers = []

    def ask(number):
        options = {"num_ctx": 256 * (number + 1), "num_predict": 2}
        body = {"model": ("smol", "lfm2")[number % 2], "prompt": "hi", "stream": False, "options": options}
        answers.append(server.ask("/api/generate", body))

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    busy = {"error": "server busy, please try again.  maximum pending requests exceeded"}
    assert sorted(status for status, _ in answers) == [200, 200, 503, 503, 503, 503]
    assert all(answer == busy for status, answer in answers if status == 503)
    assert spoken(server.log()) - real_shapes == set()


def test_a_client_that_hangs_up(serve, store_with, smollm2, tiny_lfm2, ollama_registry, real_shapes):
    """While it loads the load is given up, while it generates the slot is free again, while it pulls the part stays."""
    store = store_with({"smol": smollm2})
    server = serve(store, STANDIN_LOAD_DELAY_S="5")
    hang_up(server, "/api/generate", {"model": "smol"}, lambda: "starting llama-server" in server.log())
    wait_for(lambda: "Load failed" in server.log(), "the load to be given up")
    assert "client connection closed before llama-server finished loading, aborting load" in server.log()
    assert server.ask("/api/ps") == (200, {"models": []})

    server.load("smol", num_ctx=4096)
    options = {"num_predict": 4000, "num_ctx": 4096}
    endless = {"model": "smol", "prompt": "Count to a thousand", "stream": False, "options": options}
    hang_up(server, "/api/generate", endless, lambda: "processing task" in server.log())
    wait_for(lambda: "| 500 |" in server.log(), "the request to be over")

    ollama_registry.rate_bytes_s = 500e3  # of eight MB
    name = ollama_registry.add("lfm2:tiny", tiny_lfm2)
    blobs = store.models / "blobs"
    hang_up(server, "/api/pull", {"model": name, "insecure": True}, lambda: any(map(is_begun, blobs.glob("*-partial"))))
    ollama_registry.rate_bytes_s = 0
    (part,) = wait_for(lambda: list(blobs.glob("*-partial-0")), "the part's record")
    wait_for(lambda: json.loads(part.read_text())["Completed"], "the part to be written down")
    assert server.ask("/api/pull", {"model": name, "insecure": True, "stream": False}) == (200, {"status": "success"})
    ranges = [asked.range for asked in ollama_registry.requests if asked.path.startswith("/data/")]
    assert int(ranges[1].removeprefix("bytes=").partition("-")[0]) > 0
    assert spoken(server.log()) - real_shapes == set()


def test_registries_in_trouble(serve, ollama_registry, tiny_lfm2, real_shapes):
    name = ollama_registry.add("lfm2:tiny", tiny_lfm2)
    server = serve()
    (blob, *_) = ollama_registry.manifest("lfm2:tiny")["layers"]
    ollama_registry.gone.add(blob["digest"])
    pull = {"model": name, "insecure": True, "stream": False}
    assert server.ask("/api/pull", pull) == (500, {"error": "file does not exist"})
    ollama_registry.gone.clear()
    ollama_registry.swap(blob["digest"], b"x" * 5000)
    status, answer = server.ask("/api/pull", pull)
    assert status == 500
    assert answer["error"].startswith(
        f"digest mismatch, file must be downloaded again: want {blob['digest']}, got sha256:"
    )
    assert server.ask("/api/tags") == (200, {"models": []})
    assert spoken(server.log()) - real_shapes == set()


@pytest.mark.parametrize(("target", "recording"), [("", "read-only"), ("/models", "read-only-store")])
def test_a_store_that_cannot_be_written(docker_api, ollama_image, prefix, tmp_path, target, recording):
    """It ends with exit 1 before it listens."""
    mount = {"Type": "bind", "Source": str(tmp_path), "Target": f"/root/.ollama{target}", "ReadOnly": True}
    config = docker_api.create_host_config(mounts=[mount])
    container = docker_api.create_container(
        ollama_image, name=f"{prefix}-ro", environment={"OLLAMA_NO_CLOUD": "1"}, host_config=config
    )["Id"]
    docker_api.start(container)
    assert docker_api.wait(container, timeout=120)["StatusCode"] == 1
    said = docker_api.logs(container).decode()
    # The configuration is not in that recording.
    lines = {shape for shape in spoken(said) if '"server config"' not in shape}
    assert lines == spoken((REAL / f"{recording}.log").read_text())

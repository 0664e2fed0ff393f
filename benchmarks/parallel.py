"""Three requests at once: on the one slot that Ollama gives, and on three slots after the move to llama-server.

    python benchmarks/parallel.py [ROUNDS]

Before is the Ollama of the tests with SmolLM2's family among the refused ones, its child the real llama-server; after
is the llama-server image on the same weights with `--parallel 3`. Both stand idle beside each other, and are asked in
turns, ROUNDS times (9): three chats at once, each of the same number of tokens, until the last is answered. Both answer
the same OpenAI call. What counts is the ratio of the medians. Let nothing else run: threads that wait for each other on
cores that are taken compute a hundred times slower, and say nothing about slots.
"""

from __future__ import annotations

import json
import signal
import statistics
import sys
import tempfile
import threading
import time
import urllib.request
import uuid
from collections.abc import Callable
from pathlib import Path

import docker

sys.path.insert(0, str(Path(__file__).parent.parent))

from scripts.provision.image import ensure_debian_image
from scripts.provision.model import ensure_model
from tests.engine.support.cache import cache_root
from tests.engine.support.ollama_image import ollama_image
from tests.engine.support.ollama_server import OllamaServer
from tests.engine.support.ollama_store import store_with
from tests.engine.support.ports import free_port
from tests.engine.support.sweep import sweep
from tests.engine.support.wait import wait_for

SLOTS, CTX, TOKENS = 3, 2048, 64
TOPICS = ("a lighthouse", "a night train", "an old library")


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 9
    # Ended by SIGTERM, it removes its containers as it does on Ctrl-C.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    api = docker.from_env(timeout=600).api
    prefix = f"homellm-test-{uuid.uuid4().hex[:8]}"
    try:
        with tempfile.TemporaryDirectory(prefix=prefix, dir="/var/tmp") as folder:
            before, after = _ollama(api, prefix, Path(folder)), _llama_server(api, prefix)
            _compare({"one slot": before, "three slots": after}, rounds)
    finally:
        sweep(api, prefix)
        api.close()


def _ollama(api: docker.APIClient, prefix: str, folder: Path) -> str:
    """The URL of an Ollama that gives SmolLM2 one slot though three are asked."""
    image = ollama_image(api, ensure_debian_image(api))
    store = store_with(folder / "store", {"smol": ensure_model(cache_root())})
    env = {"OLLAMA_NUM_PARALLEL": str(SLOTS), "OLLAMA_CONTEXT_LENGTH": str(CTX), "STANDIN_REFUSE": "llama"}
    server = OllamaServer(api, image, f"{prefix}-ollama", env=env, store=store.root).ready()
    server.load("smol")
    assert f"n_slots = 1, n_ctx_slot = {CTX}" in server.log(), server.log()
    return server.url


def _llama_server(api: docker.APIClient, prefix: str) -> str:
    """The URL of a llama-server with three slots of the same context."""
    port = free_port()
    mount = docker.types.Mount("/m.gguf", str(ensure_model(cache_root())), type="bind", read_only=True)
    arguments = ["-m", "/m.gguf", "--alias", "smol", "-np", str(SLOTS), "-c", str(SLOTS * CTX)]
    container = api.create_container(
        ensure_debian_image(api),
        [*arguments, "--host", "0.0.0.0", "--port", "8080"],
        name=f"{prefix}-llama-server",
        ports=[8080],
        host_config=api.create_host_config(mounts=[mount], port_bindings={8080: ("127.0.0.1", port)}),
    )["Id"]
    api.start(container)
    wait_for(lambda: b"listening on" in api.logs(container), "llama-server to listen", 60)
    assert f"n_slots = {SLOTS}, n_ctx_slot = {CTX}".encode() in api.logs(container)
    return f"http://127.0.0.1:{port}"


def _compare(servers: dict[str, str], rounds: int) -> None:
    seconds: dict[str, list[float]] = {name: [] for name in servers}
    for url in servers.values():
        _at_once(url, 0)
    number = 0
    while any(len(values) < rounds for values in seconds.values()):
        number += 1
        taken = {name: _at_once(url, number) for name, url in servers.items()}
        if None in taken.values():
            print(f"round {number}: left out, a story was over too soon", flush=True)
            continue
        for name, value in taken.items():
            seconds[name].append(value or 0.0)
        told = "   ".join(f"{name} {values[-1]:6.2f} s" for name, values in seconds.items())
        print(f"round {number}: {told}", flush=True)
    medians = {name: statistics.median(values) for name, values in seconds.items()}
    for name, values in seconds.items():
        rate = len(TOPICS) * TOKENS / medians[name]
        spread = f"{min(values):.2f} to {max(values):.2f}"
        print(f"{name:12} {medians[name]:6.2f} s  ({spread})  {rate:5.0f} tokens/s for all three together")
    best = min(seconds["three slots"]) / min(seconds["one slot"])
    print(f"ratio        {medians['three slots'] / medians['one slot']:6.2f}    (of the best of both {best:.2f})")


def _at_once(url: str, number: int) -> float | None:
    """Seconds until all chats are answered that began together; None when one had fewer tokens than the others.

    Each round asks something new: no cache helps.
    """
    start = threading.Barrier(len(TOPICS) + 1)
    tokens: list[int] = []
    threads = [threading.Thread(target=_chat, args=(url, topic, number, start, tokens.append)) for topic in TOPICS]
    for thread in threads:
        thread.start()
    start.wait()
    began = time.monotonic()
    for thread in threads:
        thread.join()
    seconds = time.monotonic() - began
    assert len(tokens) == len(TOPICS), tokens
    return seconds if tokens == [TOKENS] * len(TOPICS) else None


def _chat(url: str, topic: str, number: int, start: threading.Barrier, done: Callable[[int], None]) -> None:
    asked = f"Story {number}: tell me a very long story about {topic}, with at least twenty chapters."
    body = {"model": "smol", "max_tokens": TOKENS, "temperature": 0, "messages": [{"role": "user", "content": asked}]}
    headers = {"Content-Type": "application/json"}
    request = urllib.request.Request(f"{url}/v1/chat/completions", json.dumps(body).encode(), headers)
    start.wait()
    with urllib.request.urlopen(request, timeout=300) as reply:
        done(json.load(reply)["usage"]["completion_tokens"])


if __name__ == "__main__":
    main()

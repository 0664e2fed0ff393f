"""`check` of a real server all of whose slots serve others: known by what it answered earlier in this run."""

from __future__ import annotations

import json
import threading
import urllib.request
from contextlib import suppress

from tests.engine.support.ports import free_port
from tests.engine.support.wait import wait_for

REQUESTS = 4


def ask(url: str) -> None:
    """One long answer; it ends with the server."""
    message = {"role": "user", "content": "Count."}
    body = {"model": "m", "messages": [message], "max_tokens": 100_000, "ignore_eos": True}
    request = urllib.request.Request(
        f"{url}/v1/chat/completions", json.dumps(body).encode(), {"Content-Type": "application/json"}
    )
    with suppress(OSError), urllib.request.urlopen(request, timeout=300) as reply:
        reply.read()


def busy_slots(url: str) -> int:
    with urllib.request.urlopen(f"{url}/slots", timeout=60) as reply:
        return sum(slot["is_processing"] for slot in json.load(reply))


def test_a_busy_server_is_not_a_broken_one(cli, stack_file, llama_image, smollm2):
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    keys = {"source": f"gguf:{smollm2}", "image": llama_image, "parallel": 2, "ctx": 4096, "port": port}
    stack_file({"m": keys | {"extra_args": ["--context-shift"]}})
    assert cli("up").code == 0
    for _ in range(REQUESTS):
        threading.Thread(target=ask, args=(url,), daemon=True).start()
    wait_for(lambda: busy_slots(url) == keys["parallel"], "all slots to be at work")
    result = cli("check", "--format", "json")
    assert result.code == 0, result
    (api,) = (check for check in result.json["models"][0]["checks"] if check["id"] == "api")
    assert (api["verdict"], api["source"]) == ("pass", "record")
    assert busy_slots(url) == keys["parallel"]

"""What is asked of an Ollama to compare it with another one: the same requests in the same order, and their answers.

    python -m tests.engine.support.ollama_scenario URL SMOL LFM2 BROKEN GGUF [CONTAINER]

plays it against any Ollama with an empty store (SMOL, LFM2 and BROKEN are names to pull, GGUF is a file to upload) and
writes the answers as JSON: so the fixtures tests/fixtures/ollama/0.33/*.json were made with the real one.
"""

import hashlib
import json
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

CHAT = [{"role": "user", "content": "Say hello."}]
SHORT = {"num_predict": 4, "temperature": 0, "seed": 1}
LOADED = {"keep_alive": -1, "stream": False}


@dataclass(frozen=True, slots=True)
class Step:
    """One request. `body` is JSON, or bytes to upload; `{smol}` and the like stand for the models' names."""

    name: str
    method: str
    path: str
    body: Mapping[str, Any] | bytes | None = None


def steps(gguf: Path) -> Iterator[Step]:
    """The whole scenario. A step's name is the name of its answer."""
    yield from _looking("empty")
    yield from _pulling()
    yield from _looking("full")
    yield from _loading()
    yield from _talking()
    yield from _reloading()
    yield from _making(gguf)
    yield from _removing()


def _looking(when: str) -> Iterator[Step]:
    if when == "empty":
        yield Step("root", "GET", "/")
        yield Step("version", "GET", "/api/version")
        yield Step("nowhere", "GET", "/api/nowhere")
    yield Step(f"tags-{when}", "GET", "/api/tags")
    yield Step(f"ps-{when}", "GET", "/api/ps")
    yield Step(f"v1-models-{when}", "GET", "/v1/models")
    if when == "full":
        yield Step("show-smol", "POST", "/api/show", {"model": "{smol}"})
        yield Step("show-lfm2", "POST", "/api/show", {"model": "{lfm2}"})
        yield Step("show-missing", "POST", "/api/show", {"model": "nope"})
        yield Step("show-nothing", "POST", "/api/show", {})
        yield Step("v1-model-missing", "GET", "/v1/models/nope")


def _pulling() -> Iterator[Step]:
    yield Step("pull-missing", "POST", "/api/pull", {"model": "{registry}/library/nope:1", "insecure": True})
    yield Step("pull-plain-http-forbidden", "POST", "/api/pull", {"model": "{smol}"})
    yield Step("pull-refused", "POST", "/api/pull", {"model": "http://127.0.0.1:9/library/nope:1", "insecure": True})
    yield Step("pull-bad-name", "POST", "/api/pull", {"model": "a//b"})
    yield Step("pull-smol", "POST", "/api/pull", {"model": "{smol}", "insecure": True})
    yield Step("pull-smol-again", "POST", "/api/pull", {"model": "{smol}", "insecure": True})
    yield Step("pull-lfm2", "POST", "/api/pull", {"model": "{lfm2}", "insecure": True})
    yield Step("pull-broken", "POST", "/api/pull", {"model": "{broken}", "insecure": True, "stream": False})
    nope = {"model": "{registry}/library/nope:1", "insecure": True, "stream": False}
    yield Step("pull-missing-whole", "POST", "/api/pull", nope)


def _loading() -> Iterator[Step]:
    yield Step("load-smol", "POST", "/api/generate", {"model": "{smol}", **LOADED, "options": {"num_ctx": 2048}})
    yield Step("load-lfm2", "POST", "/api/generate", {"model": "{lfm2}", **LOADED, "options": {"num_ctx": 2048}})
    yield Step("ps-loaded", "GET", "/api/ps")
    yield Step("load-again", "POST", "/api/generate", {"model": "{smol}", **LOADED, "options": {"num_ctx": 2048}})
    yield Step("load-missing", "POST", "/api/generate", {"model": "nope", "prompt": "x"})
    yield Step("load-broken", "POST", "/api/generate", {"model": "{broken}", "prompt": "x", "stream": False})
    yield Step("load-nothing", "POST", "/api/generate", None)
    yield Step("load-by-chat", "POST", "/api/chat", {"model": "{smol}", "options": {"num_ctx": 2048}})


def _talking() -> Iterator[Step]:
    asked = {"model": "{smol}", "options": {**SHORT, "num_ctx": 2048}}
    openai = {"model": "{smol}", "messages": CHAT, "max_tokens": 4, "temperature": 0, "seed": 1}
    yield Step("generate", "POST", "/api/generate", {**asked, "prompt": "Say hello.", "stream": False})
    yield Step("generate-stream", "POST", "/api/generate", {**asked, "prompt": "Say hello."})
    yield Step("chat", "POST", "/api/chat", {**asked, "messages": CHAT, "stream": False})
    yield Step("chat-stream", "POST", "/api/chat", {**asked, "messages": CHAT})
    yield Step("chat-missing", "POST", "/api/chat", {"model": "nope", "messages": CHAT})
    yield Step("v1-chat", "POST", "/v1/chat/completions", openai)
    options = {"stream": True, "stream_options": {"include_usage": True}}
    yield Step("v1-chat-stream", "POST", "/v1/chat/completions", {**openai, **options})
    yield Step("v1-chat-missing", "POST", "/v1/chat/completions", {**openai, "model": "nope"})
    yield Step("v1-chat-lfm2", "POST", "/v1/chat/completions", {**openai, "model": "{lfm2}"})
    yield Step("embed", "POST", "/api/embed", {"model": "{smol}", "input": "hello"})


def _reloading() -> Iterator[Step]:
    smaller = {"model": "{smol}", "prompt": "hi", "stream": False, "options": {**SHORT, "num_ctx": 512}}
    yield Step("another-num-ctx", "POST", "/api/generate", smaller)
    yield Step("ps-another-num-ctx", "GET", "/api/ps")
    yield Step("unload", "POST", "/api/generate", {"model": "{smol}", "keep_alive": 0})
    yield Step("unload-by-chat", "POST", "/api/chat", {"model": "{lfm2}", "messages": [], "keep_alive": 0})
    yield Step("unload-missing", "POST", "/api/generate", {"model": "nope", "keep_alive": 0})


def _making(gguf: Path) -> Iterator[Step]:
    data = gguf.read_bytes()
    digest = "sha256:" + hashlib.sha256(data).hexdigest()
    yield Step("blob-absent", "HEAD", f"/api/blobs/{digest}")
    yield Step("blob-mismatch", "POST", f"/api/blobs/sha256:{'0' * 64}", b"other bytes")
    yield Step("blob-upload", "POST", f"/api/blobs/{digest}", data)
    yield Step("blob-present", "HEAD", f"/api/blobs/{digest}")
    yield Step("create", "POST", "/api/create", {"model": "made", "files": {"m.gguf": digest}})
    derived = {"model": "derived", "from": "{smol}", "parameters": {"num_ctx": 1024}, "system": "Be calm."}
    yield Step("create-derived", "POST", "/api/create", derived)
    yield Step("create-from-nothing", "POST", "/api/create", {"model": "x"})
    yield Step("v1-model", "GET", "/v1/models/made")
    yield Step("show-made", "POST", "/api/show", {"model": "made"})
    yield Step("show-derived", "POST", "/api/show", {"model": "derived"})
    yield Step("load-made", "POST", "/api/generate", {"model": "made", "stream": False})
    yield Step("load-derived", "POST", "/api/generate", {"model": "derived", "stream": False})
    yield Step("ps-made", "GET", "/api/ps")


def _removing() -> Iterator[Step]:
    yield Step("copy", "POST", "/api/copy", {"source": "made", "destination": "copied"})
    yield Step("copy-missing", "POST", "/api/copy", {"source": "nope", "destination": "copied2"})
    yield Step("delete", "DELETE", "/api/delete", {"model": "copied"})
    yield Step("delete-missing", "DELETE", "/api/delete", {"model": "nope"})
    yield Step("tags-after", "GET", "/api/tags")


def play(url: str, names: Mapping[str, str], gguf: Path) -> dict[str, dict[str, Any]]:
    """The answers by step: `{"status": …, "type": …, "body": …}`; ndjson and event streams are lists."""
    return {step.name: ask(url, step, names) for step in steps(gguf)}


def ask(url: str, step: Step, names: Mapping[str, str]) -> dict[str, Any]:
    """One answer, whatever its status is."""
    path = _named(step.path, names)
    body = step.body
    data = body if isinstance(body, bytes) else None if body is None else _named(json.dumps(body), names).encode()
    if step.method == "POST" and data is None:
        data = b""
    request = urllib.request.Request(url + path, data, {"Content-Type": "application/json"}, method=step.method)
    try:
        with urllib.request.urlopen(request, timeout=120) as reply:
            return _answer(reply.status, reply.headers.get("Content-Type", ""), reply.read())
    except urllib.error.HTTPError as error:
        with error:
            return _answer(error.code, error.headers.get("Content-Type", ""), error.read())


def _answer(status: int, kind: str, data: bytes) -> dict[str, Any]:
    text = data.decode()
    body: Any = text
    if "ndjson" in kind:
        body = [json.loads(line) for line in text.splitlines() if line]
    elif "event-stream" in kind:
        rows = [line.removeprefix("data: ") for line in text.splitlines() if line]
        body = [row if row == "[DONE]" else json.loads(row) for row in rows]
    elif "json" in kind and text:
        body = json.loads(text)
    return {"status": status, "type": kind, "body": body}


def _named(text: str, names: Mapping[str, str]) -> str:
    for key, value in names.items():
        text = text.replace("{" + key + "}", value)
    return text


def main() -> None:
    url, smol, lfm2, broken, gguf = sys.argv[1:6]
    registry = smol.rsplit("/library/", 1)[0]
    names = {"smol": smol, "lfm2": lfm2, "broken": broken, "registry": registry}
    json.dump(play(url, names, Path(gguf)), sys.stdout, indent=1, sort_keys=True)


if __name__ == "__main__":
    main()

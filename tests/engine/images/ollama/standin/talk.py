"""Text out of a child: prompts and chats go to the llama-server as a stream, and come back piece by piece."""

import contextlib
import http.client
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from standin.scheduler import ApiError, Runner
from standin.server import ClientGone

WATCH_S = 0.05
#: Options of Ollama and what llama-server calls them, for both of its endpoints.
OPTIONS = {
    "temperature": "temperature", "top_k": "top_k", "top_p": "top_p", "min_p": "min_p", "seed": "seed",
    "stop": "stop", "repeat_penalty": "repeat_penalty", "repeat_last_n": "repeat_last_n",
    "presence_penalty": "presence_penalty", "frequency_penalty": "frequency_penalty", "typical_p": "typical_p",
}  # fmt: skip
DEFAULTS = {"temperature": 0.8, "top_k": 40, "top_p": 0.9, "min_p": 0.0, "repeat_penalty": 1.0, "repeat_last_n": 64}
#: An open end is bounded by so many contexts.
OPEN_END = 10


@dataclass(slots=True)
class Piece:
    """A part of the answer."""

    text: str = ""
    tool_calls: list[dict[str, Any]] = field(default_factory=list)


@dataclass(slots=True)
class Done:
    """The end: why, and what it took (counts of tokens, times in nanoseconds)."""

    reason: str = "stop"
    prompt_tokens: int = 0
    prompt_ns: int = 0
    tokens: int = 0
    tokens_ns: int = 0


@dataclass(frozen=True, slots=True)
class Ask:
    """One request to the child."""

    path: str
    payload: dict[str, Any]


def prompt_ask(prompt: str, runner: Runner, options: dict[str, Any], **more: Any) -> Ask:
    """A prompt that is finished as it is."""
    return Ask(
        "/completion", {"prompt": prompt, "cache_prompt": True, **_sampling(runner, options, "n_predict"), **more}
    )


def chat_ask(messages: list[dict[str, Any]], runner: Runner, options: dict[str, Any], **more: Any) -> Ask:
    """Messages that the child renders: by the GGUF's template, or by chatml."""
    usage = {"stream_options": {"include_usage": True}}
    return Ask(
        "/v1/chat/completions", {"messages": messages, **usage, **_sampling(runner, options, "max_tokens"), **more}
    )


def _sampling(runner: Runner, options: dict[str, Any], limit: str) -> dict[str, Any]:
    merged = DEFAULTS | runner.load.model.params | options
    found = {theirs: merged[ours] for ours, theirs in OPTIONS.items() if merged.get(ours) is not None}
    asked = int(merged.get("num_predict") or -1)
    most = OPEN_END * runner.load.ctx
    return {**found, limit: asked if 0 <= asked <= most else most, "stream": True}


def ask(runner: Runner, asked: Ask, gone: Callable[[], bool]) -> Iterator[Piece | Done]:
    """The answer in pieces and its end. Raises ApiError for the child's refusals, ClientGone when nobody listens."""
    with _slot(runner, gone), _connected(runner, gone) as connection:
        connection.request("POST", asked.path, json.dumps(asked.payload), {"Content-Type": "application/json"})
        reply = connection.getresponse()
        if reply.status != 200:
            raise ApiError(reply.status, _error_of(reply.read()))
        done = Done()
        for event in _events(reply):
            if "error" in event:
                raise ApiError(500, str(event["error"].get("message", event["error"])))
            yield from _pieces(event, done)
        if gone():
            raise ClientGone
        yield done


def whole(runner: Runner, path: str, payload: dict[str, Any]) -> dict[str, Any]:
    """One answer of the child that is no stream."""
    connection = http.client.HTTPConnection("127.0.0.1", runner.load.port, timeout=120)
    try:
        connection.request("POST", path, json.dumps(payload), {"Content-Type": "application/json"})
        reply = connection.getresponse()
        data = reply.read()
    finally:
        connection.close()
    if reply.status != 200:
        raise ApiError(reply.status, _error_of(data))
    return dict(json.loads(data))


@contextmanager
def _slot(runner: Runner, gone: Callable[[], bool]) -> Iterator[None]:
    """Wait in line for one of the slots, silently as Ollama does."""
    while not runner.slots.acquire(timeout=WATCH_S):
        if gone():
            raise ClientGone
    try:
        yield
    finally:
        runner.slots.release()


@contextmanager
def _connected(runner: Runner, gone: Callable[[], bool]) -> Iterator[http.client.HTTPConnection]:
    """A connection to the child that ends with the client's."""
    connection = http.client.HTTPConnection("127.0.0.1", runner.load.port)
    ended = threading.Event()

    def watch() -> None:
        while not ended.wait(WATCH_S):
            if gone():
                with contextlib.suppress(OSError):
                    line.shutdown(socket.SHUT_RDWR)
                return

    connection.connect()
    line = connection.sock
    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield connection
    except (OSError, http.client.HTTPException, ValueError, AttributeError) as error:
        if gone():
            raise ClientGone from error
        raise ApiError(500, f"an error was encountered while running the model: {error}") from error
    finally:
        ended.set()
        thread.join()
        connection.close()


def _events(reply: http.client.HTTPResponse) -> Iterator[dict[str, Any]]:
    while line := reply.readline():
        text = line.decode(errors="replace").strip()
        if text.startswith("data: ") and text != "data: [DONE]":
            yield json.loads(text[6:])
        elif text.startswith("error: "):
            yield {"error": json.loads(text[7:])}


def _pieces(event: dict[str, Any], done: Done) -> Iterator[Piece]:
    for choice in event.get("choices") or ():
        delta = choice.get("delta") or {}
        if choice.get("finish_reason"):
            done.reason = choice["finish_reason"]
        if delta.get("content") or delta.get("tool_calls"):
            yield Piece(delta.get("content") or "", delta.get("tool_calls") or [])
    if event.get("content"):
        yield Piece(event["content"])
    if event.get("stop"):
        done.reason = "length" if event.get("stop_type") == "limit" else "stop"
    if timings := event.get("timings"):
        cached = int(timings.get("cache_n", 0))
        done.prompt_tokens, done.tokens = int(timings["prompt_n"]) + cached, int(timings["predicted_n"])
        done.prompt_ns, done.tokens_ns = int(timings["prompt_ms"] * 1e6), int(timings["predicted_ms"] * 1e6)


def _error_of(data: bytes) -> str:
    try:
        error = json.loads(data)["error"]
        return str(error["message"] if isinstance(error, dict) else error)
    except (ValueError, KeyError):
        return data.decode(errors="replace")


def since(started: float) -> int:
    """Nanoseconds."""
    return int((time.monotonic() - started) * 1e9)

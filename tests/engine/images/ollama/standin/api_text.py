"""/api/generate, /api/chat, /api/embed and /api/embeddings."""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from standin.app import App
from standin.scheduler import ApiError, Runner, keep_alive_of
from standin.server import Exchange
from standin.store import Model
from standin.talk import Ask, Done, Piece, ask, chat_ask, prompt_ask, since, whole
from standin.words import timestamp, utc_now


def generate(app: App, exchange: Exchange) -> None:
    request = exchange.document()
    started = time.monotonic()
    with held(app, exchange, request, "generate", empty=not request.get("prompt")) as runner:
        if runner is None:
            return
        loaded = since(started)
        asked = _prompt(runner, request)

        def shown(text: str, done: bool) -> dict[str, Any]:
            return _row(request) | {"response": text, "done": done}

        def ended(text: str, done: Done) -> dict[str, Any]:
            content = request["prompt"] + text
            tokens = whole(runner, "/tokenize", {"content": content})["tokens"]
            return shown("", True) | _counted(done, started, loaded) | {"context": tokens}

        _answer(exchange, request, ask(runner, asked, exchange.gone), shown, ended, "response")


def chat(app: App, exchange: Exchange) -> None:
    request = exchange.document()
    started = time.monotonic()
    with held(app, exchange, request, "chat", empty=not request.get("messages")) as runner:
        if runner is None:
            return
        loaded = since(started)
        asked = chat_of(runner, request)

        def shown(text: str, done: bool) -> dict[str, Any]:
            return _row(request) | {"message": {"role": "assistant", "content": text}, "done": done}

        def ended(text: str, done: Done) -> dict[str, Any]:
            return shown("", True) | _counted(done, started, loaded)

        _answer(exchange, request, ask(runner, asked, exchange.gone), shown, ended, "message")


@contextmanager
def held(app: App, exchange: Exchange, request: dict[str, Any], verb: str, *, empty: bool) -> Iterator[Runner | None]:
    """The model's runner for one request. None after an answer to a request without text: loaded, or let go."""
    model = app.wanted(str(request.get("model", "")), request.get("model", ""))
    keep_alive = keep_alive_of(request.get("keep_alive"))
    rest = {"message": {"role": "assistant", "content": ""}} if verb == "chat" else {"response": ""}
    if empty and keep_alive == 0:  # asked before anything else is, also for a model that makes no text
        app.scheduler.unload(model)
        exchange.json(200, _row(request) | rest | {"done": True, "done_reason": "unload"})
        yield None
        return
    if "completion" not in model.capabilities and not (verb == "embed" and model.here):
        if not model.here:
            app.journal.blob_gone(model)
        raise ApiError(400, f'"{request.get("model")}" does not support {verb}')
    with app.scheduler.runner(model, request.get("options"), keep_alive, exchange.gone) as runner:
        if empty:
            exchange.json(200, _row(request) | rest | {"done": True, "done_reason": "load"})
            yield None
        else:
            yield runner


def chat_of(runner: Runner, request: dict[str, Any]) -> Ask:
    """A chat for the child. A template without messages gets the last one's text alone, as it would in Ollama."""
    model, options = runner.load.model, request.get("options") or {}
    messages = list(request["messages"])
    if model.system and not any(message.get("role") == "system" for message in messages):
        messages.insert(0, {"role": "system", "content": model.system})
    messages = [*model.messages, *messages]
    if _bare(model):
        return prompt_ask(str(messages[-1].get("content") or ""), runner, options)
    more = {key: request[key] for key in ("tools", "tool_choice") if request.get(key)}
    return chat_ask(messages, runner, options, **more)


def _prompt(runner: Runner, request: dict[str, Any]) -> Ask:
    model, options = runner.load.model, request.get("options") or {}
    if request.get("raw") or _bare(model):
        return prompt_ask(str(request["prompt"]), runner, options)
    system = request.get("system") or model.system
    first = [{"role": "system", "content": system}] if system else []
    return chat_ask([*first, {"role": "user", "content": request["prompt"]}], runner, options)


def _bare(model: Model) -> bool:
    return not model.native and ".Messages" not in (model.template or "") and ".System" not in (model.template or "")


def _row(request: dict[str, Any]) -> dict[str, Any]:
    return {"model": request.get("model"), "created_at": timestamp(utc_now())}


def _counted(done: Done, started: float, loaded: int) -> dict[str, Any]:
    return {
        "done_reason": done.reason,
        "total_duration": since(started),
        "load_duration": loaded,
        "prompt_eval_count": done.prompt_tokens,
        "prompt_eval_duration": done.prompt_ns,
        "eval_count": done.tokens,
        "eval_duration": done.tokens_ns,
    }


def _answer(
    exchange: Exchange, request: dict[str, Any], pieces: Iterator[Piece | Done], shown: Any, ended: Any, key: str
) -> None:
    """All of it at once, or line by line; tool calls as Ollama has them."""
    streamed = request.get("stream") is not False
    text, calls = "", []
    for piece in pieces:
        if isinstance(piece, Piece):
            text += piece.text
            calls += piece.tool_calls
            if streamed and piece.text:
                if not exchange.began:
                    exchange.start("application/x-ndjson")
                exchange.row(shown(piece.text, False))
            continue
        last = ended(text, piece)
        if key == "message" and calls:
            last["message"]["tool_calls"] = merged_calls(calls)
        if streamed:
            if not exchange.began:
                exchange.start("application/x-ndjson")
            exchange.row(last)
        elif key == "message":
            last["message"]["content"] = text
            exchange.json(200, last)
        else:
            exchange.json(200, last | {"response": text})


def merged_calls(parts: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Tool calls whose arguments came in pieces, whole: `{"function": {"name": …, "arguments": {…}}}`."""
    whole_calls: dict[int, dict[str, Any]] = {}
    for part in parts:
        call = whole_calls.setdefault(int(part.get("index", 0)), {"id": "", "name": "", "arguments": ""})
        function = part.get("function") or {}
        call["id"] = part.get("id") or call["id"]
        call["name"] += function.get("name") or ""
        call["arguments"] += function.get("arguments") or ""
    return [
        {"id": call["id"], "function": {"name": call["name"], "arguments": json.loads(call["arguments"] or "{}")}}
        for call in whole_calls.values()
    ]


def embed(app: App, exchange: Exchange) -> None:
    request = exchange.document()
    started = time.monotonic()
    with held(app, exchange, request, "embed", empty=False) as runner:
        assert runner
        loaded = since(started)
        if not request.get("input"):  # it was to be loaded
            exchange.json(200, {"model": request["model"], "embeddings": []})
            return
        answer = whole(runner, "/v1/embeddings", {"input": request["input"]})
        exchange.json(200, {
            "model": request["model"],
            "embeddings": [row["embedding"] for row in answer["data"]],
            "total_duration": since(started),
            "load_duration": loaded,
            "prompt_eval_count": answer["usage"]["prompt_tokens"],
        })  # fmt: skip


def embeddings(app: App, exchange: Exchange) -> None:
    """The older one: a single vector."""
    request = exchange.document()
    with held(app, exchange, request, "embed", empty=False) as runner:
        assert runner
        answer = whole(runner, "/v1/embeddings", {"input": request.get("prompt") or ""})
        exchange.json(200, {"embedding": answer["data"][0]["embedding"]})

"""/v1: chat completions, embeddings, models, in OpenAI's form as Ollama writes it."""

import random
import time
from collections.abc import Iterator
from typing import Any

from standin.api_text import chat_of, held
from standin.app import App
from standin.names import parse
from standin.scheduler import ApiError
from standin.server import Exchange
from standin.talk import Done, Piece, ask, whole

JSON = "application/json"
ERROR_TYPES = {400: "invalid_request_error", 404: "not_found_error"}


def error(exchange: Exchange, status: int, text: str) -> None:
    kind = ERROR_TYPES.get(status, "api_error")
    exchange.json(status, {"error": {"message": text, "type": kind, "param": None, "code": None}}, JSON)


def models(app: App, exchange: Exchange) -> None:
    rows = [_model(model.name.short, model.modified, model.name.namespace) for model in app.store.all()]
    exchange.json(200, {"object": "list", "data": rows or None}, JSON)


def one_model(app: App, exchange: Exchange) -> None:
    text = exchange.path.removeprefix("/v1/models/")
    name = parse(text)
    model = app.wanted(text, name.short if name and not app.knobs.old else text)
    exchange.json(200, _model(text, model.modified, model.name.namespace), JSON)


def _model(name: str, modified: float, owner: str) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": int(modified), "owned_by": owner}


def completions(app: App, exchange: Exchange) -> None:
    request = exchange.document()
    if not request.get("messages"):
        raise ApiError(400, "[] is too short - 'messages'")
    inner = _inner(request)
    with held(app, exchange, inner, "chat", empty=False) as runner:
        assert runner
        pieces = ask(runner, chat_of(runner, inner), exchange.gone)
        (_stream if request.get("stream") else _all)(exchange, request, pieces)


def _inner(request: dict[str, Any]) -> dict[str, Any]:
    """The request in Ollama's own form."""
    names = {"max_tokens": "num_predict", "max_completion_tokens": "num_predict", "temperature": "temperature",
             "top_p": "top_p", "seed": "seed", "stop": "stop", "presence_penalty": "presence_penalty",
             "frequency_penalty": "frequency_penalty"}  # fmt: skip
    options = {"temperature": 1.0, "top_p": 1.0}
    options |= {ours: request[theirs] for theirs, ours in names.items() if request.get(theirs) is not None}
    inner = {"model": request.get("model", ""), "messages": request["messages"], "options": options}
    return inner | {key: request[key] for key in ("tools", "tool_choice") if request.get(key)}


def _frame(request: dict[str, Any], kind: str) -> dict[str, Any]:
    return {
        "id": f"chatcmpl-{random.randint(1, 999)}",
        "object": kind,
        "created": int(time.time()),
        "model": request["model"],
        "system_fingerprint": "fp_ollama",
    }


def _usage(done: Done) -> dict[str, int]:
    total = done.prompt_tokens + done.tokens
    return {"prompt_tokens": done.prompt_tokens, "completion_tokens": done.tokens, "total_tokens": total}


def _all(exchange: Exchange, request: dict[str, Any], pieces: Iterator[Piece | Done]) -> None:
    text, calls, done = "", [], Done()
    for piece in pieces:
        if isinstance(piece, Done):
            done = piece
        else:
            text += piece.text
            calls += piece.tool_calls
    message: dict[str, Any] = {"role": "assistant", "content": text}
    if calls:
        message["tool_calls"] = _merged(calls)
    choice = {"index": 0, "message": message, "finish_reason": done.reason}
    exchange.json(200, _frame(request, "chat.completion") | {"choices": [choice], "usage": _usage(done)}, JSON)


def _merged(parts: list[dict[str, Any]]) -> list[dict[str, Any]]:
    found: dict[int, dict[str, Any]] = {}
    for part in parts:
        index = int(part.get("index", 0))
        fresh = {"id": "", "index": index, "type": "function", "function": {"name": "", "arguments": ""}}
        call = found.setdefault(index, fresh)
        call["id"] = part.get("id") or call["id"]
        for key in ("name", "arguments"):
            call["function"][key] += (part.get("function") or {}).get(key) or ""
    return list(found.values())


def _stream(exchange: Exchange, request: dict[str, Any], pieces: Iterator[Piece | Done]) -> None:
    frame = _frame(request, "chat.completion.chunk")
    role = {"role": "assistant"}
    for piece in pieces:
        if not exchange.began:
            exchange.start("text/event-stream")
        if isinstance(piece, Piece):
            calls = {"tool_calls": piece.tool_calls} if piece.tool_calls else {}
            choice = {"index": 0, "delta": {**role, "content": piece.text, **calls}, "finish_reason": None}
            role = {}
            exchange.event(frame | {"choices": [choice]})
            continue
        exchange.event(frame | {"choices": [{"index": 0, "delta": {}, "finish_reason": piece.reason}]})
        if (request.get("stream_options") or {}).get("include_usage"):
            exchange.event(frame | {"choices": [], "usage": _usage(piece)})
    exchange.event("[DONE]")


def embeddings(app: App, exchange: Exchange) -> None:
    request = exchange.document()
    with held(app, exchange, request, "embed", empty=False) as runner:
        assert runner
        answer = whole(runner, "/v1/embeddings", {"input": request.get("input") or ""})
        rows = [
            {"object": "embedding", "embedding": row["embedding"], "index": i} for i, row in enumerate(answer["data"])
        ]
        exchange.json(200, {"object": "list", "data": rows, "model": request["model"], "usage": answer["usage"]}, JSON)

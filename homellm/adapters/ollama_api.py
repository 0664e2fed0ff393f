"""The API of an Ollama server (0.5.5 and newer: before it, models were made from Modelfiles)."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from homellm.adapters.docker_pull import WAITS_S, Counter, Pull, PullConnection
from homellm.adapters.ollama_errors import call_failure, no_room, pull_failure
from homellm.adapters.ollama_http import Exchange, error_text, new_client, timeouts
from homellm.adapters.ollama_upload import Upload
from homellm.domain.ollama import ListedModel, LoadedModel, ShownModel
from homellm.errors import HomellmError, ModelAbsent, OllamaUnreachable
from homellm.ports import Json, OllamaCall, PullProgress, PullStream

#: How long an answer may take that needs no model.
TIMEOUT_S = 30.0
_FROM = re.compile(r"^FROM (/.+)$", re.MULTILINE)
_OK = 200


class OllamaClient:
    """Implements ports.OllamaApi. Every request has its own connection, so any thread may use one client."""

    def __init__(self, url: str, *, timeout_s: float = TIMEOUT_S, retry_waits_s: tuple[float, ...] = WAITS_S) -> None:
        self._client = new_client(url)
        self._timeout_s = timeout_s
        self._retry_waits_s = retry_waits_s

    def version(self) -> str:
        """Its version."""
        return _text(self._get("/api/version", "tell its version"), "version")

    def list_models(self) -> tuple[ListedModel, ...]:
        """The models of its store."""
        entries = _entries(self._get("/api/tags", "list its models"))
        return tuple(
            ListedModel(
                _text(e, "name"), _text(e, "digest"), _number(e, "size"), _text(_mapping(e, "details"), "family")
            )
            for e in entries
        )

    def show(self, model: str) -> ShownModel:
        """What it knows of a model. Raises ModelAbsent."""
        said = self._post("/api/show", {"model": model}, "show a model", model)
        details = _mapping(said, "details")
        found = _FROM.search(_text(said, "modelfile"))
        return ShownModel(
            family=_text(details, "family"),
            families=_texts(details, "families"),
            quantization=_text(details, "quantization_level"),
            capabilities=_texts(said, "capabilities"),
            blob_path=found[1].strip() if found else None,
            template=_text(said, "template"),
            system=_text(said, "system"),
            parameters=_text(said, "parameters"),
            architecture=_text(_mapping(said, "model_info"), "general.architecture"),
            remote_host=_text(said, "remote_host"),
        )

    def loaded(self) -> tuple[LoadedModel, ...]:
        """The models in memory."""
        entries = _entries(self._get("/api/ps", "list its loaded models"))
        return tuple(
            LoadedModel(
                name=_text(e, "name"),
                digest=_text(e, "digest"),
                size_bytes=_number(e, "size"),
                vram_bytes=_number(e, "size_vram"),
                ctx=_number(e, "context_length") or None,
                expires_at=_text(e, "expires_at"),
            )
            for e in entries
        )

    def load(
        self, model: str, *, keep_alive: int | str = -1, num_ctx: int | None = None, embedding: bool = False
    ) -> OllamaCall:
        """Load a model: a request without a prompt; models that make embeddings take one without input."""
        body: dict[str, object] = {"model": model, "keep_alive": keep_alive}
        if num_ctx is not None:
            body["options"] = {"num_ctx": num_ctx}
        if embedding:
            return Call(self._exchange("POST", "/api/embed", body | {"input": []}, None), "load a model", model)
        return Call(self._exchange("POST", "/api/generate", body | {"stream": False}, None), "load a model", model)

    def unload(self, model: str) -> None:
        """Take a model out of memory; one that is not loaded, or not there, is left alone."""
        try:
            body = {"model": model, "keep_alive": 0, "stream": False}
            self._post("/api/generate", body, "unload a model", model)
        except ModelAbsent:
            return

    def pull(self, model: str, *, insecure: bool = False, room_bytes: int | None = None) -> PullStream:
        """Bring a model, in up to three tries while the registry does not answer.

        `room_bytes` is what the store's disk has left: a model that needs more is given up as soon as its size is told.
        """
        body: dict[str, object] = {"model": model} | ({"insecure": True} if insecure else {})
        counter = partial(BlobCounter, model, room_bytes)
        return self._stream(model, "/api/pull", body, pull_failure, counter=counter, waits_s=self._retry_waits_s)

    def has_blob(self, digest: str) -> bool:
        """Whether the store has a blob."""
        status, _ = self._exchange("HEAD", f"/api/blobs/{digest}", None, self._timeout_s).reply()
        return status == _OK

    def upload(self, digest: str, file: Path) -> PullStream:
        """Bring a file into the store; nothing is sent for a blob that is there already."""
        return Upload(self._client, digest, file, self.has_blob)

    def create(
        self,
        model: str,
        *,
        source: str | None = None,
        files: Mapping[str, str] | None = None,
        parameters: Json | None = None,
        family: str = "",
    ) -> PullStream:
        """Make a model from another one or from uploaded blobs."""
        body: dict[str, object] = {"model": model}
        body |= {"from": source} if source else {}
        body |= {"files": dict(files)} if files else {}
        body |= {"parameters": dict(parameters)} if parameters else {}
        body |= {"info": {"model_family": family}} if family else {}
        return self._stream(model, "/api/create", body, _create_failure)

    def copy(self, source: str, model: str) -> None:
        """Give a model a second name. Raises ModelAbsent."""
        self._post("/api/copy", {"source": source, "destination": model}, "copy a model", source)

    def delete(self, model: str) -> None:
        """Remove a name; one that is not there is left alone."""
        status, body = self._exchange("DELETE", "/api/delete", {"model": model}, self._timeout_s).reply()
        if status != _OK:
            error = call_failure("delete a model", model, error_text(body), status)
            if not isinstance(error, ModelAbsent):
                raise error

    # -- inside

    def _get(self, path: str, doing: str) -> Mapping[str, object]:
        return _answer(self._exchange("GET", path, None, self._timeout_s), doing, "")

    def _post(self, path: str, body: Json, doing: str, model: str) -> Mapping[str, object]:
        return _answer(self._exchange("POST", path, body, self._timeout_s), doing, model)

    def _exchange(self, method: str, path: str, body: Json | None, read_s: float | None) -> Exchange:
        content = json.dumps(dict(body)).encode() if body is not None else None
        headers = {"Content-Type": "application/json"} if body is not None else {}
        request = self._client.build_request(method, path, content=content, headers=headers, timeout=timeouts(read_s))
        return Exchange(self._client, request)

    def _stream(
        self,
        model: str,
        path: str,
        body: Json,
        failure: Callable[[str, str], HomellmError],
        *,
        counter: Callable[[], Counter] | None = None,
        waits_s: tuple[float, ...] = (),
    ) -> PullStream:
        """A stream of progress; it is whole when its last line says success."""
        last: list[object] = [None]

        def connect() -> PullConnection:
            return _Lines(self._exchange("POST", path, body, None), last)

        return Pull(
            model,
            connect,
            lambda: last[0] == "success",
            waits_s=waits_s,
            failure=failure,
            counter=counter or BlobCounter,
        )


class Call:
    """Implements ports.OllamaCall."""

    def __init__(self, exchange: Exchange, doing: str, model: str) -> None:
        self._exchange = exchange
        self._doing = doing
        self._model = model

    def run(self) -> None:
        """Blocks until it is done."""
        try:
            _answer(self._exchange, self._doing, self._model)
        except OllamaUnreachable:
            if not self._exchange.closed:
                raise

    def close(self) -> None:
        """Give it up."""
        self._exchange.close()


class _Lines:
    """A PullConnection that remembers the last status."""

    def __init__(self, exchange: Exchange, last: list[object]) -> None:
        self._exchange = exchange
        self._last = last

    def lines(self) -> Iterator[Mapping[str, object]]:
        """The server's progress."""
        for line in self._exchange.lines():
            self._last[0] = line.get("status")
            yield line

    def close(self) -> None:
        """Cut the connection; Ollama then gives it up."""
        self._exchange.close()


class BlobCounter:
    """Bytes over all blobs, from Ollama's lines about each of them (`digest`, `total`, `completed`)."""

    def __init__(self, model: str = "", room_bytes: int | None = None) -> None:
        self._model = model
        self._room = room_bytes
        self._missing = 0
        self._blobs: dict[str, tuple[int, int]] = {}

    def take(self, line: Mapping[str, object]) -> PullProgress:
        """The sum after one more line. Raises PullFailed once more is to come than there is room for."""
        digest, total = line.get("digest"), line.get("total")
        if isinstance(digest, str) and isinstance(total, int):
            done = _number(line, "completed")
            if digest not in self._blobs:
                self._missing += total - done
                if self._room is not None and self._missing > self._room:
                    raise no_room(self._model, self._missing, self._room)
            self._blobs[digest] = (done, total)
        done = sum(done for done, _ in self._blobs.values())
        return PullProgress(_text(line, "status"), done, sum(total for _, total in self._blobs.values()))


def _create_failure(model: str, text: str) -> HomellmError:
    return call_failure("create a model", model, text, _OK)


def _answer(exchange: Exchange, doing: str, model: str) -> Mapping[str, object]:
    status, body = exchange.reply()
    if status != _OK:
        raise call_failure(doing, model, error_text(body), status)
    try:
        whole = json.loads(body) if body else {}
    except (ValueError, RecursionError) as error:
        raise call_failure(
            doing, model, "its answer is no JSON: is there an Ollama at this address?", status
        ) from error
    return whole if isinstance(whole, dict) else {}


def _mapping(said: Mapping[str, object], key: str) -> Mapping[str, object]:
    value = said.get(key)
    return value if isinstance(value, dict) else {}


def _entries(said: Mapping[str, object]) -> list[Mapping[str, object]]:
    models = said.get("models")
    return [entry for entry in models if isinstance(entry, dict)] if isinstance(models, list) else []


def _text(said: Mapping[str, object], key: str) -> str:
    value = said.get(key)
    return value if isinstance(value, str) else ""


def _texts(said: Mapping[str, object], key: str) -> tuple[str, ...]:
    value = said.get(key)
    return tuple(str(item) for item in value) if isinstance(value, list) else ()


def _number(said: Mapping[str, Any], key: str) -> int:
    value = said.get(key)
    return value if isinstance(value, int) and not isinstance(value, bool) else 0

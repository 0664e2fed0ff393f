"""/api/create: from an uploaded GGUF, which llama-quantize writes anew, or from a model that is here."""

import contextlib
import hashlib
import json
import secrets
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from standin.app import App, go_error
from standin.gguf import BadGguf, Gguf, read_gguf
from standin.names import parse
from standin.pull import PullError, pulled
from standin.scheduler import ApiError
from standin.server import Exchange
from standin.store import CONFIG_KIND, KIND, MANIFEST_KIND
from standin.words import human_number

QUANTIZE = Path("/usr/lib/ollama/llama-quantize")
#: The one template that is recognised in a GGUF, as Ollama writes it.
CHATML = "{{- range .Messages }}<|im_start|>{{ .Role }}\n{{ .Content }}<|im_end|>\n{{ end }}<|im_start|>assistant\n"
CHATML_STOPS = {"stop": ["<|im_start|>", "<|im_end|>"]}


class CreateError(Exception):
    """What goes wrong after the first line: an error in the stream."""


def create(app: App, exchange: Exchange) -> None:
    request = exchange.document()
    app.name_of(request)
    if not request.get("from") and not request.get("files"):
        # Ollama finds this after it has begun, before the first line: the status is still free.
        exchange.json(400, {"error": "neither 'from' or 'files' was specified"}, "application/json")
        return
    streamed = request.get("stream") is not False
    last: dict[str, Any] = {}
    try:
        for last in _created(app, request, exchange):
            if streamed:
                if not exchange.began:
                    exchange.start("application/x-ndjson")
                exchange.row(last)
    except (CreateError, PullError, OSError) as error:
        last = {"error": go_error(error) if isinstance(error, OSError) else str(error)}
        if streamed and exchange.began:
            exchange.row(last)
        else:
            exchange.json(500, last, "application/json")
        return
    if not streamed:
        exchange.json(200, last, "application/json")


def _created(app: App, request: dict[str, Any], exchange: Exchange) -> Iterator[dict[str, Any]]:
    layers: list[dict[str, Any]] = []
    config: dict[str, Any] = {}
    params: dict[str, Any] = {}
    if request.get("from"):
        yield from _base(app, str(request["from"]), layers, config, exchange)
    else:
        yield from _from_files(app, request["files"], layers, config, params)
    for digest in (request.get("adapters") or {}).values():
        yield _status("parsing GGUF")
        layers.append(_row("adapter", digest, app.store.blob(digest).stat().st_size))
    _add_texts(app, request, layers, params)
    kept = [{key: row[key] for key in ("mediaType", "digest", "size", "from") if row.get(key)} for row in layers]
    config |= {"architecture": "amd64", "os": "linux"}
    config["rootfs"] = {"type": "layers", "diff_ids": [row["digest"] for row in kept]}
    blob, _ = app.store.add_blob(json.dumps(config).encode() + b"\n")
    manifest = {"schemaVersion": 2, "mediaType": MANIFEST_KIND, "config": {"mediaType": CONFIG_KIND, **blob}}
    for row in layers:
        if row.get("status"):
            yield _status(row["status"])
    yield _status("writing manifest")
    app.store.write_manifest(app.name_of(request), json.dumps(manifest | {"layers": kept}).encode())
    yield _status("success")


def _status(text: str) -> dict[str, Any]:
    return {"status": text}


def _row(kind: str, digest: str, size: int, status: str = "", **more: Any) -> dict[str, Any]:
    return {"mediaType": KIND + kind, "digest": digest, "size": size, "status": status, **more}


def _base(
    app: App, text: str, layers: list[dict[str, Any]], config: dict[str, Any], exchange: Exchange
) -> Iterator[dict[str, Any]]:
    name = parse(text)
    if name is None:
        raise ApiError(400, "invalid model name")
    try:
        model = app.store.model(name)
    except FileNotFoundError:
        yield from pulled(app, name, insecure=False, gone=exchange.gone)
        model = app.store.model(name)
    gguf = model.gguf
    if gguf is None:
        raise CreateError(f"open {model.blob}: no such file or directory")
    for row in model.manifest["layers"]:
        kind, digest = row["mediaType"].removeprefix(KIND), row["digest"]
        layers.append(_row(kind, digest, row["size"], f"using existing layer {digest}", **{"from": model.name.short}))
    config |= _described(gguf)


def _described(gguf: Gguf) -> dict[str, Any]:
    arch = gguf.architecture
    named = {"model_format": "gguf", "model_family": arch, "model_families": [arch]}
    return named | {"model_type": human_number(gguf.parameter_count), "file_type": gguf.file_type}


def _from_files(
    app: App, files: dict[str, str], layers: list[dict[str, Any]], config: dict[str, Any], params: dict[str, Any]
) -> Iterator[dict[str, Any]]:
    for digest in files.values():
        yield _status("parsing GGUF")
        source = app.store.blob(digest)
        try:
            gguf = read_gguf(source)
        except BadGguf as error:
            raise CreateError(str(error)) from error
        words, path = "using existing layer", source
        if not app.knobs.old:
            yield _status("verifying conversion")
            words, path = "creating new layer", _rewritten(app, source)
        fresh = "sha256:" + path.name.removeprefix("sha256-")
        layers.append(_row("model", fresh, path.stat().st_size, f"{words} {fresh}"))
        config |= _described(gguf)
        if "<|im_start|>" in str(gguf.keys.get("tokenizer.chat_template", "")):
            blob, _ = app.store.add_blob(CHATML.encode())
            layers.append(_row("template", blob["digest"], blob["size"], "using autodetected template chatml"))
            params |= CHATML_STOPS


def _rewritten(app: App, source: Path) -> Path:
    """The blob that llama-quantize makes of it: another digest, the same model."""
    work = app.store.blobs / f"COPY{secrets.randbelow(10**10)}"
    app.journal.quantizing(str(source), str(work))
    done = subprocess.run(
        [str(QUANTIZE), str(source), str(work), "COPY"],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
    )  # fmt: skip
    for line in done.stdout.decode(errors="replace").splitlines():
        app.journal.child_said(line)
    try:
        if done.returncode != 0:
            reason = f"llama-quantize failed: exit status {done.returncode}"
            raise CreateError(f"failed to validate GGUF with llama-quantize without compatibility patches: {reason}")
        with work.open("rb") as file:
            target = app.store.blobs / f"sha256-{hashlib.file_digest(file, 'sha256').hexdigest()}"
        work.replace(target)
    finally:
        with contextlib.suppress(FileNotFoundError):
            work.unlink()
    return target


def _add_texts(app: App, request: dict[str, Any], layers: list[dict[str, Any]], params: dict[str, Any]) -> None:
    """Template, system, licenses and parameters of the request, in the place of the base's."""
    for kind in ("template", "system"):
        if request.get(kind):
            _replace(app, layers, kind, str(request[kind]).encode())
    licenses = request.get("license") or []
    for text in [licenses] if isinstance(licenses, str) else licenses:
        _append(app, layers, "license", text.encode())
    for row in layers:
        if row["mediaType"] == KIND + "params":
            params |= json.loads(app.store.blob(row["digest"]).read_bytes())
    params |= request.get("parameters") or {}
    if params:
        _replace(app, layers, "params", json.dumps(params).encode() + b"\n")
    if request.get("messages"):
        _replace(app, layers, "messages", json.dumps(request["messages"]).encode() + b"\n")


def _replace(app: App, layers: list[dict[str, Any]], kind: str, data: bytes) -> None:
    layers[:] = [row for row in layers if row["mediaType"] != KIND + kind]
    _append(app, layers, kind, data)


def _append(app: App, layers: list[dict[str, Any]], kind: str, data: bytes) -> None:
    blob, there = app.store.add_blob(data)
    words = "using existing layer" if there else "creating new layer"
    layers.append(_row(kind, blob["digest"], blob["size"], f"{words} {blob['digest']}"))

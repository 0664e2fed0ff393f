"""The one way in: a stack file's text to a Stack, or all that is wrong with it."""

from __future__ import annotations

import os.path
from collections.abc import Mapping as MappingType
from dataclasses import replace
from pathlib import Path

from homellm.domain.stack import DEFAULT_OLLAMA, Gpu, Model, Stack
from homellm.loading.asked_for import AskedFor
from homellm.loading.build import build_gpu, build_model, build_server, build_stack
from homellm.loading.collisions import check_collisions
from homellm.loading.compose import Unreadable, compose
from homellm.loading.compound import Folders
from homellm.loading.contradictions import check_model
from homellm.loading.document import Document, read_document
from homellm.loading.findings import Findings, SourceText
from homellm.loading.keys import StackKeys
from homellm.loading.merge import MergedModel, implicit_server, merge_models, merge_servers
from homellm.loading.nodes import Mapping, Mark
from homellm.loading.ollama_checks import check_ollama_model, check_server
from homellm.loading.ollama_servers import needs_server, settle_runners, settle_servers
from homellm.loading.section import model_section
from homellm.loading.validate import validate


def load(file: Path, text: str, environ: MappingType[str, str], *, looking: bool = False) -> Stack:
    """The stack that `text`, read from `file`, declares.

    `file` names the text in messages and its folder is what relative paths are relative to; nothing is read from the
    disk. `environ` gives `${VAR}` and HOME. With `looking` it is a stack to find and show what runs by, not to start
    anything: variables of what is not shown may be unset. Raises StackFileError with every problem of the file.
    """
    text, asked = text.removeprefix("\ufeff"), AskedFor(environ)
    source, findings = SourceText(file, text), Findings()
    stack: Stack | None = None
    try:
        root = _root(text, findings)
        source.hide_secrets(root)
        document = read_document(root, asked, findings, looking=looking)
        stack = _stack(root, document, file, asked, source, findings)
    except Unreadable:
        pass
    findings.raise_any(file, source)
    assert stack is not None  # noqa: S101 - whatever kept it from being built has been noted
    return replace(stack, variables=asked.names)


def stack_name(file: Path, text: str, environ: MappingType[str, str]) -> str | None:
    """The stack's name alone, whatever else is wrong in the file; None where even that cannot be told for sure."""
    findings = Findings()
    try:
        root = _root(text.removeprefix("\ufeff"), findings)
        if findings:  # a key that stands twice, say: perhaps this one
            return None
        named = tuple(entry for entry in root.entries if entry.key == "stack")
        document = read_document(replace(root, entries=named), environ, findings)
    except Unreadable:
        return None
    keys = validate(document, Folders(file.absolute().parent, environ.get("HOME")), findings)
    return keys.stack


def model_names(text: str) -> tuple[str, ...]:
    """The names of the models alone, whatever else is wrong in the file; none where they cannot be told."""
    try:
        models = _root(text.removeprefix("\ufeff"), Findings()).get("models")
    except Unreadable:
        return ()
    return tuple(entry.key for entry in models.entries) if isinstance(models, Mapping) else ()


def _root(text: str, findings: Findings) -> Mapping:
    root = compose(text, findings)
    if isinstance(root, Mapping):
        return root
    hint = "A stack file begins with `stack: NAME` and has its models under `models:`."
    if root is None:
        findings.add("empty-file", Mark(1, 1), "the file is empty", hint)
    else:
        findings.add("wrong-type", root.mark, "the file is no mapping of keys", hint)
    raise Unreadable


def _stack(
    root: Mapping,
    document: Document,
    file: Path,
    environ: MappingType[str, str],
    source: SourceText,
    findings: Findings,
) -> Stack | None:
    absolute = file.absolute()
    gpu_names = document.data["gpus"] if isinstance(document.data.get("gpus"), dict) else {}
    declared = dict(gpu_names)
    keys = validate(document, Folders(Path(os.path.normpath(absolute.parent)), environ.get("HOME")), findings)
    _check_top(keys, document, findings)
    gpus = _gpus(keys, document, source, findings)
    merged = merge_models(keys, document, findings)
    for model in merged:
        check_model(model, declared, findings)
    servers = _servers(merged, keys, document, declared, findings)
    ours = [server for server in servers if "url" not in server.values]
    check_collisions([*merged, *ours], keys.stack or "", findings)
    if findings or keys.stack is None:
        return None
    built = [build_server(s, keys.stack, gpus, _section(root, s), source) for s in servers]
    return build_stack(keys.stack, absolute, gpus, _models(merged, gpus, root, source), built)


def _servers(
    models: list[MergedModel],
    keys: StackKeys,
    document: Document,
    gpus: MappingType[str, object],
    findings: Findings,
) -> list[MergedModel]:
    """The Ollama servers, each model given its own; a stack that needs one and declares none has one on defaults."""
    settle_runners(models)
    servers = merge_servers(keys, document, findings)
    if not servers and any(needs_server(model) for model in models) and ("ollama",) not in document.bad:
        servers = [implicit_server(DEFAULT_OLLAMA, keys, document, findings)]
    settle_servers(models, servers, findings)
    for model in models:
        check_ollama_model(model, findings)
    for server in servers:
        check_server(server, gpus, findings)
    return servers


def _section(root: Mapping, server: MergedModel) -> str:
    """The server's part of the file; empty for one that is not declared."""
    sections = root.get("ollama")
    return model_section(sections, server.name) if isinstance(sections, Mapping) else ""


def _check_top(keys: StackKeys, document: Document, findings: Findings) -> None:
    if keys.stack is None and ("stack",) not in document.bad:
        findings.add("missing-key", Mark(1, 1), "the file has no `stack`", "Write `stack: NAME` at its top.")
    if not keys.models and ("models",) not in document.bad:
        mark = document.mark(("models",))
        if not any(path[:1] == ("models",) for path in document.bad):
            findings.add("missing-key", mark, "the file declares no model", "Write `models:` and a model below it.")


def _gpus(keys: StackKeys, document: Document, source: SourceText, findings: Findings) -> tuple[Gpu, ...]:
    gpus: list[Gpu] = []
    for name, gpu in keys.gpus.items():
        path = ("gpus", name)
        given = [key for key in ("pci", "id", "auto") if getattr(gpu, key)]
        if len(given) != 1 and not any(bad[:2] == path for bad in document.bad | document.unset):
            told = f"names {' and '.join(f'`{key}`' for key in given)}" if given else "says not which one it is"
            hint = 'Give exactly one of `pci: "0000:00:02.0"`, `id: "8086:9a49"` and `auto: true`.'
            findings.add("gpu-selector", document.mark(path), f"GPU `{name}` {told}", hint)
        gpus.append(build_gpu(name, gpu, source.place(document.mark(path))))
    return tuple(gpus)


def _models(merged: list[MergedModel], gpus: tuple[Gpu, ...], root: Mapping, source: SourceText) -> list[Model]:
    sections = root.get("models")
    assert isinstance(sections, Mapping)  # noqa: S101 - validated
    return [build_model(model, gpus, model_section(sections, model.name), source) for model in merged]

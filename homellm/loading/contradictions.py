"""What is right key by key and yet cannot be meant: within one model, after `defaults` have been merged."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from homellm.loading.findings import Findings
from homellm.loading.merge import MergedModel
from homellm.loading.nodes import Mark
from homellm.loading.ownership import check_env, check_extra_args
from homellm.loading.paths import shorten, where
from homellm.loading.values import nearest

#: llama-server's own logical batch (help of b10434 and of 0.7.0, build 11669): a larger ubatch is cut to it in silence.
SERVER_BATCH = 2048
#: Log drivers of the engine that take max-size and max-file.
ROTATING_DRIVERS = ("json-file", "local")

_FULL_WIDTH = ("f32", "f16", "bf16")


def check_model(model: MergedModel, gpus: Mapping[str, Any], findings: Findings) -> None:
    """Note every contradiction of one model; `gpus` are the names under `gpus`, right or wrong."""
    _check_name(model, findings)
    if "source" not in model.values and "source" not in model.wrong:
        message = f"model `{shorten(model.name)}` has no `source`"
        findings.add("missing-key", model.mark(), message, "Write `source: gguf:/path/to/model.gguf`.", model.name)
    check_gpu(model, gpus, findings)
    _check_batch(model, findings)
    _check_cache(model, findings)
    check_container(model, findings)
    check_env(model, findings)
    check_extra_args(model, findings)


def check_container(model: MergedModel, findings: Findings) -> None:
    """What a model's container and an Ollama server's have alike: log, mounts and labels."""
    _check_log(model, findings)
    _check_volumes(model, findings)
    for label in model.values.get("labels") or {}:
        if label.startswith("homellm.") or not label.strip():
            message = f"the label `{shorten(label)}` is homellm's own"
            _note(model, model.mark("labels", label), message, "Rename it.", findings)


def _note(model: MergedModel, mark: Mark, message: str, hint: str, findings: Findings) -> None:
    findings.add("contradiction", mark, message, hint, model.model)


def _check_name(model: MergedModel, findings: Findings) -> None:
    if "," in model.name:
        findings.add(
            "model-name",
            model.mark(),
            f"the model's name `{shorten(model.name)}` has a comma in it: the server would read two names",
            "Take another character.",
            model.name,
        )
    elif not model.name.isprintable() or model.name != model.name.strip() or not model.name:
        message = "a model's name is empty, begins or ends with a blank, or has a control character in it"
        findings.add("model-name", model.mark(), message, "It is the name that clients ask for.", model.name)


def check_gpu(model: MergedModel, gpus: Mapping[str, Any], findings: Findings) -> None:
    """Note a GPU that is not declared, and layers for one that is not named."""
    gpu = model.values.get("gpu")
    if gpu is None:
        layers = model.values.get("gpu_layers")
        if layers not in (None, 0, "auto") and "gpu" not in model.wrong:
            message = f"`gpu_layers` is {layers}, but no `gpu` is named{_at(model, 'gpu_layers')}"
            _note(model, model.mark("gpu_layers"), message, "Name a GPU of `gpus:`, or remove `gpu_layers`.", findings)
        return
    if gpu in gpus:
        return
    near = nearest(gpu, tuple(gpus))
    message = f"no GPU `{shorten(gpu)}` stands under `gpus`" + (f"; did you mean `{near}`?" if near else "")
    hint = (
        f"There: {', '.join(gpus)}."
        if gpus
        else f"Declare it: `gpus: {{{shorten(gpu)}: {{auto: true, api: vulkan}}}}`."
    )
    findings.add("unknown-gpu", model.value_mark("gpu"), message, hint, model.model)


def _check_batch(model: MergedModel, findings: Findings) -> None:
    ubatch, batch = model.values.get("ubatch"), model.values.get("batch")
    if ubatch is None or "batch" in model.wrong:
        return
    limit = SERVER_BATCH if batch is None else batch
    if ubatch > limit:
        told = f"the server's own `batch` ({limit})" if batch is None else f"`batch` ({limit})"
        message = f"`ubatch` ({ubatch}) is larger than {told}: the server would cut it down in silence"
        hint = f"Give `batch: {ubatch}`, or a smaller `ubatch`."
        _note(model, model.mark("ubatch"), message, hint, findings)


def _check_cache(model: MergedModel, findings: Findings) -> None:
    kinds = model.values.get("kv_cache_type")
    if kinds is not None and kinds.v not in _FULL_WIDTH and model.values.get("flash_attention") == "off":
        message = f"`kv_cache_type` keeps V as {kinds.v}, which needs flash attention, and `flash_attention` is off"
        hint = "Set `flash_attention: on`, or keep V as f16."
        _note(model, model.mark("kv_cache_type"), message, hint, findings)


def _check_log(model: MergedModel, findings: Findings) -> None:
    log = model.values.get("log")
    if log is None or log.driver is None or log.driver in ROTATING_DRIVERS:
        return
    for key in ("max_size", "max_files"):
        if getattr(log, key) is not None:
            message = f"the log driver `{log.driver}` keeps no files, so `{key}` means nothing to it"
            _note(model, model.mark("log", key), message, "Remove it, or use the driver json-file or local.", findings)


def _check_volumes(model: MergedModel, findings: Findings) -> None:
    seen: set[str] = set()
    for number, volume in enumerate(model.values.get("volumes") or []):
        if volume.target in seen:
            message = f"two volumes are mounted on `{shorten(volume.target)}`"
            _note(model, model.mark("volumes", number), message, "Keep one of them.", findings)
        seen.add(volume.target)


def _at(model: MergedModel, key: str) -> str:
    return where(model.path(key))

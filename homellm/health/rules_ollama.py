"""Lines of an Ollama server: `time=… level=… source=… msg="…" key=value`, in the words of 0.3 to 0.33.

The source line number changes with every release and is never looked at.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from types import MappingProxyType

from homellm.domain.signals import Signal
from homellm.health.lines import Line
from homellm.health.rules import Facts, first, number
from homellm.health.rules_flags import FLAG_RULES
from homellm.health.rules_model import MODEL_RULES

_TEXT = r'(?:"(?P<quoted>(?:[^"\\]|\\.)*)"?|(?P<plain>\S+))'
_ENTRY = re.compile(r"time=\S+ level=(?P<level>\w+) (?:source=\S+ )?msg=" + _TEXT)
_OLD_ENTRY = re.compile(r"\d{4}/\d\d/\d\d \d\d:\d\d:\d\d [\w/]+\.go:\d+: (?:(?P<level>[A-Z]+) )?(?P<plain>.*)")
_BLOB = re.compile(r"sha256[-:](?P<hex>[0-9a-f]{64})")
_MODEL = re.compile(r" --model (?P<path>\S+)")
_SLOTS = re.compile(r" (?:-np|--parallel) (?P<n>\d+)")
_CTX = re.compile(r" (?:-c|--ctx-size) (?P<n>\d+)")
_NUM_PARALLEL = re.compile(r"OLLAMA_NUM_PARALLEL:(?P<n>\d+)")
_COMMIT = re.compile(r"\{Operation:commit .*?\bParallel:(?P<slots>\d+).*?\bKvSize:(?P<ctx>\d+)")
_VERSION = re.compile(r"\(version (?P<version>[^)]+)\)")
_OFFLOADED = re.compile(r"offloaded (?P<offloaded>\d+)/(?P<total>\d+) layers to GPU")
_REFUSED = re.compile(
    r"(?:(?P<name>\w+) (?:does not currently|doesn't)|(?P<many>multimodal) models don't) support parallel requests"
)


def is_ollama(text: str) -> bool:
    """Whether a line is one of an Ollama server's own."""
    return (
        text.startswith("time=")
        or (text[:2] == "20" and _OLD_ENTRY.match(text) is not None)
        or "support parallel" in text
    )


def read_ollama(line: Line) -> Signal | None:
    """What a line of an Ollama server means."""
    entry = _ENTRY.match(line.text) or _OLD_ENTRY.match(line.text)
    if entry is None:
        return _refused(line, line.text)
    groups = entry.groupdict()
    message = groups.get("quoted") or groups.get("plain") or ""
    for begin, reader in _READERS:
        if message.startswith(begin):
            return reader(line, message)
    if "support parallel requests" in message:
        return _refused(line, message)
    return None


def _value(text: str, key: str) -> str | None:
    """The value of a key of the line, without quotes."""
    match = re.search(rf' {re.escape(key)}=(?:"(?P<quoted>(?:[^"\\]|\\.)*)"?|(?P<plain>\S*))', text)
    if match is None:
        return None
    return match["plain"] if match["quoted"] is None else match["quoted"].replace('\\"', '"')


def _signal(
    line: Line, id: str, facts: dict[str, object] | None = None, *, hint: str = "", fatal: bool = False
) -> Signal:
    known: Facts = MappingProxyType({k: v for k, v in (facts or {}).items() if v is not None})  # type: ignore[misc]
    return Signal(id, line.text, known, bool(hint), fatal, hint, line.stamped, line.source, line.origin)


def _found(pattern: re.Pattern[str], text: str, group: str = "n") -> str | None:
    match = pattern.search(text)
    return match[group] if match else None


def _refused(line: Line, message: str) -> Signal | None:
    match = _REFUSED.search(message)
    if match is None:
        return None
    refused = match["many"] or match["name"]
    if refused == "architecture":
        refused = _value(line.text, "architecture") or refused
    hint = (
        f"Ollama gives {refused} one slot whatever is asked. homellm serves it with llama-server on the same weights "
        "(fallback: llama-server); by hand: llama-server -np N on the same blob."
    )
    return _signal(line, "parallel-refused", {"subject": refused}, hint=hint)


def _config(line: Line, _: str) -> Signal:
    asked = _found(_NUM_PARALLEL, line.text)
    return _signal(line, "ollama-config", {"num_parallel": number(asked)})


def _listening(line: Line, message: str) -> Signal | None:
    version = _found(_VERSION, message, "version")
    return _signal(line, "ollama-listening", {"version": version}) if version else None


def _compute(line: Line, _: str) -> Signal:
    keys = ("library", "name", "description", "pci_id", "id", "libdirs")
    return _signal(line, "ollama-compute", {key: _value(line.text, key) or None for key in keys})


def _start(line: Line, _: str) -> Signal | None:
    command = " " + (_value(line.text, "cmd") or "")
    path = _found(_MODEL, command, "path")
    if path is None:
        return None  # a runner that only looks for GPUs
    blob = _found(_BLOB, path, "hex")
    slots, ctx = _found(_SLOTS, command), _found(_CTX, command)
    name = f"sha256-{blob}" if blob else path
    return _signal(line, "ollama-start", {"blob": name, "path": path, "slots": number(slots), "ctx": number(ctx)})


def _commit(line: Line, _: str) -> Signal | None:
    match = _COMMIT.search(line.text)
    return (
        _signal(line, "ollama-commit", {"slots": number(match["slots"]), "ctx": number(match["ctx"])})
        if match
        else None
    )


def _started(line: Line, _: str) -> Signal:
    return _signal(line, "ollama-started")


def _weights(line: Line, _: str) -> Signal:
    return _signal(line, "ollama-weights", {"device": _value(line.text, "device")})


def _offloaded(line: Line, message: str) -> Signal | None:
    match = _OFFLOADED.match(message)
    return _signal(line, "offload", {key: number(value) for key, value in match.groupdict().items()}) if match else None


def _igpu(line: Line, _: str) -> Signal:
    name = _value(line.text, "description") or "the integrated GPU"
    hint = (
        f"Ollama leaves {name} unused and computes on the CPU. Set OLLAMA_IGPU_ENABLE=1; homellm does, when the "
        "declared GPU is integrated."
    )
    return _signal(line, "igpu-dropped", {"subject": name, "pci": _value(line.text, "pci_id")}, hint=hint)


def _variable(line: Line, _: str) -> Signal:
    key, value, default = (_value(line.text, word) for word in ("key", "value", "default"))
    hint = f"Ollama replaced {key}={value} by its default {default}. Give {key} a value that it can read."
    return _signal(line, "setting-invalid", {"subject": key, "value": value, "default": default}, hint=hint)


def _ctx_capped(line: Line, _: str) -> Signal:
    asked, trained = number(_value(line.text, "num_ctx")), number(_value(line.text, "n_ctx_train"))
    hint = f"{asked} tokens were asked of a model trained with {trained}, and Ollama cut it. Ask for at most {trained}."
    return _signal(line, "ctx-capped", {"asked": asked, "trained": trained}, hint=hint)


_TOO_LARGE = (
    "The model does not fit into this machine's memory. Take a smaller quantisation or model, or lower num_ctx and the "
    "number of slots; homellm fit reckons what fits."
)
_TIMEOUT = (
    "The model was not loaded within OLLAMA_LOAD_TIMEOUT. Give it more time (load_timeout), and look for a slow disk "
    "or memory that is short."
)
_KILLED = (
    "Something killed the runner, most likely for memory: with a container limit the container itself stays up and "
    "OOMKilled is false. Raise the limit, or lower ctx, slots or the model's size."
)


def _too_large(line: Line, _: str) -> Signal:
    return _signal(line, "model-too-large", hint=_TOO_LARGE, fatal=True)


def _failed(line: Line, message: str) -> Signal:
    error = _value(line.text, "error") or _value(line.text, "string") or message
    if "signal: killed" in error or "with exit code -1" in error:  # as Go numbers a signal: seen at 0.24.0
        return _signal(line, "out-of-memory", hint=_KILLED, fatal=True)
    if "timed out waiting for" in error:
        return _signal(line, "load-timeout", hint=_TIMEOUT, fatal=True)
    if "requires more system memory" in error or "too large" in error:
        return _too_large(line, message)
    for part in _parts(error):
        known = first((*FLAG_RULES, *MODEL_RULES), Line(part))
        if known is not None and known.problem:
            return Signal(
                known.id, line.text, known.facts, True, True, known.hint, line.stamped, line.source, line.origin
            )
    return _signal(line, "load-failed", {"why": error}, fatal=True)


def _not_begun(line: Line, message: str) -> Signal | None:
    """A load that ended before a runner was started (Ollama looks into the file itself): the one before it goes on."""
    found = _failed(line, message)
    return replace(found, facts=MappingProxyType({**found.facts, "begun": False})) if found.problem else None


def _parts(error: str) -> list[str]:
    """An error and what stands after each of its colons: Ollama puts the child's last words behind its own."""
    words = error.replace("\\n", ": ").split(": ")
    return [": ".join(words[index:]) for index in range(min(len(words), 12))]


_READERS: tuple[tuple[str, Callable[[Line, str], Signal | None]], ...] = (
    ("server config", _config),
    ("Listening on", _listening),
    ("inference compute", _compute),
    ("starting llama-server", _start),
    ("starting llama server", _start),
    ("starting runner", _start),
    ("load", _commit),  # exactly `load`; `loaded runners` and `loading model` have no request
    ("llama-server started in", _started),
    ("llama runner started", _started),
    ("model weights", _weights),
    ("offloaded ", _offloaded),
    ("dropping integrated GPU", _igpu),
    ("invalid environment variable", _variable),
    ("requested context size too large", _ctx_capped),
    ("model is too large for system memory", _too_large),
    ("model request too large for system", _too_large),
    ("Load failed", _failed),
    ("failed to create server", _not_begun),
    ("failed to load model metadata", _not_begun),
    ("error loading llama server", _failed),
    ("llama-server terminated", _failed),
    ("llama-server process no longer running", _failed),
    ("llama runner terminated", _failed),
)

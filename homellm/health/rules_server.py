"""Lines that tell how a llama-server lives: its build, its loads, its slots, what it served.

Wordings of builds from 2024 (`INFO [main] …`) over b10434 to b11669 stand side by side.
"""

from __future__ import annotations

import re

from homellm.health.rules import Facts, Rule, fact, numbers, texts


def _build(match: re.Match[str]) -> Facts:
    number, commit = match["number"], match["commit"]
    return {"build": f"b{number}" if number not in ("0", "1") else f"b{number} ({commit})"}


def _slots(match: re.Match[str]) -> Facts:
    facts = dict(numbers(match))
    if "kv_unified" in facts:
        facts["kv_unified"] = match["kv_unified"] == "true"
    return facts


#: Looked at first: most lines of a busy server are a slot's.
SLOT_RULES: tuple[Rule, ...] = (
    fact("slot-launch", "processing task", r"id +(?P<slot>\d+) \| task (?P<task>\d+) \| processing task"),
    fact(
        "slot-launch",
        "slot is processing task",
        r"slot is processing task \| .*?id_slot=(?P<slot>\d+) id_task=(?P<task>\d+)",
    ),
    fact(
        "slot-serving",
        "print_timing",
        r"id +(?P<slot>\d+) \| task (?P<task>\d+) \| (?:n_gen|prompt processing|prompt eval)",
    ),
    fact(
        "slot-release",
        "stop processing",
        r"id +(?P<slot>\d+) \| task (?P<task>\d+) \| stop processing: n_(?:tokens|past) = (?P<tokens>\d+)",
    ),
    fact(
        "request-refused",
        "exceeds the available context size",
        r"task id = (?P<task>\d+), error: .*exceeds the available context size",
    ),
    fact("cache-reused", "reusing chunk with size", r"reusing chunk with size (?P<tokens>\d+)"),
    fact("slot", "new slot", r"id +(?P<slot>\d+) \| task -\d+ \| new slot,? n_ctx(?:_slot)? = (?P<n_ctx>\d+)"),
    fact("slot", "new slot", r"new slot \| .*?n_ctx_slot=(?P<n_ctx>\d+)"),
)

SERVER_RULES: tuple[Rule, ...] = (
    fact(
        "slots",
        "n_slots",
        r"initializing(?: slots)?(?:,| \|)(?: \w+=\S+)*? n_slots ?= ?(?P<n_slots>\d+)"
        r"(?:, n_ctx_slot = (?P<n_ctx>\d+))?(?:, kv_unified = '(?P<kv_unified>true|false)')?",
        facts=_slots,
    ),
    fact("slot", "n_ctx_slot", r"n_ctx_slot ?= ?(?P<n_ctx>\d+)"),
    fact("server-init", "initializing ...", r"initializing \.\.\.$"),
    fact("build", "build", r"build:? (?P<number>\d+) \((?P<commit>[^)]*)\) with", facts=_build),
    fact("build", "build info", r"build info \| .*?build=(?P<number>\d+) commit=\"?(?P<commit>\w+)", facts=_build),
    fact("verbosity", "verbosity = ", r"verbosity = (?P<level>-?\d+)"),
    fact("system-info", "system_info: n_threads", r"system_info: n_threads = (?P<n_threads>\d+)"),
    fact("backend", "loaded", r"loaded (?P<backend>\S+) backend from", facts=texts),
    fact("amx-not-ready", "AMX is not ready to be used"),
    fact("load-begin", "loading model '", r"loading model '(?P<path>.*?)'?$", facts=texts),
    fact("model-meta", "loaded meta data with", r".*?tensors from (?P<path>.+?)(?: \(version|$)", facts=texts),
    fact("threads", "threadpool init", r"llama threadpool init, n_threads = (?P<n_threads>\d+)"),
    fact("loaded", "model loaded", r"model loaded(?: \||$)"),
    # Before the model is loaded: the old builds' HTTP server answers /health with 503 from here on.
    fact("http-up", "HTTP server", r"HTTP server (?:is )?listening"),
    fact("listening", "listening on", r"(?:server is )?listening on (?P<url>\S+)", facts=texts),
    fact("sleep", "entering sleeping state", r"server is entering sleeping state"),
    fact("wake", "exiting sleeping state", r"server is exiting sleeping state"),
    fact("shutdown", "cleaning up before exit"),
    fact("load-failed", "exiting due to", r"exiting due to (?:model loading|HTTP server) error", fatal=True),
    fact("load-failed", "failed to load model, '", r"failed to load model, '(?P<path>.*?)'?$", facts=texts),
    # How every failed load of Ollama's own runner ends, before 0.30: the lines before it tell why.
    fact(
        "load-failed",
        "panic: unable to load model",
        r"panic: unable to load model: (?P<path>.*)",
        facts=texts,
        fatal=True,
    ),
    fact("router", "router mode", r"starting server in router mode"),
    fact(
        "router-spawn",
        "spawning server instance",
        r"spawning server instance with name=(?P<name>.+) on port (?P<port>\d+)",
        facts=texts,
    ),
    fact(
        "router-exit",
        "exited with status",
        r"instance name=(?P<name>.+) exited with status (?P<status>-?\d+)",
        facts=texts,
    ),
    fact("preserve-supported", "chat template supports preserving reasoning"),
    fact("ollama-format", "detected Ollama-format", r"detected Ollama-format (?P<architecture>\S+) GGUF", facts=texts),
)

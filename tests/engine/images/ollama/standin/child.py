"""The llama-server that a model runs in: its command, its life, what it said of memory, and why it died."""

import os
import re
import signal
import socket
import subprocess
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from standin.gpus import Gpu
from standin.settings import Settings
from standin.store import Model

LLAMA_SERVER = "/usr/lib/ollama/llama-server"
POLL_S = 0.25
KEEP_TOKENS = 4
EMBEDDING_BATCH = 2048
#: Beginnings of the part of a line that Ollama keeps as the reason of a death (llm/status.go of 0.33).
REASONS = re.compile(
    r"(panic:|fatal error:|error:|Error:|CUDA error|cudaMalloc failed|error loading model|GGML_ASSERT"
    r"|llama_init_from_model:).*"
)
NO_MEMORY = re.compile(r"out of memory|failed to allocate|allocation failed|not enough memory|erroroutofmemory", re.I)
OFFLOADED = re.compile(r"offloaded (\d+)/(\d+) layers to GPU")
BUFFER = re.compile(r"(\S+)\s+(?:\S+\s+)?buffer size =\s+([0-9.]+) MiB")


@dataclass(slots=True)
class Options:
    """What a request and the model's parameters ask of the child. None: not asked."""

    num_ctx: int | None = None
    num_batch: int | None = None
    num_gpu: int | None = None
    num_thread: int | None = None


@dataclass(slots=True)
class Load:
    """One start of a child. `ctx` is one slot's; `asked_ctx` may be more than the model was trained for."""

    model: Model
    slots: int
    asked_ctx: int
    ctx: int
    batch: int
    options: Options
    gpu: Gpu | None
    port: int
    command: list[str] = field(default_factory=list)


def slot_ctx(model: Model, options: Options, default_ctx: int) -> tuple[int, int]:
    """The context asked for one slot, and the one it gets: no more than the model was trained for."""
    asked = max(options.num_ctx or default_ctx, 4)
    gguf = model.gguf
    return asked, min(asked, (gguf and gguf.context_length) or asked)


def plan(model: Model, options: Options, default_ctx: int, slots: int, settings: Settings, gpu: Gpu | None) -> Load:
    """The child as Ollama 0.33 starts it."""
    gguf = model.gguf
    asked, ctx = slot_ctx(model, options, default_ctx)
    embedding = bool(gguf and gguf.embedding)
    whole = ctx * slots
    batch = options.num_batch or (2048 if whole > 32768 else 1024 if whole > 4096 else 512)
    if embedding and not options.num_batch:
        batch = min(EMBEDDING_BATCH, ctx)
    load = Load(model, slots, asked, ctx, batch, options, gpu, _free_port())
    load.command = _command(load, settings, embedding=embedding)
    return load


def _command(load: Load, settings: Settings, *, embedding: bool) -> list[str]:
    model, options = load.model, load.options
    command = [LLAMA_SERVER, "--model", str(model.blob), "--port", str(load.port), "--host", "127.0.0.1"]
    command += ["--no-webui", "--offline", "-c", str(load.ctx * load.slots), "-np", str(load.slots)]
    command += ["--log-verbosity", "4", "--no-log-prefix", "--no-log-timestamps"]
    command += [] if model.native else ["--no-jinja", "--chat-template", "chatml"]
    command += ["--mmproj", str(model.projectors[0])] if model.projectors else []
    for adapter in model.adapters:
        command += ["--lora", str(adapter)]
    command += ["--load-mode", "none"] if load.gpu is None else []
    if settings.kv_cache_type:
        command += ["--cache-type-k", settings.kv_cache_type, "--cache-type-v", settings.kv_cache_type]
    command += ["--flash-attn", {None: "auto", True: "on", False: "off"}[settings.flash_attention]]
    command += ["--embedding"] if embedding else []
    command += ["-b", str(load.batch), "-ub", str(load.batch)]
    command += [] if options.num_gpu is None or options.num_gpu < 0 else ["-ngl", str(options.num_gpu)]
    command += ["-t", str(options.num_thread)] if options.num_thread else []
    return [*command, "--context-shift", "--keep", str(KEEP_TOKENS)]


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Child:
    """A running llama-server. Its lines go to `said`, one by one."""

    def __init__(self, load: Load, said: Callable[[str], None]) -> None:
        self.load, self._said = load, said
        self.base = f"http://127.0.0.1:{load.port}"
        self.started = time.monotonic()
        self.activity = self.started
        self.gpu_bytes = self._all_bytes = 0
        self._offloaded = False
        self._reasons: list[str] = []
        env = os.environ | ({"GGML_VK_VISIBLE_DEVICES": "0"} if load.gpu else {})
        # Lavapipe compiles its shaders at the first run, for half a minute: not while it loads.
        command = [*load.command, *(["--no-warmup"] if load.gpu else [])]
        self._process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=env
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self._process.stdout
        with self._process.stdout as lines:
            for raw in lines:
                line = raw.decode(errors="replace").rstrip("\n")
                self.activity = time.monotonic()
                if found := REASONS.search(line):
                    self._reasons.append(found[0].rstrip())
                elif NO_MEMORY.search(line):
                    self._reasons.append(line)
                self._count(line)
                self._said(self.load.gpu.named(line) if self.load.gpu else line)

    def _count(self, line: str) -> None:
        if found := OFFLOADED.search(line):
            self._offloaded = found[1] == found[2]
        if found := BUFFER.search(line):
            size = int(float(found[2]) * (1 << 20))
            self._all_bytes += size
            self.gpu_bytes += size if found[1].startswith("Vulkan") and not found[1].endswith("_Host") else 0

    @property
    def total_bytes(self) -> int:
        """As /api/ps tells it: with all layers on the GPU, what lies there."""
        return self.gpu_bytes if self._offloaded else self._all_bytes

    @property
    def seconds(self) -> float:
        return time.monotonic() - self.started

    @property
    def ended(self) -> bool:
        return self._process.poll() is not None

    def status(self) -> str:
        """`ready`, `loading model` or `not responding`."""
        try:
            with urllib.request.urlopen(self.base + "/health", timeout=0.2):
                return "ready"
        except urllib.error.HTTPError as error:
            error.close()
            return "loading model"
        except OSError:
            return "not responding"

    def death(self) -> tuple[str, int, str]:
        """After the end: `exit status 1` or `signal: killed`, the code, and the reason that it gave."""
        code = self._process.wait()
        self._reader.join(5)
        reason = "\n".join(self._reasons)
        if code >= 0:
            return f"exit status {code}", code, reason
        words = {signal.SIGKILL: "killed", signal.SIGILL: "illegal instruction", signal.SIGSEGV: "segmentation fault"}
        number = signal.Signals(-code)
        core = " (core dumped)" if number == signal.SIGSEGV else ""
        return f"signal: {words.get(number, number.name.lower())}{core}", -1, reason

    def kill(self, number: int = signal.SIGKILL) -> None:
        if not self.ended:
            self._process.send_signal(number)
        if number == signal.SIGKILL:
            self._process.wait()
            self._reader.join(5)


def memory() -> tuple[int, int]:
    """Total and available memory of this machine, in bytes."""
    rows = dict(line.split(":") for line in Path("/proc/meminfo").read_text().splitlines())
    return int(rows["MemTotal"].split()[0]) << 10, int(rows["MemAvailable"].split()[0]) << 10


def options_of(*layers: dict[str, Any] | None) -> Options:
    """The model's parameters, then the request's options over them."""
    merged: dict[str, Any] = {}
    for layer in layers:
        merged |= layer or {}
    names = ("num_ctx", "num_batch", "num_gpu", "num_thread")
    return Options(**{name: int(merged[name]) for name in names if merged.get(name) is not None})

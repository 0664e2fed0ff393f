"""What it says, as Ollama 0.33 does: slog on stderr, requests on stdout, the child's lines as they are."""

import threading
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any, ClassVar, TextIO

from standin import banner
from standin.gpus import Gpu
from standin.names import HOST
from standin.settings import Invalid, Settings
from standin.store import Model
from standin.words import binary_size, decimal_size, duration, early, slog, utc_now

INVALID = "invalid environment variable, using default"
REFUSED = "model architecture does not currently support parallel requests"

CPU = {
    "id": "cpu", "library": "cpu", "compute": "", "name": "cpu", "description": "cpu", "libdirs": "ollama",
    "driver": "", "pci_id": "", "type": "",
}  # fmt: skip


class Journal:
    """Everything that is printed goes through here. One method is one happening; old versions override them."""

    banner = banner.NEW
    process = "llama-server"
    sources: ClassVar[dict[str, str]] = {
        "config": "routes.go:1951",
        "cloud": "routes.go:1953",
        "blobs": "images.go:919",
        "unused": "images.go:926",
        "listening": "routes.go:2008",
        "discovering": "runner.go:60",
        "compute": "types.go:50",
        "gpu": "types.go:32",
        "context": "routes.go:2058",
        "download": "download.go:181",
        "refused": "sched.go:509",
        "failed": "sched.go:641",
    }

    def __init__(self, out: TextIO, err: TextIO, now: Callable[[], datetime] = utc_now) -> None:
        self._out, self._err, self._now = out, err, now
        self._lock = threading.Lock()

    # how

    def say(self, level: str, source: str, message: str, **fields: Any) -> None:
        self.raw(slog(level, source, message, fields, self._now()))

    def raw(self, line: str) -> None:
        with self._lock:
            self._err.write(line + "\n")
            self._err.flush()

    def plain(self, text: str) -> None:
        """For stdout."""
        with self._lock:
            self._out.write(text + "\n")
            self._out.flush()

    def request(self, status: int, seconds: float, client: str, method: str, path: str) -> None:
        stamp = self._now().strftime("%Y/%m/%d - %H:%M:%S")
        self.plain(f'[GIN] {stamp} | {status} | {duration(seconds):>12} | {client:>15} | {method:<7}  "{path}"')

    # the start

    def missing_key(self, path: Path) -> None:
        self.plain(f"Couldn't find '{path}'. Generating new private key.")

    def new_key(self, key: str) -> None:
        self.plain(f"Your new public key is: \n\n{key}\n")

    def began(self, settings: Settings) -> None:
        for found in settings.invalid:
            fields = {"key": found.key, "value": found.value, "default": found.default}
            self.raw(early("WARN", "config.go:263", INVALID, fields, self._now()))
            self.invalid(found)
        self.say("INFO", self.sources["config"], "server config", env=self.banner.config(settings))
        self.say("INFO", self.sources["cloud"], f"Ollama cloud disabled: {banner.cloud_disabled(settings)}")

    def pruned(self, blobs: tuple[int, int]) -> None:
        """Blobs that were looked at and removed; then the routes."""
        self.say("INFO", self.sources["blobs"], f"total blobs: {blobs[0]}")
        self.say("INFO", self.sources["unused"], f"total unused blobs removed: {blobs[1]}")
        for line in self.banner.routes:
            self.plain(line)

    def _caches(self) -> None:
        fields = {"models": 0, "failures": 0, "elapsed": duration(0.000251143)}
        self.say("INFO", "model_list_cache.go:112", "model list cache hydration complete", **fields)

    def invalid(self, found: Invalid) -> None:
        self.say("WARN", "config.go:263", INVALID, key=found.key, value=found.value, default=found.default)

    def listening(self, host: tuple[str, int], version: str) -> None:
        where = f"{'[::]' if host[0] in ('0.0.0.0', '::', '') else host[0]}:{host[1]}"
        self.say("INFO", self.sources["listening"], f"Listening on {where} (version {version})")
        text = "model recommendations cache sleep scheduled"
        self.say("INFO", "model_recommendations.go:177", text, wait=duration(3 * 3600 + 2053.1), consecutive_failures=0)

    def discovered(self, settings: Settings, gpu: Gpu | None, memory: tuple[int, int]) -> None:
        self._caches()
        self.say("INFO", self.sources["discovering"], "discovering available GPUs...")
        if found := settings.is_invalid("OLLAMA_NUM_PARALLEL"):
            self.invalid(found)
        if gpu and not gpu.taken(settings):
            self.say(
                "INFO", "runner.go:405", "dropping integrated GPU; to enable, set OLLAMA_IGPU_ENABLE=1", **gpu.dropped
            )
        if gpu and gpu.taken(settings):
            self.say("INFO", self.sources["gpu"], "inference compute", **gpu.compute)
        else:
            sizes = {"total": binary_size(memory[0]), "available": binary_size(memory[1])}
            self.say("INFO", self.sources["compute"], "inference compute", **CPU, **sizes)

    def default_context(self, vram: int, tokens: int) -> None:
        self.say(
            "INFO", self.sources["context"], "vram-based default context",
            total_vram=binary_size(vram), default_num_ctx=tokens,
        )  # fmt: skip

    # pulls and makes

    def downloading(self, digest: str, parts: int, size: int) -> None:
        text = f"downloading {digest[7:19]} in {parts} {decimal_size(size)} part(s)"
        self.say("INFO", self.sources["download"], text)

    def request_failed(self, error: str) -> None:
        self.say("INFO", "images.go:1314", f"request failed: {error}")

    def quantizing(self, source: str, target: str) -> None:
        self.say("INFO", "quantization.go:124", "quantizing model", type="COPY", input=source, output=target)

    def blob_gone(self, model: Model) -> None:
        error = f"open {model.blob}: no such file or directory"
        self.say("ERROR", "images.go:156", "couldn't open model file", error=error)
        self.say("WARN", "images.go:119", "unknown capabilities for model", model=model.name.short)

    # a load

    def refused(self, family: str) -> None:
        self.say("WARN", self.sources["refused"], REFUSED, architecture=family)

    def unreadable(self, model: Model, error: str) -> None:
        self.say("INFO", "sched.go:529", "failed to load model metadata", model=model.blob, error=error)

    def loading(self, load: Any, memory: tuple[int, int]) -> None:
        """From the decision to the waiting. `load` is a child.Load."""
        if load.gpu is None:
            self.say(
                "INFO", "sched.go:1147", "disabling mmap for llama-server load by default",
                model=load.model.blob, reason="cpu",
            )  # fmt: skip
        self.say("INFO", "server.go:109", "using llama-server for model", model=load.model.blob)
        if load.asked_ctx > load.ctx:
            text = "requested context size too large for model"
            self.say("WARN", "server.go:114", text, num_ctx=load.asked_ctx, n_ctx_train=load.ctx)
        self.say("INFO", "llama_server.go:433", "starting llama-server", cmd=" ".join(load.command))
        total, free = (binary_size(size) for size in memory)
        self.say("INFO", "sched.go:613", "system memory", total=total, free=free, free_swap="0 B")
        if load.gpu is not None:
            self.say("INFO", "sched.go:620", "gpu memory", **load.gpu.memory)
        self.say("INFO", "llama_server.go:1048", "loading model via llama-server", model=load.model.blob)
        self.say("INFO", "llama_server.go:1295", "waiting for llama-server to start responding")

    def waiting(self, status: str) -> None:
        text = "waiting for llama-server to become available"
        self.say("INFO", "llama_server.go:1350", text, status=f"llm server {status}")

    def child_said(self, line: str, load: Any = None) -> None:
        """A line of the llama-server, as it came; of `load`'s, or of llama-quantize."""
        self.raw(line)

    def loaded(self, load: Any, seconds: Callable[[], float], count: int) -> None:
        started = "llama-server started in {:.2f} seconds"
        self.say("INFO", "llama_server.go:1362", started.format(seconds()))
        model = load.model
        name = str(model.name) if model.name.host == HOST else model.name.short
        kinds = {
            "selected": "gguf_chat_template" if model.native else "go_template",
            "renderer": "",
            "parser": "",
            "go_template": None if model.template is None else model.capabilities,
            "chat_template": model.capabilities if model.chat_template else None,
            "harmony": None,
            "renderer_parser": None,
        }
        self.say("INFO", "images.go:381", "template selection", model=name, **kinds)
        self.say("INFO", "sched.go:728", "loaded runners", count=count)
        self.say("INFO", "llama_server.go:1295", "waiting for llama-server to start responding")
        self.say("INFO", "llama_server.go:1362", started.format(seconds()))

    def dead(self, load: Any, status: str, code: int, reason: str) -> str:
        """The child is gone, `reason` are its last words; the error that Ollama makes of it."""
        if reason:
            self.say("ERROR", "llama_server.go:1023", "llama-server terminated", error=status, exit=code)
        return f"llama-server process has terminated: {status}" + (f": {reason}" if reason else "")

    def aborted(self) -> None:
        text = "client connection closed before llama-server finished loading, aborting load"
        self.say("WARN", "llama_server.go:1301", text)

    def load_failed(self, load: Any, error: str) -> None:
        self.say("INFO", self.sources["failed"], "Load failed", model=load.model.blob, error=error)

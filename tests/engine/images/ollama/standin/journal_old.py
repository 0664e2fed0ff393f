"""What Ollama 0.24.0 says instead: runners of its own, `msg=load request=…`, and no n_slots line anywhere."""

import re
from collections.abc import Callable
from typing import Any, ClassVar

from standin import banner
from standin.gpus import Gpu
from standin.journal import Journal
from standin.settings import Settings
from standin.words import binary_size

#: Families that 0.24 runs in its own engine, which prints nothing of llama.cpp.
OWN_ENGINE = """
gemma3 gemma3n gptoss lfm2 lfm2moe llama4 mistral3 mllama qwen25vl qwen3 qwen3vl qwen35
"""
CONTEXT_KEYS = """
n_seq_max n_ctx n_ctx_seq n_batch n_ubatch causal_attn flash_attn kv_unified freq_base freq_scale
"""
INFO_KEYS = """
arch vocab_only no_alloc n_ctx_train n_embd n_embd_inp n_layer n_head n_head_kv n_rot n_swa is_swa_any n_embd_head_k
n_embd_head_v n_gqa n_embd_k_gqa n_embd_v_gqa f_norm_eps f_norm_rms_eps f_clamp_kqv f_max_alibi_bias f_logit_scale
f_attn_scale n_ff n_expert n_expert_used n_expert_groups n_group_used freq_base_train freq_scale_train n_ctx_orig_yarn
rope_finetuned n_vocab n_merges
"""
ROW = re.compile(r"(print_info|llama_context): (\S[^=]*?)\s*= (.*)")
KEPT = ("llama_model_loader: ", "load: ", "load_tensors: ", "llama_kv_cache: ", "llama_context: ", "llama_model_load")
FAILURES = ("llama_model_load: error", "llama_model_load_from_file_impl: failed")
DROPPED = ("unused tokens", "_rot_", "tensor overrides", "done_getting", "offloaded", "offloading")


class OldJournal(Journal):
    """Lines of 0.24.0."""

    banner = banner.OLD
    process = "llama runner"
    sources: ClassVar[dict[str, str]] = {
        **Journal.sources, "config": "routes.go:1802", "cloud": "routes.go:1804", "blobs": "images.go:517",
        "unused": "images.go:524", "refused": "sched.go:423", "listening": "routes.go:1864", "compute": "types.go:60",
        "context": "routes.go:1914", "discovering": "runner.go:67", "download": "download.go:179",
        "failed": "sched.go:511",
    }  # fmt: skip

    def __init__(self, *streams: Any) -> None:
        super().__init__(*streams)
        self._failures: set[tuple[int, str]] = set()

    def discovered(self, settings: Settings, gpu: Gpu | None, memory: tuple[int, int]) -> None:
        super().discovered(settings, gpu, memory)
        self.say("INFO", "server.go:433", "starting runner", cmd="/usr/bin/ollama runner --ollama-engine --port 45173")

    def _caches(self) -> None:
        """There are none yet."""

    def loading(self, load: Any, memory: tuple[int, int]) -> None:
        if engine := own_engine(load):
            self.say("INFO", "server.go:259", "enabling flash attention")
        flag = "--ollama-engine " if engine else ""
        command = f"/usr/bin/ollama runner {flag}--model {load.model.blob} --port {load.port}"
        self.say("INFO", "server.go:433", "starting runner", cmd=command)
        total, free = (binary_size(size) for size in memory)
        self.say("INFO", "sched.go:484", "system memory", total=total, free=free, free_swap="0 B")
        layers = {"model layers": load.model.gguf.block_count + 1, "requested": -1}
        if engine:
            self._own_engine(load, layers)
        else:
            self._llama_runner(load, layers)

    def _llama_runner(self, load: Any, layers: dict[str, int]) -> None:
        self.say("INFO", "server.go:532", "loading model", **layers)
        self._sizes(load)
        self.say("INFO", "runner.go:965", "starting go runner")
        self._system()
        self.say("INFO", "runner.go:1001", f"Server listening on 127.0.0.1:{load.port}")
        self._request("runner.go:895", "commit", "Auto", load)
        self.say("INFO", "server.go:1385", "waiting for llama runner to start responding")

    def _own_engine(self, load: Any, layers: dict[str, int]) -> None:
        gguf = load.model.gguf
        self.say("INFO", "server.go:792", "loading model", **layers)
        self.say("INFO", "runner.go:1450", "starting ollama engine")
        self.say("INFO", "runner.go:1485", f"Server listening on 127.0.0.1:{load.port}")
        self._request("runner.go:1297", "fit", "Enabled", load)
        counts = {"num_tensors": len(gguf.tensors), "num_key_values": len(gguf.keys)}
        names = {"file_type": gguf.file_type, "name": gguf.keys.get("general.name", ""), "description": ""}
        self.say("INFO", "ggml.go:144", "", architecture=gguf.architecture, **names, **counts)
        self._system()
        self._request("runner.go:1297", "alloc", "Enabled", load)
        self._request("runner.go:1297", "commit", "Enabled", load)
        self._sizes(load)
        self.say("INFO", "ggml.go:490", "offloading 0 repeating layers to GPU")
        self.say("INFO", "ggml.go:494", "offloading output layer to CPU")
        self.say("INFO", "ggml.go:502", f"offloaded 0/{layers['model layers']} layers to GPU")

    def _request(self, source: str, operation: str, attention: str, load: Any) -> None:
        request = (
            f"{{Operation:{operation} LoraPath:[] Parallel:{load.slots} BatchSize:{min(load.batch, 512)} "
            f"FlashAttention:{attention} KvSize:{load.ctx * load.slots} KvCacheType: NumThreads:2 GPULayers:[] "
            "MultiUserCache:false ProjectorPath: MainGPU:0 UseMmap:false}"
        )
        self.say("INFO", source, "load", request=request)

    def _system(self) -> None:
        self.say("INFO", "ggml.go:104", "system", **{"CPU.0.LLAMAFILE": 1, "compiler": "cgo(gcc)"})

    def _sizes(self, load: Any) -> None:
        gguf = load.model.gguf
        weights = sum(tensor.size for tensor in gguf.tensors)
        heads = gguf.of_architecture("attention.head_count_kv") or 1
        width = (gguf.of_architecture("embedding_length") or 64) // (gguf.of_architecture("attention.head_count") or 1)
        cache = 2 * gguf.block_count * heads * width * load.ctx * load.slots * 2
        self.say("INFO", "device.go:245", "model weights", device="CPU", size=binary_size(weights))
        self.say("INFO", "device.go:256", "kv cache", device="CPU", size=binary_size(cache))
        self.say("INFO", "device.go:272", "total memory", size=binary_size(weights + cache))

    def waiting(self, status: str) -> None:
        if status == "loading model":
            text = "waiting for server to become available"
            self.say("INFO", "server.go:1428", text, status=f"llm server {status}")

    def loaded(self, load: Any, seconds: Callable[[], float], count: int) -> None:
        started = "llama runner started in {:.2f} seconds"
        if not own_engine(load):
            self.say("INFO", "server.go:1432", started.format(seconds()))
        self.say("INFO", "sched.go:561", "loaded runners", count=count)
        self.say("INFO", "server.go:1385", "waiting for llama runner to start responding")
        self.say("INFO", "server.go:1432", started.format(seconds()))

    def child_said(self, line: str, load: Any = None) -> None:
        if load is not None and own_engine(load):
            return
        told = old_line(line)
        if told is not None and not self._is_repeated(told, load):
            self.raw(told)

    def _is_repeated(self, line: str, load: Any) -> bool:
        """Today's llama-server tries a file that it cannot read twice."""
        if load is None or not line.startswith(FAILURES):
            return False
        key = (load.port, line)
        known = key in self._failures
        self._failures.add(key)
        return known

    def dead(self, load: Any, status: str, code: int, reason: str) -> str:
        """Its runner ends by a panic, which Ollama cuts off at its colon; a signal has the number that Go gives it."""
        if not reason:
            return f"llama runner process has terminated with exit code {code}"
        self.raw(f"panic: unable to load model: {load.model.blob}")
        self.say("ERROR", "server.go:316", "llama runner terminated", error="exit status 2")
        words = "\n".join(dict.fromkeys(map(old_words, reason.splitlines())))
        return f"llama runner process has terminated: {words}\npanic:"


def own_engine(load: Any) -> bool:
    return load.model.family in OWN_ENGINE.split()


def old_line(line: str) -> str | None:
    """A line of today's llama-server as the llama.cpp inside 0.24 printed it; None for one that it did not have."""
    line = old_words(line).replace("sched_reserve: ", "llama_context: ").replace("(load_mode = none)", "(mmap = false)")
    if line == "resolve_fused_ops: Flash Attention enabled":
        return "llama_context: Flash Attention was auto, set to enabled"
    if any(word in line for word in DROPPED):
        return None
    if found := ROW.fullmatch(line):
        return _row(*found.groups(), line)
    keep = line.startswith(KEPT) and "reserv" not in line
    return line if keep else None


def old_words(line: str) -> str:
    """What llama.cpp says of a tensor that is not there, as it said it then."""
    return re.sub(r"check_tensor_dims: tensor ('[^']*') not found", r"missing tensor \1", line)


def _row(head: str, key: str, value: str, line: str) -> str | None:
    if "buffer size" in key or key.startswith(("file ", "graph ")):
        return line
    if head == "llama_context":
        return f"{head}: {key:<13} = {value}" if key in CONTEXT_KEYS.split() else None
    known = key in INFO_KEYS.split() or " " in key or "." in key
    return f"{head}: {key:<16} = {value}" if known else None

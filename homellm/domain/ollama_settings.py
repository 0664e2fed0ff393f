"""The table of an Ollama server's settings: one row for each key, with the variable that it becomes and its check.

Source: envconfig/config.go of Ollama 0.33. A key without a check is `unverifiable`, and says so.
"""

from __future__ import annotations

from dataclasses import dataclass

from homellm.domain.settings import UNVERIFIABLE

#: What a variable of Ollama's llama-server is called.
LLAMA_PREFIX = "LLAMA_ARG_"


@dataclass(frozen=True, slots=True)
class OllamaSetting:
    """One row. `env` is the variable that says it to Ollama, `owned` are all that `env` of a server may not set.

    `model_key` tells that the key stands at the server's models and not at the server itself. `container` is the
    field of ContainerSpec for a setting that is Docker's.
    """

    key: str
    check: str
    because: str
    env: str = ""
    owned: tuple[str, ...] = ()
    model_key: bool = False
    container: str = ""


OLLAMA_SETTINGS: tuple[OllamaSetting, ...] = (
    OllamaSetting(
        "parallel",
        "slots",
        "slots of every model on this server; left out, Ollama takes one",
        "OLLAMA_NUM_PARALLEL",
        ("OLLAMA_NUM_PARALLEL", "LLAMA_ARG_N_PARALLEL"),
        model_key=True,
    ),
    OllamaSetting(
        "ctx",
        "ctx",
        "tokens of one slot: Ollama multiplies by the slots itself",
        "OLLAMA_CONTEXT_LENGTH",
        ("OLLAMA_CONTEXT_LENGTH", "LLAMA_ARG_CTX_SIZE"),
        model_key=True,
    ),
    OllamaSetting(
        "keep_alive",
        "keep-alive",
        "how long a model stays in memory after a request",
        "OLLAMA_KEEP_ALIVE",
        ("OLLAMA_KEEP_ALIVE",),
    ),
    OllamaSetting(
        "max_loaded_models",
        "loaded",
        "how many models may be in memory at once",
        "OLLAMA_MAX_LOADED_MODELS",
        ("OLLAMA_MAX_LOADED_MODELS",),
    ),
    OllamaSetting(
        "max_queue",
        UNVERIFIABLE,
        "how many requests may wait before Ollama answers 503",
        "OLLAMA_MAX_QUEUE",
        ("OLLAMA_MAX_QUEUE",),
    ),
    OllamaSetting(
        "load_timeout",
        UNVERIFIABLE,
        "how long a load may stand still before Ollama gives it up",
        "OLLAMA_LOAD_TIMEOUT",
        ("OLLAMA_LOAD_TIMEOUT",),
    ),
    OllamaSetting(
        "kv_cache_type",
        "kv-cache",
        "element type of the KV cache, passed on unchecked by Ollama",
        "OLLAMA_KV_CACHE_TYPE",
        ("OLLAMA_KV_CACHE_TYPE", "LLAMA_ARG_CACHE_TYPE_K", "LLAMA_ARG_CACHE_TYPE_V"),
    ),
    OllamaSetting(
        "flash_attention",
        "flash-attention",
        "flash attention; left out, Ollama decides by the GPU",
        "OLLAMA_FLASH_ATTENTION",
        ("OLLAMA_FLASH_ATTENTION", "LLAMA_ARG_FLASH_ATTN"),
    ),
    OllamaSetting(
        "gpu_overhead",
        UNVERIFIABLE,
        "memory of each GPU that Ollama leaves free",
        "OLLAMA_GPU_OVERHEAD",
        ("OLLAMA_GPU_OVERHEAD",),
    ),
    OllamaSetting(
        "sched_spread",
        UNVERIFIABLE,
        "spread a model over all GPUs",
        "OLLAMA_SCHED_SPREAD",
        ("OLLAMA_SCHED_SPREAD",),
    ),
    OllamaSetting(
        "origins",
        UNVERIFIABLE,
        "web pages that may call this server",
        "OLLAMA_ORIGINS",
        ("OLLAMA_ORIGINS",),
    ),
    OllamaSetting(
        "gpu",
        "device",
        "the declared GPU and no other",
        "OLLAMA_IGPU_ENABLE",
        (
            "OLLAMA_IGPU_ENABLE",
            "OLLAMA_VULKAN",
            "MESA_VK_DEVICE_SELECT",
            "GGML_VK_VISIBLE_DEVICES",
            "CUDA_VISIBLE_DEVICES",
            "ROCR_VISIBLE_DEVICES",
            "HIP_VISIBLE_DEVICES",
            "LLAMA_ARG_DEVICE",
            "LLAMA_ARG_MAIN_GPU",
            "LLAMA_ARG_SPLIT_MODE",
        ),
        container="devices",
    ),
    OllamaSetting(
        "mlock",
        "mlock",
        "weights stay in memory, wherever Ollama maps the file: on the CPU it does not",
        f"{LLAMA_PREFIX}LOAD_MODE",
        (f"{LLAMA_PREFIX}LOAD_MODE", f"{LLAMA_PREFIX}MLOCK", f"{LLAMA_PREFIX}MMAP"),
        model_key=True,
        container="cap_add",
    ),
    OllamaSetting(
        "cpuset",
        "cpus",
        "the CPUs it may run on; the number of threads follows, since a cpuset alone does not change it",
        f"{LLAMA_PREFIX}THREADS",
        (f"{LLAMA_PREFIX}THREADS",),
        container="cpuset",
    ),
    OllamaSetting(
        "store",
        "loaded",
        "where the models are kept",
        "OLLAMA_MODELS",
        ("OLLAMA_MODELS",),
        container="mounts",
    ),
    OllamaSetting(
        "port",
        "api",
        "the published port; inside the container it is always 11434",
        "OLLAMA_HOST",
        ("OLLAMA_HOST",),
        container="ports",
    ),
    OllamaSetting("bind", "exposure", "the address it is published on", container="ports"),
    OllamaSetting("cpu_shares", "limits", "its weight when CPUs are contended", container="cpu_shares"),
    OllamaSetting("memory", "limits", "the most memory it may take, all its models together", container="memory_bytes"),
    OllamaSetting("restart", "restarts", "what the engine does when it ends", container="restart"),
    OllamaSetting("image", "ready", "the server's image", container="image"),
    OllamaSetting("url", "api", "an Ollama that runs already and is not homellm's"),
    OllamaSetting("llama_args", UNVERIFIABLE, "settings of its llama-server of your own, by LLAMA_ARG_*"),
    OllamaSetting("env", UNVERIFIABLE, "variables of your own", container="env"),
    OllamaSetting("labels", UNVERIFIABLE, "labels of your own", container="labels"),
    OllamaSetting("volumes", UNVERIFIABLE, "mounts of your own", container="mounts"),
    OllamaSetting("networks", UNVERIFIABLE, "further networks", container="networks"),
    OllamaSetting("log", UNVERIFIABLE, "the engine's log driver, or where a foreign log is", container="log"),
    OllamaSetting("pull", UNVERIFIABLE, "when the image is pulled"),
    OllamaSetting("stop_grace", UNVERIFIABLE, "how long it may take to stop", container="stop_grace_s"),
    OllamaSetting("container_name", UNVERIFIABLE, "the container's name", container="name"),
)

#: What Ollama passes to its llama-server by argv, which beats the environment (command line of 0.33).
PASSED_BY_OLLAMA = (
    "MODEL",
    "PORT",
    "HOST",
    "CTX_SIZE",
    "N_PARALLEL",
    "LOG_VERBOSITY",
    "FLASH_ATTN",
    "BATCH",
    "UBATCH",
    "CONTEXT_SHIFT",
)

_BY_KEY = {row.key: row for row in OLLAMA_SETTINGS}


def ollama_setting(key: str) -> OllamaSetting:
    """The row of a key. Raises KeyError for a key that has none."""
    return _BY_KEY[key]


def owner_of_ollama_env(name: str) -> OllamaSetting | None:
    """The row that owns an environment variable, or None when `env` of a server may set it."""
    return next((row for row in OLLAMA_SETTINGS if name in row.owned), None)

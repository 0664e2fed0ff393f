"""The table of settings: one row for each key of a model that reaches a server or its container.

A row says what the key becomes, which check proves it, and why it is there. Flags stand newest spelling first; the
runner takes the first one that the image's own help knows. A key without a check is `unverifiable`, and says so.
Sources for spellings: the help of builds of early 2025, b10434, b11434 and b11669.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

UNVERIFIABLE = "unverifiable"


@dataclass(frozen=True, slots=True)
class FlagForm:
    """One spelling of a setting.

    `how`: `value` passes the value as text; `word` passes `word`, and only if the help lists that word among the
    flag's values; `switch` passes the flag alone when the value is true, and `off` (if any) when it is false;
    `bare-on` is a switch that an older build has for a three-valued setting: it can say on, and `auto` by its absence.
    """

    flag: str
    how: Literal["value", "word", "switch", "bare-on"] = "value"
    word: str | None = None
    off: str | None = None


@dataclass(frozen=True, slots=True)
class Setting:
    """One row. `owned` are all spellings that `extra_args` may not repeat, `env` the variables that `env` may not set.

    `container` is the field of ContainerSpec for a setting that is Docker's and not the server's.
    """

    key: str
    check: str
    because: str
    forms: tuple[FlagForm, ...] = ()
    owned: tuple[str, ...] = ()
    env: tuple[str, ...] = ()
    container: str = ""


SETTINGS: tuple[Setting, ...] = (
    Setting(
        "parallel",
        "slots",
        "the number of slots, said outright: without it the server takes four that share one pool",
        (FlagForm("--parallel"),),
        ("-np", "--parallel"),
        ("LLAMA_ARG_N_PARALLEL",),
    ),
    Setting(
        "ctx",
        "ctx",
        "tokens of one slot times slots: the server divides this number by the slots",
        (FlagForm("--ctx-size"),),
        ("-c", "--ctx-size"),
        ("LLAMA_ARG_CTX_SIZE",),
    ),
    Setting(
        "batch",
        "batch",
        "tokens a prompt is cut into (logical batch)",
        (FlagForm("--batch-size"),),
        ("-b", "--batch-size"),
        ("LLAMA_ARG_BATCH",),
    ),
    Setting(
        "ubatch",
        "batch",
        "tokens computed at once (physical batch)",
        (FlagForm("--ubatch-size"),),
        ("-ub", "--ubatch-size"),
        ("LLAMA_ARG_UBATCH",),
    ),
    Setting(
        "gpu_layers",
        "offload",
        "layers kept on the GPU",
        (FlagForm("--gpu-layers"), FlagForm("--n-gpu-layers")),
        ("-ngl", "--gpu-layers", "--n-gpu-layers"),
        ("LLAMA_ARG_N_GPU_LAYERS",),
    ),
    Setting(
        "gpu",
        "device",
        "the declared GPU and no other",
        (FlagForm("--device"),),
        ("-dev", "--device", "-mg", "--main-gpu", "-sm", "--split-mode"),
        ("LLAMA_ARG_DEVICE", "LLAMA_ARG_MAIN_GPU", "LLAMA_ARG_SPLIT_MODE", "MESA_VK_DEVICE_SELECT"),
        "devices",
    ),
    Setting(
        "flash_attention",
        "flash-attention",
        "flash attention",
        (FlagForm("--flash-attn"), FlagForm("--flash-attn", "bare-on")),
        ("-fa", "--flash-attn"),
        ("LLAMA_ARG_FLASH_ATTN",),
    ),
    Setting(
        "kv_cache_type",
        "kv-cache",
        "element type of the KV cache",
        (FlagForm("--cache-type-k"),),
        ("-ctk", "--cache-type-k", "-ctv", "--cache-type-v"),
        ("LLAMA_ARG_CACHE_TYPE_K", "LLAMA_ARG_CACHE_TYPE_V"),
    ),
    Setting(
        "kv_unified",
        "ctx",
        "one pool for all slots, or a part for each",
        (FlagForm("--kv-unified", "switch", off="--no-kv-unified"),),
        ("-kvu", "--kv-unified", "-no-kvu", "--no-kv-unified"),
        ("LLAMA_ARG_KV_UNIFIED",),
    ),
    Setting(
        "swa_full",
        "kv-cache",
        "keep the whole context for sliding-window layers, which cache reuse needs",
        (FlagForm("--swa-full", "switch"),),
        ("--swa-full",),
        ("LLAMA_ARG_SWA_FULL",),
    ),
    Setting(
        "cache_reuse",
        "cache-reuse",
        "smallest chunk of a prompt that is reused from the cache",
        (FlagForm("--cache-reuse"),),
        ("--cache-reuse",),
        ("LLAMA_ARG_CACHE_REUSE",),
    ),
    Setting(
        "reasoning_preserve",
        "reasoning",
        "keep the reasoning of earlier turns in the prompt",
        (FlagForm("--reasoning-preserve", "switch", off="--no-reasoning-preserve"),),
        ("--reasoning-preserve", "--no-reasoning-preserve"),
        ("LLAMA_ARG_REASONING_PRESERVE",),
    ),
    Setting(
        "jinja",
        "template",
        "the model's own chat template, which tool calls need",
        (FlagForm("--jinja", "switch", off="--no-jinja"),),
        ("--jinja", "--no-jinja"),
        ("LLAMA_ARG_JINJA",),
    ),
    Setting(
        "mlock",
        "mlock",
        "weights stay in memory and are never swapped out",
        (FlagForm("--load-mode", "word", word="mlock"), FlagForm("--mlock", "switch")),
        ("-lm", "--load-mode", "--mlock", "--mmap", "--no-mmap", "-dio", "--direct-io", "-ndio", "--no-direct-io"),
        ("LLAMA_ARG_LOAD_MODE", "LLAMA_ARG_MLOCK", "LLAMA_ARG_MMAP", "LLAMA_ARG_NO_MMAP"),
        "cap_add",
    ),
    Setting(
        "sleep_idle",
        UNVERIFIABLE,
        "unload the model after this many idle seconds",
        (FlagForm("--sleep-idle-seconds"),),
        ("--sleep-idle-seconds",),
    ),
    Setting(
        "mmproj",
        "projector",
        "the projector for images or sound",
        (FlagForm("--mmproj"),),
        ("-mm", "--mmproj", "-mmu", "--mmproj-url"),
        ("LLAMA_ARG_MMPROJ", "LLAMA_ARG_MMPROJ_URL"),
    ),
    Setting(
        "chat_template_file",
        "template",
        "a chat template in place of the model's own",
        (FlagForm("--chat-template-file"),),
        ("--chat-template", "--chat-template-file"),
        ("LLAMA_ARG_CHAT_TEMPLATE", "LLAMA_ARG_CHAT_TEMPLATE_FILE"),
    ),
    Setting(
        "embedding",
        "api",
        "serve embeddings and nothing else",
        (FlagForm("--embedding", "switch"), FlagForm("--embeddings", "switch")),
        ("--embedding", "--embeddings"),
        ("LLAMA_ARG_EMBEDDINGS",),
    ),
    Setting(
        "api_key",
        "exposure",
        "only callers with the key are served; it reaches the container by its environment",
        (),
        ("--api-key", "--api-key-file"),
        ("LLAMA_API_KEY", "LLAMA_ARG_API_KEY_FILE"),
    ),
    Setting(
        "cpuset",
        "cpus",
        "the CPUs it may run on; the number of threads follows, since a cpuset alone does not change it",
        (FlagForm("--threads"),),
        ("-t", "--threads"),
        ("LLAMA_ARG_THREADS",),
        "cpuset",
    ),
    Setting("cpu_shares", "limits", "its weight when CPUs are contended", container="cpu_shares"),
    Setting("memory", "limits", "the most memory it may take", container="memory_bytes"),
    Setting("shm_size", "limits", "size of /dev/shm", container="shm_size_bytes"),
    Setting(
        "source",
        "api",
        "the weights",
        (FlagForm("--model"),),
        (
            "-m",
            "--model",
            "-mu",
            "--model-url",
            "-hf",
            "-hfr",
            "--hf-repo",
            "-hff",
            "--hf-file",
            "-dr",
            "--docker-repo",
        ),
        ("LLAMA_ARG_MODEL", "LLAMA_ARG_MODEL_URL", "LLAMA_ARG_HF_REPO", "LLAMA_ARG_HF_FILE", "LLAMA_ARG_DOCKER_REPO"),
    ),
    Setting(
        "name", "api", "the name that clients ask for", (FlagForm("--alias"),), ("-a", "--alias"), ("LLAMA_ARG_ALIAS",)
    ),
    Setting(
        "port",
        "api",
        "the published port; inside the container it is always 8080, which the image's health check asks",
        (FlagForm("--port"),),
        ("--port", "--host", "--reuse-port"),
        ("LLAMA_ARG_PORT", "LLAMA_ARG_HOST"),
        "ports",
    ),
    Setting("bind", "exposure", "the address it is published on", container="ports"),
    Setting("restart", "restarts", "what the engine does when it ends", container="restart"),
    Setting("image", "ready", "the server's image", container="image"),
    Setting("env", UNVERIFIABLE, "variables of your own", container="env"),
    Setting("labels", UNVERIFIABLE, "labels of your own", container="labels"),
    Setting("volumes", UNVERIFIABLE, "mounts of your own", container="mounts"),
    Setting("networks", "networks", "further networks", container="networks"),
    Setting("log", UNVERIFIABLE, "the engine's log driver and rotation", container="log"),
    Setting("stop_grace", UNVERIFIABLE, "how long a busy server may take to stop", container="stop_grace_s"),
    Setting("container_name", UNVERIFIABLE, "the container's name", container="name"),
    Setting("extra_args", UNVERIFIABLE, "flags of your own, passed on as they are"),
)

_BY_KEY = {setting.key: setting for setting in SETTINGS}


def setting(key: str) -> Setting:
    """The row of a key. Raises KeyError for a key that has none."""
    return _BY_KEY[key]


def owner_of_flag(flag: str) -> Setting | None:
    """The row that owns a spelling of a flag (`-np`), or None when it is free for `extra_args`."""
    return next((row for row in SETTINGS if flag in row.owned), None)


def owner_of_env(name: str) -> Setting | None:
    """The row that owns an environment variable, or None when `env` may set it."""
    return next((row for row in SETTINGS if name in row.env), None)

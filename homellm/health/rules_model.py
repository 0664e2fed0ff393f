"""Problems of the model: its file, its memory, its context, its cache."""

from __future__ import annotations

from homellm.health.rules import Facts, Rule, problems

_OPEN = r"failed to open (?:GGUF file )?'?(?P<subject>[^']+?)'?(?: \(|: )"


def _missing(facts: Facts) -> str:
    return (
        f"There is no file {facts.get('subject', '')} where the server looks. Check the path in `source` and the "
        "mount; a host folder that does not exist is mounted as an empty one."
    )


def _unreadable(facts: Facts) -> str:
    return (
        f"The server may not read {facts.get('subject', 'the file')}. Make the file and its folders readable for the "
        "user that the container runs as (chmod a+r, or `user:`); on SELinux it also needs a label."
    )


def _architecture(facts: Facts) -> str:
    return (
        f"This build does not know {facts.get('subject') or 'the architecture'}: the image is too old. Pull a newer "
        "one (homellm pull), or name a newer tag in `image`."
    )


_CORRUPT = (
    "The model file is cut short or damaged. Compare its size with the source's and fetch it again (homellm pull)."
)
_NOT_GGUF = (
    "The file is not a GGUF: it is empty, a folder, a web page saved under that name, or another format. Fetch the "
    "GGUF of the model, or check that the mount shows the file and not an empty folder."
)
_SPLIT = (
    "The server was given one part of a split model, and not the first with the others beside it. Name the first part "
    "(-00001-of-…) in `source`. Ollama before 0.30 takes models in one file alone."
)
_BLOB = (
    "This file is as Ollama's own llama-server wants it, and upstream's build cannot read it. Use the llama-server of "
    "the Ollama image, or a GGUF of the same model from its makers (an hf: or gguf: source)."
)
_PROJECTOR = (
    "The file of `mmproj` is no projector, is cut short, or is of a kind that this build does not know. Fetch the one "
    "that belongs to the model from its makers, or take a newer image."
)
_MISMATCH = "The projector belongs to another model. Fetch the mmproj that belongs to this one from its makers."
_MEMORY = (
    "Memory is too small for weights, context and buffers together. Lower ctx or parallel, use kv_cache_type q8_0 or a "
    "smaller quantisation, put fewer layers on the GPU, or raise the container's memory limit."
)
_MLOCK = (
    "The weights are not locked and may be swapped out. Give the container the capability IPC_LOCK (mlock: true in the "
    "stack file does); rootless and user-namespaced engines cannot."
)
_CAPPED = (
    "More context was asked for than the model was trained with, and the server cut it. Ask for at most the trained "
    "length a slot; more only costs memory."
)
_SHRUNK = (
    "The context did not fit into memory and was made smaller. Set ctx outright (then it is not changed), or free "
    "memory: fewer slots, a smaller cache type."
)
_FIT = (
    "The server gave up fitting itself to the free memory, because a setting forbids it, and may run out of memory. "
    "Leave gpu_layers at auto, or make sure that it fits (fewer layers, less context)."
)
_EXHAUSTED = (
    "The cache that all slots share is full, and every active request failed. Give each slot its own part: set the "
    "number of slots outright (parallel, -np) without a unified cache, or raise the context."
)
_REUSE = (
    "This model's attention cannot shift its cache; set cache_reuse: 0 (for sliding-window models swa_full: true may "
    "help, at the cost of memory)."
)
_LOST = (
    "The whole prompt was computed again because its beginning was no longer cached, as hybrid and sliding-window "
    "models do when a conversation changes early on. Keep the beginning of prompts the same, or turn off clients' "
    "background jobs that share the slot."
)
_REASONING = "This model's chat template cannot keep earlier reasoning; remove reasoning_preserve."
_FLASH = "A quantised V cache needs flash attention: set flash_attention: on, or kv_cache_type: f16."

FILE_RULES: tuple[Rule, ...] = (
    *problems(
        "model-missing",
        _missing,
        ("No such file or directory", _OPEN + "No such file or directory"),
        "failed to download model from",
        fatal=True,
    ),
    *problems(
        "model-unreadable",
        _unreadable,
        ("ermission denied", _OPEN + "[Pp]ermission denied"),
        ("failed to open", _OPEN + "(?:Is a directory|Input/output error|Too many open files)"),
        fatal=True,
    ),
    *problems(
        "model-corrupt",
        _CORRUPT,
        ("not within the file bounds", "(?:(?:LoRA )?tensor '[^']*' )?data is not within the file bounds"),
        ("exceeds file size", r"tensor \\?[\"'].*offset\+size.*exceeds file size"),
        ("tensors expected but", r"corrupted model: \d+ tensors expected but"),
        ("failed to read ", "failed to read (?:key-value pairs|tensor info|tensor data|the tensor)"),
        ("nexpectedly reached end of file", "[Uu]nexpectedly reached end of file"),
        fatal=True,
    ),
    *problems(
        "not-gguf",
        _NOT_GGUF,
        ("magic", "(?:invalid magic (?:characters|number)|bad magic|failed to read magic)"),
        fatal=True,
    ),
    *problems(
        "model-split",
        _SPLIT,
        ("illegal split file idx", r"illegal split file idx: \d+"),
        "invalid split file name: ",
        fatal=True,
    ),
    *problems(
        "arch-unknown",
        _architecture,
        ("unknown model architecture", "unknown model architecture: '(?P<subject>[^']*)'?"),
        ("unknown pre-tokenizer type", "unknown pre-tokenizer type: '(?P<subject>[^']*)'?"),
        fatal=True,
    ),
    *problems(
        "blob-incompatible",
        _BLOB,
        ("wrong array length", r"(?:key \S+ has )?wrong array length; expected"),
        "wrong number of tensors; expected",
        ("key not found in model", "(?:array )?key not found in model: "),
        ("check_tensor_dims", "check_tensor_dims: tensor '[^']*' (?:not found|has wrong shape)"),
        "missing tensor '",
        fatal=True,
    ),
)

PROJECTOR_RULES: tuple[Rule, ...] = (
    *problems(
        "projector-mismatch",
        _MISMATCH,
        (
            "mismatch between text model",
            r"mismatch between text model \(n_embd = (?P<text>\d+)\) and mmproj \(n_embd = (?P<projector>\d+)\)",
        ),
        fatal=True,
    ),
    *problems(
        "projector-broken",
        _PROJECTOR,
        ("failed to load model '", r"clip_init: failed to load model '[^']*': "),
        # Not what the reckoning of memory says of it, which comes first and without a reason.
        ("Failed to load CLIP model from", "mtmd_init_from_file: error: Failed to load CLIP model from"),
        "failed to load multimodal model",
        fatal=True,
    ),
)

RESOURCE_RULES: tuple[Rule, ...] = (
    *problems(
        "mlock-failed",
        _MLOCK,
        (
            "failed to mlock",
            r"failed to mlock (?P<bytes>\d+)-byte buffer(?: \(after previously locking (?P<locked>\d+) bytes\))?",
        ),
        "mlock not supported",
    ),
    # Those that a library says are survived now and then (another kind of memory is tried).
    *problems(
        "out-of-memory",
        _MEMORY,
        ("ggml_vulkan: ", r"ggml_vulkan: (?:Device memory allocation of size \d+ failed|.*ErrorOutOf\w+Memory)"),
        ("ErrorOutOf", "ErrorOutOf(?:Device|Host)Memory"),
        ("alloc", r"(?:allocating .* on device \d+: )?(?:cuda|hip|musa)Malloc\w* failed: out of memory"),
        (" error: out of memory", "(?:CUDA|ROCm|MUSA) error: out of memory"),
    ),
    *problems(
        "out-of-memory",
        _MEMORY,
        (
            "failed to allocate ",
            r"failed to allocate (?:(?:\S+ )?buffer of size|buffer for (?:kv|rs) cache|compute (?:\w+ )?buffers)",
        ),
        ("unable to allocate ", r"unable to allocate \S+ buffer"),
        ("bad_alloc", "(?:std::)?bad_alloc"),
        ("Out of memory: Killed process", r"(?:\[ *[\d.]+\] )?Out of memory: Killed process"),
        fatal=True,
    ),
    *problems(
        "ctx-capped",
        _CAPPED,
        (
            "exceeds the training context",
            r"the slot context \((?P<asked>\d+)\) exceeds the training context of the model \((?P<trained>\d+)\)",
        ),
    ),
    *problems(
        "ctx-shrunk",
        _SHRUNK,
        ("context size reduced from", r"context size reduced from (?P<asked>\d+) to (?P<got>\d+)"),
    ),
    *problems(
        "fit-aborted",
        _FIT,
        ("failed to fit params", "failed to fit params to free device memory: (?P<why>.*)"),
    ),
    *problems(
        "flash-attn-required",
        _FLASH,
        (
            "requires flash_attn",
            "(?:quantized V cache|V cache quantization|SPLIT_MODE_TENSOR) requires flash_attn",
        ),
        ("requires Flash Attention", "quantized V cache was requested, but this requires Flash Attention"),
        fatal=True,
    ),
)

SERVING_RULES: tuple[Rule, ...] = (
    *problems(
        "kv-exhausted",
        _EXHAUSTED,
        (
            "Context size has been exceeded",
            r"(?:got exception: \{[^ ]*\"message\":\")?Context size has been exceeded",
        ),
        ("KV cache is full", "(?:failed to decode the batch: )?KV cache is full"),
    ),
    *problems(
        "cache-reuse-off",
        _REUSE,
        ("ache_reuse is not supported", "cache_reuse is not supported by (?:this context|multimodal)"),
        "cache reuse is not supported",
    ),
    *problems("prompt-cache-lost", _LOST, "forcing full prompt re-processing"),
    *problems(
        "reasoning-preserve-off",
        _REASONING,
        ("support preserving reasoning", "chat template does (?:NOT|not) support preserving reasoning"),
    ),
)

MODEL_RULES: tuple[Rule, ...] = (*PROJECTOR_RULES, *FILE_RULES, *RESOURCE_RULES, *SERVING_RULES)

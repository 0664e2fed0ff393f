"""What an Ollama server's errors mean, in plain words: those of its API and those of its pulls.

The texts are those of Ollama 0.12 to 0.33, which passes on what the registry, the Go standard library or its
llama-server said.
"""

from __future__ import annotations

from homellm.adapters.error_texts import (
    BAD_CERTIFICATE,
    NO_ANSWER,
    NOT_HTTPS,
    TOO_MANY,
    UNREACHABLE,
    Answer,
    meaning,
    pull_failed,
)
from homellm.domain.ollama_names import DEFAULT_HOST, parse_name
from homellm.errors import ModelAbsent, OllamaFailed, OllamaUnreachable, PullFailed

#: Rows over `model`, `registry` and `text`.
_DISK = (
    Answer(
        r"no space left on device|not enough space",
        "disk-full",
        "the disk of Ollama's store is full",
        "See what takes the space: df -h, ollama ls. What was pulled so far is kept, the next pull goes on from there.",
    ),
    Answer(
        r"read-only file system|permission denied",
        "store-read-only",
        "Ollama cannot write to its store ({text})",
        "Its folder or volume must be writable for the server, which runs as root in its container.",
    ),
)

#: The first one whose pattern is found wins.
_PULL = (
    *_DISK,
    Answer(
        r"manifest: file does not exist|manifest unknown|name unknown|404",
        "model-not-found",
        "{registry} has no such model or tag",
        "Check its name and tag.",
    ),
    Answer(
        r"requires a newer version of ollama|\b412\b",
        "ollama-too-old",
        "it needs a newer Ollama",
        "Take a newer image: pull: always, or another tag.",
    ),
    Answer(
        r"requires MLX",
        "model-safetensors",
        "it is kept as safetensors, which needs Ollama's MLX engine",
        "Choose a GGUF of the same model.",
    ),
    Answer(
        rf"first record does not look like a TLS handshake|{NOT_HTTPS}",
        "registry-not-https",
        "the registry {registry} speaks http, not https",
        "If that is meant, write the name with it: ollama:http://{registry}/namespace/model:tag",
    ),
    Answer(r"insecure protocol", "registry-not-https", "it is to come over http, which was not allowed", ""),
    Answer(
        BAD_CERTIFICATE,
        "registry-certificate",
        "the certificate of {registry} is not trusted",
        "Is the clock of this machine right? A CA of your own must be in the Ollama container.",
    ),
    Answer(
        rf"{TOO_MANY}|\b429\b",
        "registry-rate-limit",
        "the registry {registry} takes no more requests from here for a while",
        "Wait, and try again.",
    ),
    Answer(
        r"unauthorized|\b401\b|\b403\b|access denied|invalid username or password",
        "registry-login",
        "{registry} has no such model, or shows it only after a login",
        "Check its name; a private one needs the key of this Ollama (id_ed25519.pub of its store) at the registry.",
    ),
    Answer(
        r"not GGUF|not compatible with llama",
        "model-not-gguf",
        "{registry} has no GGUF of it that Ollama could load",
        "Choose a repository with GGUF files.",
    ),
    Answer(
        r"digest mismatch",
        "download-damaged",
        "what came is not what the registry promised (its digest differs)",
        "Pull it again; Ollama has thrown the damaged part away.",
    ),
    Answer(
        rf"{NO_ANSWER}|max retries exceeded|context canceled|\b50[0-4]\b",
        UNREACHABLE,
        "the registry {registry} does not answer ({text})",
        "Check network and DNS of the machine that runs Ollama. What was pulled so far is kept.",
    ),
    Answer(r"invalid model name", "model-name-invalid", "Ollama does not take the name", "A name is model:tag."),
)
_UNKNOWN = Answer("", "pull-failed", "{text}", "ollama pull {model} shows it in full.")

#: Errors of loads and other calls. A load's reason stands in the log, these are its last words.
_CALL = (
    *_DISK,
    Answer(
        r"signal: killed|with exit code -1|requires more system memory|out of memory|cudaMalloc failed"
        r"|failed to allocate",
        "out-of-memory",
        "{model} does not fit into memory ({text})",
        "Lower ctx, parallel or the model's size, or raise the container's memory limit.",
    ),
    Answer(
        r"signal: illegal instruction",
        "cpu-unsupported",
        "its llama-server was built for another CPU (illegal instruction)",
        "Take the official image.",
    ),
    Answer(
        r"does not support generate|does not support chat",
        "model-without-generate",
        "{model} makes no text: it is an embedding model, or its weights are gone from the store",
        "For an embedding model set embedding: true. Otherwise homellm up brings it again.",
    ),
    Answer(r"does not support embed", "model-without-embeddings", "{model} makes no embeddings", "Remove embedding."),
    Answer(
        r"server busy|maximum pending requests exceeded",
        "server-busy",
        "more requests wait than OLLAMA_MAX_QUEUE allows",
        "Try again, or raise max_queue.",
    ),
    Answer(
        r"timed out waiting for",
        "load-timeout",
        "{model} was not loaded in time ({text})",
        "Give it more time: load_timeout. Look for a slow disk or memory that is short.",
    ),
    Answer(
        r"llama-server process|llama runner process|error loading model|unable to load model",
        "load-failed",
        "{model} could not be loaded: {text}",
        "homellm logs shows the lines before.",
    ),
)
_UNKNOWN_CALL = Answer("", "ollama-refused", "{text}", "")
_NOT_FOUND = 404


def pull_failure(model: str, text: str) -> PullFailed:
    """The failure of a pull of `model`, from Ollama's own `text`, which stays in `.original`."""
    words = {"model": model, "registry": _registry(model), "text": _short(text)}
    return pull_failed(f"model {model}", meaning(text, _PULL, _UNKNOWN), words, text)


def no_room(model: str, missing_bytes: int, room_bytes: int) -> PullFailed:
    """The disk of the store is too small for what is still to come of a model."""
    return PullFailed(
        f"The model {model} cannot be pulled: {missing_bytes / 1e9:.1f} GB are still to come, and the disk of Ollama's"
        f" store has {room_bytes / 1e9:.1f} GB left.",
        hint="Remove models that nobody uses (ollama rm), or set `store` to a larger disk.",
        id="disk-full",
    )


def call_failure(doing: str, model: str, text: str, status: int) -> OllamaFailed:
    """The failure of a call. `doing` says what was asked for (`load`), `status` is HTTP's."""
    if status == _NOT_FOUND and "not found" in text:
        return ModelAbsent(
            f"Ollama has no model {model}.",
            hint="homellm up brings it.",
            original=text,
            status=status,
        )
    answer = meaning(text, _CALL, _UNKNOWN_CALL)
    why, hint = answer.says({"model": model, "text": _short(text), "registry": ""})
    message = f"Ollama was asked to {doing}: {why}."
    return OllamaFailed(message, hint=hint, id=answer.id, original=text, status=status)


def unreachable(url: str, reason: str) -> OllamaUnreachable:
    """Nobody answers at `url`."""
    return OllamaUnreachable(
        f"No Ollama answers at {url}: {reason}.",
        hint="Is it running, and is the address right? homellm ps shows ours.",
        original=reason,
    )


def _registry(model: str) -> str:
    try:
        return parse_name(model).host
    except ValueError:
        return DEFAULT_HOST


def _short(text: str) -> str:
    """Ollama's own words on one line, each once: a child's last words come twice, a runner's end with `panic:`."""
    lines = (line.strip() for line in text.replace("\\n", "\n").splitlines())
    parts = dict.fromkeys(line for line in lines if line not in ("", "panic:"))
    line = "; ".join(parts).rstrip(".") or "it gave no reason"
    first, _, rest = line.partition("; ")
    return first if rest and first.endswith(rest) else line

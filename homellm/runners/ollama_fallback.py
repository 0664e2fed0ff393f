"""A model of Ollama's as llama-server serves it: its files, its parameters as flags, what cannot be carried. Pure."""

from __future__ import annotations

from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Literal
from urllib.parse import urlsplit

from homellm.domain.ollama import Param, StoredModel
from homellm.domain.stack import GpuApi, Model, OllamaServer, Program, Stack, StoredFile, StoredFiles

Rung = Literal["llama-server", "bundled", "source"]

#: Where Ollama's image has its libraries and its own llama-server (since 0.30).
OLLAMA_LIBRARIES = "/usr/lib/ollama"
BUNDLED_PROGRAM = f"{OLLAMA_LIBRARIES}/llama-server"

#: Folders of GPU backends below it, and the backend's file there (Dockerfile and llm/llama_server.go of 0.33).
_BACKENDS: dict[GpuApi, tuple[str, str]] = {
    "vulkan": ("vulkan", "libggml-vulkan.so"),
    "cuda": ("cuda_v12", "libggml-cuda.so"),
    "rocm": ("rocm_v7_2", "libggml-hip.so"),
}

#: Parameters of a Modelfile -> flags of llama-server, newest spelling; Ollama's own meaning is the same.
PARAMETER_FLAGS: dict[str, str] = {
    "temperature": "--temp",
    "top_k": "--top-k",
    "top_p": "--top-p",
    "min_p": "--min-p",
    "typical_p": "--typical",
    "repeat_penalty": "--repeat-penalty",
    "repeat_last_n": "--repeat-last-n",
    "presence_penalty": "--presence-penalty",
    "frequency_penalty": "--frequency-penalty",
    "mirostat": "--mirostat",
    "mirostat_tau": "--mirostat-ent",
    "mirostat_eta": "--mirostat-lr",
    "seed": "--seed",
    "num_predict": "--predict",
    "num_keep": "--keep",
}
#: Other spellings of those flags, by which `extra_args` may say the same already.
_SPELLINGS: dict[str, tuple[str, ...]] = {
    "--temp": ("--temperature",),
    "--typical": ("--typical-p",),
    "--seed": ("-s",),
    "--predict": ("-n", "--n-predict"),
}
#: Parameters that keys of the stack file say, or that mean nothing outside Ollama.
_SAID_ELSEWHERE = frozenset({"num_ctx", "num_batch", "num_gpu", "stop", "draft_num_predict"})


@dataclass(frozen=True, slots=True)
class Carried:
    """The model as llama-server is to serve it. `lost` are phrases: what of the Ollama model it has not."""

    model: Model
    lost: tuple[str, ...] = ()


def carry_over(
    model: Model,
    stored: StoredModel,
    rung: Rung,
    stack: Stack,
    *,
    blob_path: str | None = None,
    variant: str | None = None,
    embedding: bool = False,
) -> Carried | None:
    """`model`, which Ollama has as `stored`, as a model of llama-server on that rung; None where it has no files.

    Same name, context, slots, cache and GPU. `blob_path` is where the Ollama server itself has the weights (from
    /api/show): for a server that is not ours and whose `store` was not declared. `variant` is the folder of GPU
    libraries that Ollama uses (`libdirs` of its log, `cuda_v13`); without it the usual one of the GPU's api is taken.
    """
    moved = replace(
        model,
        runner="llama-server",
        extra_args=(*model.extra_args, *_flags(model, stored)),
        embedding=model.embedding or embedding,
    )
    moved = _with_parameters(moved, stored)
    if rung == "source":
        if model.fallback_source is None:
            return None
        return Carried(at_fallback_source(moved), (*_lost(model, stored), *_not_in_source(model, stored)))
    server = stack.ollama_server(model.server)
    if model.source.kind != "ollama" and rung == "llama-server":
        return Carried(moved, _lost(model, stored))  # the file that Ollama's blob was made of
    files = stored_files(stored, server, blob_path) if server is not None else None
    if server is None or files is None:
        return None
    moved = replace(moved, stored=files)
    if rung == "bundled":
        if not server.ours:
            return None  # its image is not known
        gpu = stack.gpu(model.gpu)
        moved = replace(moved, image=server.image, program=bundled_program(gpu.api if gpu else None, variant))
    return Carried(moved, _lost(model, stored))


def at_fallback_source(model: Model) -> Model:
    """The model with the weights of its last source, whose faults are to be mended where that stands in the file."""
    if model.fallback_source is None:
        return model
    place = model.places.get("fallback_source")
    places = model.places if place is None else MappingProxyType({**model.places, "source": place})
    return replace(model, source=model.fallback_source, runner="llama-server", places=places)


def stored_files(stored: StoredModel, server: OllamaServer, blob_path: str | None = None) -> StoredFiles | None:
    """The files of a usable model as another container can be given them; None where nobody knows where they are."""
    if not stored.usable or stored.blob is None:
        return None
    root = _root(server, stored.blob, blob_path)
    if root is None:
        return None
    volume, folder = root

    def file(path: str) -> StoredFile:
        return StoredFile(f"{folder}/{path}", volume)

    return StoredFiles(
        model=file(stored.blob),
        projector=file(stored.projectors[0]) if stored.projectors else None,
        adapters=tuple(file(path) for path in stored.adapters),
    )


def _root(server: OllamaServer, blob: str, blob_path: str | None) -> tuple[str | None, str] | None:
    """The volume (None for a folder of the host) and the store's root in it."""
    store = server.store
    if store is not None:
        return (store.source, "models") if store.named else (None, f"{store.source.rstrip('/')}/models")
    host = urlsplit(server.url or "").hostname or ""
    if blob_path is None or not blob_path.endswith(f"/{blob}") or not _is_loopback(host):
        return None
    return None, blob_path.removesuffix(f"/{blob}")


def _is_loopback(host: str) -> bool:
    return host == "localhost" or host.startswith("127.") or host == "::1"


def bundled_program(api: GpuApi | None, variant: str | None = None) -> Program:
    """Ollama's own llama-server, with the libraries of a GPU as Ollama itself sets them for it."""
    if api is None:
        return Program(BUNDLED_PROGRAM, MappingProxyType({"LD_LIBRARY_PATH": OLLAMA_LIBRARIES}))
    usual, backend = _BACKENDS[api]
    # Ollama may have found another api than the declared one: its folder has no backend of this api.
    same_api = variant is not None and variant.partition("_")[0] == usual.partition("_")[0]
    folder = f"{OLLAMA_LIBRARIES}/{variant if same_api else usual}"
    env = {"LD_LIBRARY_PATH": f"{OLLAMA_LIBRARIES}:{folder}", "GGML_BACKEND_PATH": f"{folder}/{backend}"}
    return Program(BUNDLED_PROGRAM, MappingProxyType(env))


def _flags(model: Model, stored: StoredModel) -> tuple[str, ...]:
    """The model's parameters as arguments; what `extra_args` says already stays as it is there."""
    said = set(model.extra_args)
    words: list[str] = []
    for name, value in sorted(stored.params.items()):
        flag = PARAMETER_FLAGS.get(name)
        if flag is not None and _is_number(value) and said.isdisjoint((flag, *_SPELLINGS.get(flag, ()))):
            words += [flag, _number(value)]
    return tuple(words)


def _is_number(value: Param) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _number(value: Param) -> str:
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _with_parameters(model: Model, stored: StoredModel) -> Model:
    """Keys of ours that the model's parameters say where the stack file does not: batch, layers on the GPU."""
    batch, layers = (_whole(stored.params.get(name)) for name in ("num_batch", "num_gpu"))
    if model.batch is None and model.ubatch is None and batch:
        model = replace(model, batch=batch, ubatch=batch)
    if model.gpu is not None and model.gpu_layers is None and layers is not None:
        model = replace(model, gpu_layers=layers)
    return model


def _whole(value: Param | None) -> int | None:
    """A number from 0 up; Ollama's -1 leaves it to the server."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _not_in_source(model: Model, stored: StoredModel) -> tuple[str, ...]:
    """What belongs to Ollama's weights and not to another file of the same model."""
    lost = []
    if stored.projectors and model.mmproj is None:
        lost.append("the projector of Ollama's model: name one that fits fallback_source by `mmproj`")
    if stored.adapters:
        lost.append("the adapters of Ollama's model")
    return tuple(lost)


def _lost(model: Model, stored: StoredModel) -> tuple[str, ...]:
    """What llama-server cannot be given, in words."""
    lost: list[str] = []
    if stored.system:
        lost.append(f"the system prompt ({len(stored.system)} characters): clients have to send it")
    stop = stored.params.get("stop")
    if stop:
        words = stop if isinstance(stop, tuple) else (str(stop),)
        lost.append(f"the stop words {' '.join(words)}: the chat template's own end of a turn counts")
    if stored.template and model.chat_template_file is None:
        lost.append("Ollama's own template: the GGUF's is used")
    if stored.renderer or stored.parser:
        name = stored.renderer or stored.parser
        lost.append(f"Ollama's renderer {name}: the GGUF's template is used")
    if stored.messages:
        lost.append(f"the {stored.messages} messages that every conversation began with")
    if stored.draft:
        lost.append("the draft model")
    if len(stored.projectors) > 1:
        lost.append(f"all projectors but the first of {len(stored.projectors)}")
    unknown = sorted(name for name in stored.params if name not in PARAMETER_FLAGS and name not in _SAID_ELSEWHERE)
    if unknown:
        lost.append(f"the parameters {', '.join(unknown)}")
    return tuple(lost)

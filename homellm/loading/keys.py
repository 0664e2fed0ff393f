"""The keys of a stack file: their types and their meaning.

Every key is optional here: what a model needs is asked once `defaults` have been merged. Fields that end as another
type than they are written in (a size, a path) are read by the readers of values.py and compound.py.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from homellm.domain.stack import FallbackPolicy, KvCacheType, PullPolicy, RunnerName, Source
from homellm.loading import compound, sources, values
from homellm.loading.key_types import (
    DURATION_PATTERN,
    FLASH_ATTENTION,
    PULL_POLICIES,
    Cpus,
    CpuShares,
    Flag,
    HostPath,
    Image,
    JoinedNetworks,
    Keys,
    Labels,
    Log,
    Memory,
    Mounts,
    Name,
    PublishedOn,
    PublishedPort,
    Restart,
    Size,
    StopGrace,
    Text,
    one_word,
    read_by,
    whole_number,
)
from homellm.loading.ollama_keys import OllamaKeys

#: llama.cpp serves at most this many sequences (LLAMA_MAX_SEQ, llama-cparams.h).
MAX_SLOTS = 256
#: llama.cpp counts tokens of a context in 31 bits.
MAX_TOKENS = 2**31 - 1

_KV_SCHEMA = {"type": "string", "enum": list(compound.KV_TYPES)}


class GpuKeys(Keys):
    """A GPU, named once and used by that name: exactly one of `pci`, `id` and `auto`."""

    api: Annotated[
        Literal["vulkan", "cuda", "rocm"],
        *one_word("vulkan", "cuda", "rocm", synonyms={"nvidia": "cuda", "amd": "rocm"}),
    ] = Field(description="How it is spoken to: vulkan, cuda or rocm. It chooses the server's image.")
    pci: Annotated[str | None, *read_by(compound.pci, type="string")] = Field(
        None, description="Its PCI address, `0000:00:02.0`, as `lspci -D` shows it."
    )
    id: Annotated[str | None, *read_by(compound.gpu_id, type="string")] = Field(
        None, description="Its vendor and device in hex, `8086:9a49`, as `lspci -nn` shows it."
    )
    auto: Flag = Field(False, description="`true` when the host has only one GPU.")


class ModelKeys(Keys):
    """A model: what serves it, from which weights, with which resources. `defaults` has the same keys."""

    source: Annotated[Source | None, *read_by(sources.source, type="string", pattern=r"^(gguf|hf|ollama):|\$")] = Field(
        None,
        description="The weights: `gguf:PATH`, relative to the stack file, `hf:ORG/REPO:QUANT` of Hugging Face's hub, "
        "or `ollama:MODEL`. Required, here or in defaults.",
    )
    runner: Annotated[
        RunnerName | None,
        *one_word("llama-server", "ollama", synonyms={"llama.cpp": "llama-server", "llamacpp": "llama-server"}),
    ] = Field(None, description="What serves it. Default: ollama for `ollama:`, else llama-server.")
    parallel: Annotated[int | None, *whole_number(1, MAX_SLOTS)] = Field(
        None, description="Slots: how many requests are served at once. Default 1."
    )
    ctx: Annotated[int | None, *whole_number(1, MAX_TOKENS, "It counts the tokens of one slot.")] = Field(
        None, description="Tokens of context of ONE slot; homellm multiplies by the slots. Default 4096."
    )
    batch: Annotated[int | None, *whole_number(1, MAX_TOKENS)] = Field(
        None, description="Tokens a prompt is cut into (logical batch). Default: the server's own."
    )
    ubatch: Annotated[int | None, *whole_number(1, MAX_TOKENS)] = Field(
        None, description="Tokens computed at once (physical batch), at most batch. Default: the server's own."
    )
    gpu: Name | None = Field(None, description="The name of a GPU under gpus. Left out, the model runs on the CPU.")
    gpu_layers: Annotated[
        Literal["all", "auto"] | int | None,
        *read_by(compound.gpu_layers, anyOf=[{"enum": ["all", "auto"]}, {"type": "integer", "minimum": 0}]),
    ] = Field(
        None, description="Layers kept on the GPU: all, auto (as many as fit), or a number. Default: the server's own."
    )
    flash_attention: Annotated[Literal["on", "off", "auto"] | None, *FLASH_ATTENTION] = Field(
        None, description="Flash attention: on, off or auto. Default: the server's own."
    )
    kv_cache_type: Annotated[
        KvCacheType | None,
        *read_by(
            compound.kv_cache_type,
            anyOf=[
                _KV_SCHEMA,
                {"type": "object", "properties": {"k": _KV_SCHEMA, "v": _KV_SCHEMA}, "additionalProperties": False},
            ],
        ),
    ] = Field(None, description="Element type of the KV cache: one for both, or {k: q8_0, v: q8_0}. Default f16.")
    kv_unified: Flag | None = Field(None, description="One pool of context for all slots instead of a part for each.")
    swa_full: Flag | None = Field(
        None, description="Keep the whole context for sliding-window layers, which cache_reuse needs there."
    )
    cache_reuse: Annotated[int | None, *whole_number(0, MAX_TOKENS)] = Field(
        None, description="Smallest chunk of tokens that is reused from the cache; 0 switches it off."
    )
    reasoning_preserve: Flag | None = Field(None, description="Keep the reasoning of earlier turns in the prompt.")
    jinja: Flag | None = Field(None, description="Use the model's own chat template, which tool calls need.")
    mlock: Flag | None = Field(
        None, description="Lock the weights in memory, so that they are never swapped out. Default false."
    )
    sleep_idle: Annotated[
        int | None, *read_by(values.sleep_idle, type="string", pattern=f"{DURATION_PATTERN}|^never$")
    ] = Field(None, description="Unload the model after this long without a request: 15m, 90s, never. Default never.")
    mmproj: HostPath | None = Field(None, description="The projector's file, for images or sound.")
    chat_template_file: HostPath | None = Field(None, description="A chat template in place of the model's own.")
    embedding: Flag | None = Field(None, description="Serve embeddings and nothing else. Default false.")
    api_key: Annotated[str | None, *read_by(compound.api_key, type="string")] = Field(
        None, description="The key that callers must send. Better `${VARIABLE}` than written out."
    )
    port: PublishedPort = None
    bind: PublishedOn = None
    image: Image | None = Field(
        None, description="The server's image, by tag or digest. Default: the official one for the GPU's api."
    )
    pull: Annotated[PullPolicy | None, *PULL_POLICIES] = Field(
        None, description="When its image and its hf: model are pulled: missing, always or never. Default missing."
    )
    cpuset: Cpus = None
    cpu_shares: CpuShares = None
    memory: Memory | None = Field(None, description="The most memory it may take: 6GiB, 512MiB, 8g, in powers of 1024.")
    shm_size: Size | None = Field(
        None, description="Size of /dev/shm: 1GiB, 64m, in powers of 1024. Default 64 MiB, Docker's own."
    )
    restart: Restart = None
    stop_grace: StopGrace = None
    stop_grace_s: Annotated[int | None, *whole_number(1, 86_400)] = Field(
        None, description="The same as stop_grace, as a number of seconds."
    )
    container_name: Name | None = Field(None, description="The container's name. Default STACK-MODEL.")
    env: dict[str, Text] | None = Field(None, description="Variables of the container; merged with those of defaults.")
    labels: Labels = None
    volumes: Mounts = None
    networks: JoinedNetworks = None
    log: Log = None
    extra_args: list[Text] | None = Field(
        None, description="Arguments for the server as they are, one word an item, checked against the image's --help."
    )
    server: Name | None = Field(
        None, description="The Ollama server, by its name under `ollama`. Default: the only one."
    )
    fallback: Annotated[
        FallbackPolicy | None, *one_word("llama-server", "none", "predict", synonyms={"off": "none", "false": "none"})
    ] = Field(
        None,
        description="When Ollama gives fewer slots than asked: move to llama-server (the default), none, or predict "
        "(move without a trial where this version is known to refuse).",
    )
    fallback_source: Annotated[
        Source | None, *read_by(sources.fallback_source, type="string", pattern=r"^(gguf|hf):|\$")
    ] = Field(
        None,
        description="Weights for llama-server where no build reads those of Ollama's store: `gguf:PATH`, or "
        "`hf:ORG/REPO:QUANT`, which is pulled when the model comes to need it.",
    )


class StackKeys(Keys):
    """A homellm stack: which models this server runs, and how."""

    stack: Annotated[Name | None, Field(description="The stack's name: prefix of its containers. Required.")] = None
    gpus: dict[str, GpuKeys] = Field(default_factory=dict, description="The GPUs that models name.")
    defaults: ModelKeys | None = Field(None, description="Keys that every model has unless it says otherwise.")
    ollama: dict[str, OllamaKeys] = Field(default_factory=dict, description="The Ollama servers, by names of your own.")
    models: dict[str, ModelKeys] = Field(
        default_factory=dict, description="The models, by the name that clients ask for. At least one."
    )

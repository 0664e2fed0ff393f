"""The keys of a stack file: their types and their meaning.

Every key is optional here: what a model needs is asked once `defaults` have been merged. Fields that end as another
type than they are written in (a size, a path) are read by the readers of values.py and compound.py.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, PlainValidator, WithJsonSchema

from homellm.domain.stack import KvCacheType, PullPolicy, RestartPolicy, RunnerName, Source, Volume
from homellm.loading import compound, values
from homellm.loading.absent import ABSENT_RUNNERS

#: llama.cpp serves at most this many sequences (LLAMA_MAX_SEQ, llama-cparams.h).
MAX_SLOTS = 256
#: llama.cpp counts tokens of a context in 31 bits.
MAX_TOKENS = 2**31 - 1
#: Docker refuses a limit below 6 MiB.
MIN_MEMORY_BYTES = 6 * 1024**2


def _read(reader: Callable[..., Any], **schema: Any) -> tuple[Any, Any]:
    return PlainValidator(reader), WithJsonSchema(schema)


def _whole(minimum: int, maximum: int, hint: str = "") -> tuple[Any, Any]:
    return _read(values.whole(minimum, maximum, hint), type="integer", minimum=minimum, maximum=maximum)


def _words(*known: str, **more: Any) -> tuple[Any, Any]:
    return _read(values.one_of(*known, **more), type="string", enum=list(known))


_FLAG = _read(values.flag, type="boolean")
_TEXT = _read(values.text, type="string")
_PATH = _read(compound.path, type="string")
_KV_SCHEMA = {"type": "string", "enum": list(compound.KV_TYPES)}

Flag = Annotated[bool, *_FLAG]
Text = Annotated[str, *_TEXT]
HostPath = Annotated[Path, *_PATH]
Name = Annotated[str, *_read(compound.name, type="string", pattern=r"^[a-zA-Z0-9][a-zA-Z0-9_.-]*$")]
_SIZE_PATTERN = r"^[0-9]+(\.[0-9]+)? ?[kmgtpKMGTP]?[iI]?[bB]?$"
_DURATION_PATTERN = r"^([0-9]+d)?([0-9]+h)?([0-9]+m)?([0-9]+s)?$"


class Keys(BaseModel):
    """What all sections share: an unknown key is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True, arbitrary_types_allowed=True)


class GpuKeys(Keys):
    """A GPU, named once and used by that name: exactly one of `pci`, `id` and `auto`."""

    api: Annotated[
        Literal["vulkan", "cuda", "rocm"], *_words("vulkan", "cuda", "rocm", synonyms={"nvidia": "cuda", "amd": "rocm"})
    ] = Field(description="How it is spoken to: vulkan, cuda or rocm. It chooses the server's image.")
    pci: Annotated[str | None, *_read(compound.pci, type="string")] = Field(
        None, description="Its PCI address, `0000:00:02.0`, as `lspci -D` shows it."
    )
    id: Annotated[str | None, *_read(compound.gpu_id, type="string")] = Field(
        None, description="Its vendor and device in hex, `8086:9a49`, as `lspci -nn` shows it."
    )
    auto: Flag = Field(False, description="`true` when the host has only one GPU.")


class LogKeys(Keys):
    """The engine's log driver and the rotation of its files."""

    driver: Name | None = Field(None, description="The log driver; left out, the daemon's own is used.")
    max_size: Annotated[str | None, *_read(compound.log_size, type="string")] = Field(
        None, description="Size at which a log file is rotated: 10m, 500k, 1g. Default 10m."
    )
    max_files: Annotated[int | None, *_whole(1, 1000)] = Field(
        None, description="How many log files are kept. Default 3."
    )


class ModelKeys(Keys):
    """A model: what serves it, from which weights, with which resources. `defaults` has the same keys."""

    source: Annotated[Source | None, *_read(compound.source, type="string", pattern=r"^gguf:|\$")] = Field(
        None, description="The weights: `gguf:PATH`, relative to the stack file. Required, here or in defaults."
    )
    runner: Annotated[
        RunnerName | None,
        *_words(
            "llama-server", missing=ABSENT_RUNNERS, synonyms={"llama.cpp": "llama-server", "llamacpp": "llama-server"}
        ),
    ] = Field(None, description="What serves it. Default llama-server.")
    parallel: Annotated[int | None, *_whole(1, MAX_SLOTS)] = Field(
        None, description="Slots: how many requests are served at once. Default 1."
    )
    ctx: Annotated[int | None, *_whole(1, MAX_TOKENS, "It counts the tokens of one slot.")] = Field(
        None, description="Tokens of context of ONE slot; homellm multiplies by the slots. Default 4096."
    )
    batch: Annotated[int | None, *_whole(1, MAX_TOKENS)] = Field(
        None, description="Tokens a prompt is cut into (logical batch). Default: the server's own."
    )
    ubatch: Annotated[int | None, *_whole(1, MAX_TOKENS)] = Field(
        None, description="Tokens computed at once (physical batch), at most batch. Default: the server's own."
    )
    gpu: Name | None = Field(None, description="The name of a GPU under gpus. Left out, the model runs on the CPU.")
    gpu_layers: Annotated[
        Literal["all", "auto"] | int | None,
        *_read(compound.gpu_layers, anyOf=[{"enum": ["all", "auto"]}, {"type": "integer", "minimum": 0}]),
    ] = Field(
        None, description="Layers kept on the GPU: all, auto (as many as fit), or a number. Default: the server's own."
    )
    flash_attention: Annotated[
        Literal["on", "off", "auto"] | None,
        *_words("on", "off", "auto", synonyms={"true": "on", "yes": "on", "false": "off", "no": "off"}),
    ] = Field(None, description="Flash attention: on, off or auto. Default: the server's own.")
    kv_cache_type: Annotated[
        KvCacheType | None,
        *_read(
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
    cache_reuse: Annotated[int | None, *_whole(0, MAX_TOKENS)] = Field(
        None, description="Smallest chunk of tokens that is reused from the cache; 0 switches it off."
    )
    reasoning_preserve: Flag | None = Field(None, description="Keep the reasoning of earlier turns in the prompt.")
    jinja: Flag | None = Field(None, description="Use the model's own chat template, which tool calls need.")
    mlock: Flag | None = Field(
        None, description="Lock the weights in memory, so that they are never swapped out. Default false."
    )
    sleep_idle: Annotated[
        int | None, *_read(values.sleep_idle, type="string", pattern=f"{_DURATION_PATTERN}|^never$")
    ] = Field(None, description="Unload the model after this long without a request: 15m, 90s, never. Default never.")
    mmproj: HostPath | None = Field(None, description="The projector's file, for images or sound.")
    chat_template_file: HostPath | None = Field(None, description="A chat template in place of the model's own.")
    embedding: Flag | None = Field(None, description="Serve embeddings and nothing else. Default false.")
    api_key: Annotated[str | None, *_read(compound.api_key, type="string")] = Field(
        None, description="The key that callers must send. Better `${VARIABLE}` than written out."
    )
    port: Annotated[int | None, *_read(values.port, type="integer", minimum=1, maximum=65535)] = Field(
        None, description="The port published on the host. Left out, only containers of the stack's network reach it."
    )
    bind: Annotated[str | None, *_read(compound.bind, type="string")] = Field(
        None, description="The address the port is published on. Default 127.0.0.1; 0.0.0.0 is every network."
    )
    image: Annotated[str | None, *_read(compound.image, type="string")] = Field(
        None, description="The server's image, by tag or digest. Default: the official one for the GPU's api."
    )
    pull: Annotated[
        PullPolicy | None,
        *_words("missing", "always", "never", synonyms={"if_not_present": "missing", "ifnotpresent": "missing"}),
    ] = Field(None, description="When the image is pulled: missing, always or never. Default missing.")
    cpuset: Annotated[str | None, *_read(values.cpuset, type=["string", "integer"])] = Field(
        None, description="The CPUs it may run on: 0-3 or 0,2,4-7. The number of threads follows from it."
    )
    cpu_shares: Annotated[int | None, *_whole(2, 262144)] = Field(
        None, description="Its weight when CPUs are contended; Docker's normal is 1024."
    )
    memory: Annotated[
        int | None, *_read(values.size(MIN_MEMORY_BYTES), type=["string", "integer"], pattern=_SIZE_PATTERN)
    ] = Field(None, description="The most memory it may take: 6GiB, 512MiB, 8g, in powers of 1024.")
    shm_size: Annotated[int | None, *_read(values.size(1), type=["string", "integer"], pattern=_SIZE_PATTERN)] = Field(
        None, description="Size of /dev/shm: 1GiB, 64m, in powers of 1024. Default 64 MiB, Docker's own."
    )
    restart: Annotated[
        RestartPolicy | None,
        *_words(
            "no",
            "always",
            "on-failure",
            "unless-stopped",
            synonyms={"false": "no", "never": "no", "off": "no", "true": "always"},
        ),
    ] = Field(
        None, description="What Docker does when it ends: no, always, on-failure or unless-stopped (the default)."
    )
    stop_grace: Annotated[int | None, *_read(values.duration(1), type="string", pattern=_DURATION_PATTERN)] = Field(
        None, description="How long a busy server may take to stop: 10s, 2m. Default 10s."
    )
    stop_grace_s: Annotated[int | None, *_whole(1, 86_400)] = Field(
        None, description="The same as stop_grace, as a number of seconds."
    )
    container_name: Name | None = Field(None, description="The container's name. Default STACK-MODEL.")
    env: dict[str, Text] | None = Field(None, description="Variables of the container; merged with those of defaults.")
    labels: dict[str, Text] | None = Field(None, description="Labels of the container; merged with those of defaults.")
    volumes: list[Annotated[Volume, *_read(compound.volume, type="string")]] | None = Field(
        None, description="Further mounts: `./folder:/inside:ro` or `volume-name:/inside`."
    )
    networks: Annotated[
        tuple[str, ...] | None,
        *_read(compound.networks, anyOf=[{"type": "array", "items": {"type": "string"}}, {"type": "object"}]),
    ] = Field(None, description="Further networks that exist already: a list, or `name: {external: true}`.")
    log: LogKeys | None = Field(None, description="The engine's log driver and rotation.")
    extra_args: list[Text] | None = Field(
        None, description="Arguments for the server as they are, one word an item, checked against the image's --help."
    )


class StackKeys(Keys):
    """A homellm stack: which models this server runs, and how."""

    stack: Annotated[Name | None, Field(description="The stack's name: prefix of its containers. Required.")] = None
    gpus: dict[str, GpuKeys] = Field(default_factory=dict, description="The GPUs that models name.")
    defaults: ModelKeys | None = Field(None, description="Keys that every model has unless it says otherwise.")
    models: dict[str, ModelKeys] = Field(
        default_factory=dict, description="The models, by the name that clients ask for. At least one."
    )

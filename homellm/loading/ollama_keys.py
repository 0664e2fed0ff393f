"""The keys of an Ollama server: their types and their meaning."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from homellm.domain.stack import LogSource, PullPolicy, Volume
from homellm.loading import compound, ollama_values
from homellm.loading.key_types import (
    FLASH_ATTENTION,
    PULL_POLICIES,
    Cpus,
    CpuShares,
    Duration,
    Flag,
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

_MOST = 2**31 - 1


class OllamaKeys(Keys):
    """An Ollama server: one that homellm runs, or one that runs already (`url`)."""

    image: Image | None = Field(
        None, description="The server's image. Default ollama/ollama:latest, ollama/ollama:rocm for a GPU by rocm."
    )
    url: Annotated[str | None, *read_by(ollama_values.url, type="string", format="uri")] = Field(
        None, description="The address of an Ollama that runs already and is not homellm's: http://127.0.0.1:11434."
    )
    log_from: Annotated[LogSource | None, *read_by(ollama_values.log_from, type="string")] = Field(
        None, description="Where the log of that Ollama is: journal, journal:UNIT, docker:CONTAINER, or a file."
    )
    port: PublishedPort = None
    bind: PublishedOn = None
    store: Annotated[Volume | None, *read_by(ollama_values.store, type="string")] = Field(
        None, description="The folder or volume:NAME that holds `models`. Default: the volume STACK-SERVER."
    )
    keep_alive: Annotated[int | str | None, *read_by(ollama_values.keep_alive, type=["integer", "string"])] = Field(
        None, description="How long a model stays in memory after a request: 15m, 300, or -1 for ever (the default)."
    )
    max_loaded_models: Annotated[int | None, *whole_number(0, 1000)] = Field(
        None, description="How many models may be in memory at once. Default: as many as are declared, at least three."
    )
    max_queue: Annotated[int | None, *whole_number(1, _MOST)] = Field(
        None, description="How many requests may wait before it answers 503. Default: Ollama's own, 512."
    )
    load_timeout: Duration | None = Field(
        None, description="How long a load may stand still before it is given up: 10m. Default: Ollama's own, 5m."
    )
    kv_cache_type: Annotated[str | None, *one_word(*compound.KV_TYPES)] = Field(
        None, description="Element type of the KV cache of all its models. Default: what its models say, else f16."
    )
    flash_attention: Annotated[Literal["on", "off", "auto"] | None, *FLASH_ATTENTION] = Field(
        None, description="Flash attention of all its models: on, off or auto. Default: what its models say, else auto."
    )
    gpu_overhead: Size | None = Field(None, description="Memory of each GPU that it leaves free: 512MiB.")
    sched_spread: Flag | None = Field(None, description="Spread a model over all GPUs. Default false.")
    origins: list[Annotated[str, *read_by(ollama_values.origin, type="string")]] | None = Field(
        None, description='Web pages that may call it: `["https://chat.example"]`.'
    )
    llama_args: dict[str, Text] | None = Field(
        None, description="Settings of its llama-server that Ollama itself does not pass: `{cache_reuse: 256}`."
    )
    gpu: Name | None = Field(None, description="The name of a GPU under gpus. Default: the one that its models name.")
    cpuset: Cpus = None
    cpu_shares: CpuShares = None
    memory: Memory | None = Field(None, description="The most memory it may take, all its models together.")
    restart: Restart = None
    stop_grace: StopGrace = None
    pull: Annotated[PullPolicy | None, *PULL_POLICIES] = Field(
        None, description="When the image is pulled: missing, always or never. Default missing."
    )
    container_name: Name | None = Field(None, description="The container's name. Default STACK-SERVER.")
    env: dict[str, Text] | None = Field(None, description="Variables of the container.")
    labels: Labels = None
    volumes: Mounts = None
    networks: JoinedNetworks = None
    log: Log = None

"""Specs that between them use every field of ContainerSpec."""

from homellm.domain.secret import Secret
from homellm.domain.spec import (
    Arg,
    ContainerSpec,
    Device,
    EnvVar,
    GpuRequest,
    HealthCheck,
    LogConfig,
    Mount,
    NetworkAttachment,
    PublishedPort,
)

SERVER = ContainerSpec(
    name="nuc-lfm2.5",
    image="ghcr.io/ggml-org/llama.cpp:server-vulkan",
    args=(
        Arg("--model", "/models/lfm2.5.gguf", "the weights"),
        Arg("--alias", "lfm2.5", "the name that clients ask for"),
        Arg("--ctx-size", "98304", "3 slots × 32768 tokens: the server divides this number by its slots"),
        Arg("--jinja", None, "the model's own chat template, which tool calls need"),
    ),
    env=(
        EnvVar("MESA_VK_DEVICE_SELECT", "8086:9a49!", "this GPU and no other"),
        EnvVar("LLAMA_API_KEY", Secret("s3cr$t 'key'"), "only callers with this key are served"),
    ),
    mounts=(
        Mount("bind", "/srv/models", "/models", because="the weights"),
        Mount("volume", "llm-cache", "/root/.cache", read_only=False, because="a mount of your own"),
    ),
    ports=(PublishedPort("127.0.0.1", 11435, 8080),),
    networks=(
        NetworkAttachment("homellm-nuc", ("lfm2.5",)),
        NetworkAttachment("open-webui", ("lfm2.5",), external=True),
    ),
    cpuset="0-3",
    cpu_shares=2048,
    memory_bytes=8 << 30,
    shm_size_bytes=1 << 27,
    cap_add=("IPC_LOCK",),
    devices=(Device("/dev/dri/renderD128", "/dev/dri/renderD128", "the render node of this GPU"),),
    group_add=(993,),
    log=LogConfig("json-file", {"max-size": "10m", "max-file": "3"}),
    health_check=HealthCheck(("CMD", "/check"), 600),
    labels={"com.example.owner": "me"},
)

CUDA = ContainerSpec(
    name="nuc-embed",
    image="example/cuda@sha256:0000000000000000000000000000000000000000000000000000000000000000",
    args=(Arg("--embedding", None, "serve embeddings and nothing else"),),
    entrypoint=("/usr/lib/ollama/llama-server", "--offline"),
    ports=(PublishedPort("::1", 11436, 8080), PublishedPort("0.0.0.0", 11437, 8080)),
    networks=(NetworkAttachment("homellm-nuc", ("embed",)),),
    gpu_requests=(
        GpuRequest("nvidia", ("GPU-5a3f", "GPU-6b4e"), "by UUID"),
        GpuRequest("cdi", ("nvidia.com/gpu=GPU-7c5d",), "by UUID"),
    ),
    restart="no",
    stop_grace_s=0,
    health_check=HealthCheck((), 600, interval_s=2.5, timeout_s=3, retries=4),
)

BARE = ContainerSpec(name="bare", image="example/image")

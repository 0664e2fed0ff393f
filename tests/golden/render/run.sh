#!/usr/bin/env bash
# nuc: 2 models
# Makes by hand what `homellm up` would make. Run it with bash, on the machine that runs the Docker Engine.
set -euo pipefail

# Secrets are not written down here: set these variables before you run this.
: "${NUC_LFM2_5_LLAMA_API_KEY:?}"

#
# nuc-lfm2.5
#
docker network inspect homellm-nuc >/dev/null 2>&1 || docker network create homellm-nuc >/dev/null
options=(
  # one fixed name, for docker logs and docker stop
  --name nuc-lfm2.5
  # the stack's own network, on which containers reach each other by name
  --network homellm-nuc
  # its name there
  --network-alias lfm2.5
  # the API, for this machine alone
  --publish 127.0.0.1:11435:8080
  # this GPU and no other
  --env 'MESA_VK_DEVICE_SELECT=8086:9a49!'
  # only callers with this key are served
  --env LLAMA_API_KEY
  # the weights
  --mount type=bind,source=/srv/models,target=/models,readonly
  # a mount of your own
  --mount type=volume,source=llm-cache,target=/root/.cache,volume-nocopy
  # the render node of this GPU
  --device /dev/dri/renderD128:/dev/dri/renderD128
  # the group of the device on this host
  --group-add 993
  # the CPUs it may run on
  --cpuset-cpus 0-3
  # its weight when CPUs are contended
  --cpu-shares 2048
  # the most memory it may take, in bytes
  --memory 8589934592
  # size of /dev/shm, in bytes
  --shm-size 134217728
  # without it the kernel refuses to lock the weights in memory
  --cap-add IPC_LOCK
  # rotated by the engine: a log that is not grows without bound
  --log-driver json-file
  --log-opt max-size=10m
  --log-opt max-file=3
  # the image's own health check, which must not call a slow load unhealthy
  --health-start-period 600s
  # what a busy server may take to stop, in seconds
  --stop-timeout 10
  # what the engine does when the server ends
  --restart unless-stopped
  # a label of your own
  --label com.example.owner=me
)
command=(
  # the weights
  --model /models/lfm2.5.gguf
  # the name that clients ask for
  --alias lfm2.5
  # 3 slots × 32768 tokens: the server divides this number by its slots
  --ctx-size 98304
  # the model's own chat template, which tool calls need
  --jinja
)
LLAMA_API_KEY="$NUC_LFM2_5_LLAMA_API_KEY" docker create "${options[@]}" ghcr.io/ggml-org/llama.cpp:server-vulkan "${command[@]}"
# One network is given at creation, the others are joined before the start.
docker network connect --alias lfm2.5 open-webui nuc-lfm2.5
docker start nuc-lfm2.5

#
# nuc-embed
#
docker network inspect homellm-nuc >/dev/null 2>&1 || docker network create homellm-nuc >/dev/null
options=(
  # one fixed name, for docker logs and docker stop
  --name nuc-embed
  # this program of the image, in place of the one that it starts by itself
  --entrypoint /usr/lib/ollama/llama-server
  # the stack's own network, on which containers reach each other by name
  --network homellm-nuc
  # its name there
  --network-alias embed
  # the API, for this machine alone
  --publish '[::1]:11436:8080'
  # the API, for every machine that reaches this one
  --publish 0.0.0.0:11437:8080
  # by UUID
  --gpus 'driver=nvidia,"device=GPU-5a3f,GPU-6b4e"'
  # by UUID
  --device nvidia.com/gpu=GPU-7c5d
  # the image's own health check, which must not call a slow load unhealthy
  --health-start-period 600s
  --health-interval 2500ms
  --health-timeout 3s
  --health-retries 4
  # what a busy server may take to stop, in seconds
  --stop-timeout 0
  # what the engine does when the server ends
  --restart no
)
command=(
  --offline
  # serve embeddings and nothing else
  --embedding
)
docker run --detach "${options[@]}" example/cuda@sha256:0000000000000000000000000000000000000000000000000000000000000000 "${command[@]}"

#!/usr/bin/env bash
# nuc: 1 Ollama server
# Makes by hand what `homellm up` would make. Run it with bash, on the machine that runs the Docker Engine.
set -euo pipefail

#
# nuc-main
#
docker network inspect homellm-nuc >/dev/null 2>&1 || docker network create homellm-nuc >/dev/null
options=(
  # one fixed name, for docker logs and docker stop
  --name nuc-main
  # the stack's own network, on which containers reach each other by name
  --network homellm-nuc
  # its name there
  --network-alias main
  # the API, for this machine alone
  --publish 127.0.0.1:11434:11434
  # every interface of the container
  --env OLLAMA_HOST=0.0.0.0:11434
  # slots of every model on this server; left out, Ollama takes one
  --env OLLAMA_NUM_PARALLEL=3
  # tokens of one slot: Ollama multiplies by the slots itself
  --env OLLAMA_CONTEXT_LENGTH=32768
  # how long a model stays in memory after a request
  --env OLLAMA_KEEP_ALIVE=-1
  # how long a load may stand still before Ollama gives it up
  --env OLLAMA_LOAD_TIMEOUT=600s
  # flash attention; left out, Ollama decides by the GPU
  --env OLLAMA_FLASH_ATTENTION=1
  # Intel Iris Xe Graphics and no other Vulkan device, by its id and never by a number
  --env 'MESA_VK_DEVICE_SELECT=8086:9a49!'
  # versions before Vulkan was the default need it asked for
  --env OLLAMA_VULKAN=1
  # Intel Iris Xe Graphics is integrated, and Ollama drops such GPUs since 0.30
  --env OLLAMA_IGPU_ENABLE=1
  # the 4 CPUs of 0-3: a cpuset alone does not change the threads
  --env LLAMA_ARG_THREADS=4
  # its models, kept when the container is not
  --mount type=bind,source=/home/me/llm/ollama,target=/root/.ollama
  # the render node of Intel Iris Xe Graphics at 0000:00:02.0, and of no other GPU
  --device /dev/dri/renderD128:/dev/dri/renderD128
  # the group of the device on this host
  --group-add 993
  # the CPUs it may run on
  --cpuset-cpus 0-3
  # rotated by the engine: a log that is not grows without bound
  --log-driver json-file
  --log-opt max-size=10m
  --log-opt max-file=3
  # what a busy server may take to stop, in seconds
  --stop-timeout 10
  # what the engine does when the server ends
  --restart unless-stopped
)
command=(
  # Ollama's server
  serve
)
docker run --detach "${options[@]}" ollama/ollama:latest "${command[@]}"

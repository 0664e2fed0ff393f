"""An Ollama server: what a declared one becomes, as a container, in this world. Pure."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace

from homellm.domain.names import server_alias, server_container_name
from homellm.domain.ollama_settings import ollama_setting
from homellm.domain.places import problem_at
from homellm.domain.spec import Arg, ContainerSpec, EnvVar, Mount, PublishedPort
from homellm.domain.stack import OLLAMA_HOME, OLLAMA_PORT, Model, OllamaServer, Stack
from homellm.domain.world import World
from homellm.errors import Problem
from homellm.gpu import Passthrough, engine_limit, ollama_env, passthrough, resolve
from homellm.runners import container
from homellm.runners.arguments import cpus
from homellm.runners.built import Built
from homellm.runners.llama_server import MLOCK_CAPABILITY

#: Where the store's root (`manifests`, `blobs`) is inside a container of ours.
STORE_ROOT = f"{OLLAMA_HOME}/models"
#: Ollama's own rule without a setting: three models for each GPU, or three on the CPU (server/sched.go).
_LOADED_BY_DEFAULT = 3


def build(server: OllamaServer, models: tuple[Model, ...], stack: Stack, world: World) -> Built:
    """The container of `server` with `models` on it, or every reason why this host cannot.

    `expected_path` is the store's root inside the container. For a server that is not ours there is none.
    """
    if not server.ours:
        problem = problem_at(
            server, "url", id="server-not-ours", message=f"the Ollama at {server.url} is not homellm's to build"
        )
        return Built(None, (problem,))
    gpu = _gpu(server, stack, world)
    log, log_notes = container.log_config(server, world.engine)
    mounts = [*_store(server), *container.own_mounts(server.volumes)]
    obstacles = (gpu.problem,) if gpu.problem else ()
    problems = (*obstacles, *container.mounts_twice(server, mounts), *container.network_problems(server))
    notes = (*gpu.passed.notes, *_lock_notes(server, models), *log_notes)
    if problems:
        return Built(None, problems, notes, STORE_ROOT)
    locked = any(model.mlock for model in models)
    spec = ContainerSpec(
        name=server_container_name(stack, server),
        image=server.image,
        args=(Arg("serve", None, "Ollama's server"),),
        env=(
            *_environment(server, models),
            *gpu.env,
            *_of_llama_server(server, locked=locked),
            *container.own_variables(server),
        ),
        mounts=tuple(mounts),
        ports=_published(server),
        networks=container.attached(server, server_alias(server), stack),
        restart=server.restart,
        cpuset=server.cpuset,
        cpu_shares=server.cpu_shares,
        memory_bytes=server.memory_bytes,
        cap_add=(MLOCK_CAPABILITY,) if locked else (),
        devices=gpu.passed.devices,
        group_add=gpu.passed.group_add,
        gpu_requests=gpu.passed.gpu_requests,
        log=log,
        health_check=container.health_check(world.images.get(server.image)),
        stop_grace_s=server.stop_grace_s,
        labels=server.labels,
    )
    return Built(spec, (), notes, STORE_ROOT)


def server_ctx(models: tuple[Model, ...]) -> int | None:
    """The context that a server gives by default: the one that most of its models ask for, of equals the first.

    Models that ask for another one have it in their own parameters. None without models.
    """
    counts = Counter(model.ctx for model in models)
    return counts.most_common(1)[0][0] if counts else None


def slots_of(models: tuple[Model, ...]) -> int | None:
    """The slots of every model of a server: the loader sees to it that they agree. None without models."""
    return max((model.parallel for model in models), default=None)


def _environment(server: OllamaServer, models: tuple[Model, ...]) -> tuple[EnvVar, ...]:
    """Ollama's own settings, those that were not given left to it."""
    said = [EnvVar("OLLAMA_HOST", f"0.0.0.0:{OLLAMA_PORT}", "every interface of the container")]
    flash = {"on": "1", "off": "0"}.get(server.flash_attention or "")  # `auto` is said by saying nothing
    for key, value in (
        ("parallel", slots_of(models)),
        ("ctx", server_ctx(models)),
        ("keep_alive", server.keep_alive),
        ("max_loaded_models", loaded_at_once(server, models)),
        ("max_queue", server.max_queue),
        ("load_timeout", f"{server.load_timeout_s}s" if server.load_timeout_s is not None else None),
        ("kv_cache_type", server.kv_cache_type),
        ("flash_attention", flash),
        ("gpu_overhead", server.gpu_overhead_bytes),
        ("sched_spread", {True: "1", False: "0"}.get(server.sched_spread) if server.sched_spread is not None else None),
        ("origins", ",".join(sorted({*server.origins})) or None),
    ):
        if value is not None:
            row = ollama_setting(key)
            said.append(EnvVar(row.env, str(value), row.because))
    return tuple(said)


def loaded_at_once(server: OllamaServer, models: tuple[Model, ...]) -> int | None:
    """How many models it keeps in memory: as many as are declared, where Ollama's own rule (None) would put one out."""
    if server.max_loaded_models is not None:
        return server.max_loaded_models
    return len(models) if len(models) > _LOADED_BY_DEFAULT else None


def _of_llama_server(server: OllamaServer, *, locked: bool) -> tuple[EnvVar, ...]:
    """What reaches Ollama's llama-server through the environment, since Ollama does not pass it itself."""
    said: list[EnvVar] = []
    if server.cpuset is not None:
        count = len(cpus(server.cpuset))
        because = f"the {count} CPUs of {server.cpuset}: a cpuset alone does not change the threads"
        said.append(EnvVar(ollama_setting("cpuset").env, str(count), because))
    if locked:
        row = ollama_setting("mlock")
        said.append(EnvVar(row.env, "mmap+mlock", row.because))
    said += [
        EnvVar(name, value, "a setting of its llama-server of your own")
        for name, value in sorted(server.llama_args.items())
    ]
    return tuple(said)


def _store(server: OllamaServer) -> tuple[Mount, ...]:
    store = server.store
    if store is None:
        return ()
    because = "its models, kept when the container is not"
    return (Mount("volume" if store.named else "bind", store.source, OLLAMA_HOME, read_only=False, because=because),)


def _published(server: OllamaServer) -> tuple[PublishedPort, ...]:
    return () if server.port is None else (PublishedPort(server.bind.strip("[]"), server.port, OLLAMA_PORT),)


def _lock_notes(server: OllamaServer, models: tuple[Model, ...]) -> tuple[str, ...]:
    asked = [model.name for model in models if model.mlock]
    if not asked or server.gpu is not None:
        return ()
    return (f"mlock of {', '.join(asked)}: on the CPU Ollama reads weights without mapping them, and locks none",)


@dataclass(frozen=True, slots=True)
class _Gpu:
    passed: Passthrough = field(default_factory=Passthrough)
    env: tuple[EnvVar, ...] = ()
    problem: Problem | None = None


def _gpu(server: OllamaServer, stack: Stack, world: World) -> _Gpu:
    """The declared GPU, as this host and engine have it, or what stands in its way."""
    declared = stack.gpu(server.gpu)
    if declared is None:
        return _Gpu()
    card = resolve(declared, world.host)
    if isinstance(card, Problem):
        return _Gpu(problem=card)
    limit = engine_limit(declared, card, world.host, world.engine)
    if limit is not None:
        return _Gpu(problem=limit)
    passed = passthrough(declared, card, world.engine)
    env = (*passed.env, *ollama_env(declared, card))
    if declared.api != "vulkan":
        because = f"the GPU is used by {declared.api}; Ollama would find it a second time by Vulkan"
        env = (*env, EnvVar("OLLAMA_VULKAN", "0", because))
    return _Gpu(replace(passed, env=()), env)

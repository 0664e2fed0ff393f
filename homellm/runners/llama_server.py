"""llama-server: what a declared model becomes, as a container, in this world. Pure."""

from __future__ import annotations

from homellm.domain.dialect import Dialect
from homellm.domain.names import container_name
from homellm.domain.places import problem_at
from homellm.domain.spec import ContainerSpec
from homellm.domain.stack import Model, Stack
from homellm.domain.world import World
from homellm.errors import Problem
from homellm.runners import container
from homellm.runners.accelerator import accelerator
from homellm.runners.arguments import arguments
from homellm.runners.built import Built
from homellm.runners.known_build import assumed_dialect

#: What a llama-server's help cannot lack; an image without it is another program.
_ESSENTIAL = ("--model", "--alias", "--parallel", "--ctx-size", "--host", "--port")
#: The capability that mlock needs in a container (facts: only for root in the initial user namespace).
MLOCK_CAPABILITY = "IPC_LOCK"


def build(model: Model, stack: Stack, world: World) -> Built:
    """The container that serves `model`, or every reason why this image or host cannot.

    With `model.stored` the weights are those of an Ollama store, with `model.program` another program of the image
    serves; its dialect is then what `world.dialects` must have for the image.
    """
    files = _files(model, world)
    if files is None:
        return Built(None, (_no_file(model),))
    dialect, dialect_notes = dialect_of(model, world)
    name = build_name(model, dialect)
    if foreign := [flag for flag in _ESSENTIAL if not dialect.has(flag)]:
        return Built(None, (_not_llama_server(model, foreign),))
    gpu = accelerator(model, stack, world, dialect)
    argv = arguments(model, dialect, files.paths, build=name, device=gpu.device)
    log, log_notes = container.log_config(model, world.engine)
    obstacles = (gpu.problem,) if gpu.problem else ()
    problems = (*obstacles, *argv.problems, *files.problems, *container.network_problems(model))
    image = world.images.get(model.image)
    lock_notes = container.lock_notes(model, image)
    notes = (*dialect_notes, *argv.notes, *gpu.passed.notes, *lock_notes, *log_notes)
    if problems:
        return Built(None, problems, notes, files.paths.model)
    spec = ContainerSpec(
        name=container_name(stack, model),
        image=model.image,
        args=argv.args,
        entrypoint=(model.program.path,) if model.program else None,
        env=(*gpu.passed.env, *container.environment(model)),
        mounts=files.mounts,
        ports=container.published(model),
        networks=container.attachments(model, stack),
        restart=model.restart,
        cpuset=model.cpuset,
        cpu_shares=model.cpu_shares,
        memory_bytes=model.memory_bytes,
        shm_size_bytes=model.shm_size_bytes,
        cap_add=(MLOCK_CAPABILITY,) if model.mlock else (),
        devices=gpu.passed.devices,
        group_add=gpu.passed.group_add,
        gpu_requests=gpu.passed.gpu_requests,
        log=log,
        health_check=container.health_check(image),
        stop_grace_s=model.stop_grace_s,
        labels=model.labels,
    )
    return Built(spec, (), notes, files.paths.model)


def _files(model: Model, world: World) -> container.Files | None:
    """The files that the server is started on; None for a source that names none."""
    if model.stored is not None:
        return container.stored_files(model, model.stored, world.model_files)
    weights = model.source.path
    return container.files(model, weights, world.model_files) if weights is not None else None


def dialect_of(model: Model, world: World) -> tuple[Dialect, tuple[str, ...]]:
    """The dialect of a model's image, or the assumed one and a note that says so."""
    asked = world.dialects.get(model.image)
    if asked is not None and asked.flags:
        return asked, ()
    known = assumed_dialect()
    why = "did not tell its flags" if model.image in world.images else "is not here yet"
    return known, (f"{model.image} {why}; flags are assumed to be those of build {known.build}",)


def build_name(model: Model, dialect: Dialect) -> str:
    """Image and build for messages."""
    version = dialect.version.removeprefix("version:").strip()
    return f"{model.image} ({version})" if version else model.image


def _no_file(model: Model) -> Problem:
    if model.source.kind == "hf":
        return problem_at(
            model,
            "source",
            id="model-absent",
            message=f"{model.source} is not here yet",
            hint=f"Bring it: homellm pull {model.name}",
        )
    return problem_at(
        model,
        "source",
        id="source-without-file",
        message=f"llama-server is started from a GGUF file, and {model.source} names none",
        hint="Name a file: source: gguf:/path/to/model.gguf",
    )


def _not_llama_server(model: Model, missing: list[str]) -> Problem:
    return problem_at(
        model,
        "image",
        id="image-not-llama-server",
        message=f"the image {model.image} is no llama-server: its help lacks {', '.join(missing)}",
        hint="Choose an image whose entrypoint is llama-server, such as ghcr.io/ggml-org/llama.cpp:server",
    )

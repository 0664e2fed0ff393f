"""What a llama-server's container has besides its argv: mounts, log rotation, health check, networks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from homellm.domain.names import network_alias, network_name
from homellm.domain.places import problem_at
from homellm.domain.spec import EnvVar, HealthCheck, LogConfig, Mount, NetworkAttachment, PublishedPort
from homellm.domain.stack import SERVER_PORT, Declared, Model, Stack, StoredFile, StoredFiles, Volume
from homellm.domain.world import EngineInfo, Image, ModelFile
from homellm.errors import Problem
from homellm.runners.arguments import Paths

MODELS_DIR = "/models"
MMPROJ_DIR = "/mmproj"
TEMPLATES_DIR = "/templates"
STORE_DIR = "/store"

#: The drivers that take max-size; journald and others refuse it (`unknown log opt`).
ROTATING_DRIVERS = ("json-file", "local")
#: Large models load for minutes: until then the image's own health check must not call the container unhealthy.
START_PERIOD_S = 600
#: Networks of the engine itself, which know no aliases.
BUILT_IN_NETWORKS = ("bridge", "default", "host", "none")


@dataclass(frozen=True, slots=True)
class Files:
    """The mounts that bring a model's files into the container, and where they stand there."""

    mounts: tuple[Mount, ...]
    paths: Paths
    problems: tuple[Problem, ...] = ()


Found = Mapping[str, ModelFile]


def files(model: Model, weights: Path, found: Found) -> Files:
    """Mounts, read-only, of the folders in which a model's files stand; `found` is what is known of them, by path.

    The whole folder, since the parts of a split GGUF stand side by side and the server looks for them there. Files
    that are symbolic links (Hugging Face's cache) are mounted at the paths that they have here, every folder that the
    links pass: only so do they lead somewhere.
    """
    because = "the weights, and the further parts of a split GGUF"
    mounts, path = _stand(weights, found, MODELS_DIR, "the weights", because)
    return _with_others(model, mounts, Paths(model=path), found)


def stored_files(model: Model, stored: StoredFiles, found: Found) -> Files:
    """Mounts, read-only, of the files of an Ollama model: each by itself, or the whole volume that they lie in.

    One file and not its folder: the store has those of all other models too, and writes to it. A volume cannot be
    mounted in part before Engine 26.
    """
    mounts: list[Mount] = []

    def stand(file: StoredFile, because: str) -> str:
        if file.volume is None:
            mounts.append(Mount("bind", file.path, f"{MODELS_DIR}/{file.name}", read_only=True, because=because))
            return f"{MODELS_DIR}/{file.name}"
        mount = Mount("volume", file.volume, STORE_DIR, read_only=True, because="the volume of Ollama's store")
        if mount not in mounts:
            mounts.append(mount)
        return f"{STORE_DIR}/{file.path}"

    paths = Paths(
        model=stand(stored.model, "the weights, as Ollama keeps them"),
        mmproj=stand(stored.projector, "the projector") if stored.projector else None,
        adapters=tuple(stand(file, "an adapter of the model") for file in stored.adapters),
    )
    return _with_others(model, mounts, paths, found)


def _with_others(model: Model, mounts: list[Mount], paths: Paths, found: Found) -> Files:
    """The weights' mounts and those of the files that the stack file names."""
    if model.mmproj is not None:
        more, path = _stand(model.mmproj, found, MMPROJ_DIR, "the projector")
        mounts.extend(_new(more, mounts))
        paths = replace(paths, mmproj=path)
    if model.chat_template_file is not None:
        more, path = _stand(model.chat_template_file, found, TEMPLATES_DIR, "the chat template")
        mounts.extend(_new(more, mounts))
        paths = replace(paths, chat_template=path)
    mounts.extend(own_mounts(model.volumes))
    return Files(tuple(mounts), paths, mounts_twice(model, mounts))


def _new(more: list[Mount], mounts: list[Mount]) -> list[Mount]:
    """Those that are not there: links of two files pass the same folders of one cache."""
    there = {(mount.source, mount.target) for mount in mounts}
    return [mount for mount in more if (mount.source, mount.target) not in there]


def own_mounts(volumes: tuple[Volume, ...]) -> list[Mount]:
    """The mounts that the stack file declares, in an order of their own: that of the file means nothing."""
    because, ordered = "a mount of your own", sorted(volumes, key=lambda volume: (volume.target, volume.source))
    return [Mount("volume" if v.named else "bind", v.source, v.target, v.read_only, because) for v in ordered]


def _stand(file: Path, found: Found, target: str, what: str, because: str = "") -> tuple[list[Mount], str]:
    """The mounts that one file wants, and its path in the container."""
    known = found.get(str(file))
    folders = [PurePosixPath(folder) for folder in known.link_folders] if known else []
    if not folders:
        return [
            Mount("bind", str(file.parent), target, read_only=True, because=because or what)
        ], f"{target}/{file.name}"
    outermost = [one for one in folders if not any(other in one.parents for other in folders)]
    verb = "are symbolic links, which lead" if what.endswith("s") else "is a symbolic link, which leads"
    because = f"{what} {verb} to the same place here and there"
    return [Mount("bind", str(one), str(one), because=because) for one in outermost], str(folders[0] / file.name)


def mounts_twice(model: Declared, mounts: list[Mount]) -> tuple[Problem, ...]:
    """Two mounts at one place of the container."""
    targets = [mount.target.rstrip("/") or "/" for mount in mounts]
    return tuple(
        problem_at(
            model,
            "volumes",
            id="mount-target-taken",
            message=f"two mounts stand at {target} in the container",
            hint=f"Choose another target; {MODELS_DIR}, {MMPROJ_DIR} and {TEMPLATES_DIR} hold the model's own files.",
        )
        for target in sorted({target for target in targets if targets.count(target) > 1})
    )


def published(model: Model) -> tuple[PublishedPort, ...]:
    """The published port, if one is declared."""
    if model.port is None:
        return ()
    return (PublishedPort(model.bind.strip("[]"), model.port, SERVER_PORT),)


def attachments(model: Model, stack: Stack) -> tuple[NetworkAttachment, ...]:
    """The stack's own network first, then the declared ones; the model is reached by the same alias on each."""
    return attached(model, network_alias(model), stack)


def attached(declared: Declared, alias: str, stack: Stack) -> tuple[NetworkAttachment, ...]:
    """The stack's own network and the declared ones, on each of which `alias` names it."""
    own = NetworkAttachment(network_name(stack.name), (alias,))
    others = sorted({*declared.networks} - {own.name})  # the order of the file means nothing
    return (own, *(NetworkAttachment(name, (alias,), external=True) for name in others))


def network_problems(model: Declared) -> tuple[Problem, ...]:
    """Networks that a container cannot join beside the stack's own."""
    return tuple(
        problem_at(
            model,
            "networks",
            id="network-built-in",
            message=f"the network `{name}` is the engine's own, and knows no names of containers",
            hint="Name a network of your own; docker network create NAME makes one.",
        )
        for name in model.networks
        if name in BUILT_IN_NETWORKS
    )


def environment(model: Model) -> tuple[EnvVar, ...]:
    """What another program of the image needs, the API key and the declared variables."""
    own = own_variables(model)
    if model.program is not None:
        because = "where this server of Ollama's image has its libraries"
        own = [*(EnvVar(name, value, because) for name, value in model.program.env.items()), *own]
    if model.api_key is None:
        return tuple(own)
    because = "only callers with this key are served; by environment, since argv is there for everybody to read"
    return (EnvVar("LLAMA_API_KEY", model.api_key, because), *own)


def own_variables(declared: Declared) -> list[EnvVar]:
    """The variables that the stack file declares, by their names: the order of the file means nothing."""
    return [EnvVar(name, value, "a variable of your own") for name, value in sorted(declared.env.items())]


def log_config(model: Declared, engine: EngineInfo) -> tuple[LogConfig | None, tuple[str, ...]]:
    """The log driver with its rotation, and a note where the log cannot be rotated or read.

    Rotation is the engine's, and only where its driver has it: with any other the engine refuses the options.
    """
    driver = model.log.driver or engine.log_driver
    if driver not in ROTATING_DRIVERS:
        config = LogConfig(driver) if model.log.driver else None
        return config, (_log_note(driver),)
    options: dict[str, str] = {}
    if model.log.max_size is not None:
        options["max-size"] = model.log.max_size
        if model.log.max_files is not None:
            options["max-file"] = str(model.log.max_files)
    return (LogConfig(driver, options) if options or model.log.driver else None), ()


def _log_note(driver: str) -> str:
    if driver == "none":
        return "the log driver `none` keeps no log, so what only a log can prove stays unknown"
    return f"the log driver `{driver}` rotates by its own rules; max_size and max_files are not passed on"


def health_check(image: Image | None) -> HealthCheck | None:
    """The image's own health check with a start period; none for an image that has none, or that waits long enough."""
    own = image.health_check if image else None
    if own is None or not own.test or own.test[0] == "NONE" or own.start_period_s >= START_PERIOD_S:
        return None
    return HealthCheck(own.test, START_PERIOD_S)


def lock_notes(model: Model, image: Image | None) -> tuple[str, ...]:
    """Where the image itself takes IPC_LOCK its effect: it counts for root alone. Host and engine: planning.mlock."""
    if model.mlock and image is not None and image.user.partition(":")[0] not in ("", "0", "root"):
        return (f"the image runs as user {image.user}, for whom IPC_LOCK has no effect; mlock may fail",)
    return ()

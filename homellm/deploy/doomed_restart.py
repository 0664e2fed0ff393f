"""What is known to keep a server from starting again, looked at before a restart stops the one that works."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path, PurePosixPath

from homellm.deploy.job import Job
from homellm.domain.names import LABEL_HASH
from homellm.domain.stack import Model
from homellm.domain.world import Container
from homellm.errors import Problem
from homellm.planning.desired import Desired
from homellm.planning.loaded_files import made_for
from homellm.planning.preflight import file_problem
from homellm.runners.recognise import recognise

#: What the container has already, or what this user may lack and the engine has.
_NO_MATTER = ("no-such-image", "model-unreadable")
#: Told of the container's own file instead, which may be another one than the declared.
_OF_THE_FILE = ("model-missing", "model-unreadable", "not-gguf", "model-corrupt")


def known_to_fail(
    model: Model, container: Container, desired: Desired, problems: tuple[Problem, ...], job: Job
) -> tuple[Problem, ...]:
    """Why `container` would not serve again once it was stopped; empty where nothing is known.

    `problems` are those of the present declaration: they count where the container is made of that very one. The file
    of its weights is looked at wherever it is, by the container's own mounts.
    """
    found = tuple(p for p in of_its_own(container, desired, problems) if p.id not in _OF_THE_FILE)
    file = _file_problem(model, container, job)
    if file is not None and file.id not in _NO_MATTER:
        return (file, *found)
    return found or _of_model(mounts_gone(container, job), model) or _others_gone(model, container, job)


def _of_model(problems: tuple[Problem, ...], model: Model) -> tuple[Problem, ...]:
    return tuple(replace(problem, model=model.name) for problem in problems)


def mounts_gone(container: Container, job: Job) -> tuple[Problem, ...]:
    """What it mounts and is not there any more: the engine mounts none that it cannot see, and starts nothing then."""
    mounts = job.ports.engine.inspect(container.id).get("Mounts")
    if not job.world.engine.local or not isinstance(mounts, list):
        return ()
    sources = [str(mount.get("Source")) for mount in mounts if mount.get("Type") == "bind"]
    gone = [one for one in sources if job.ports.files.look(Path(one)).state in ("missing", "dangling")]
    return tuple(
        Problem(
            id="mount-missing",
            message=f"{source}, which {container.name} mounts, is not there any more",
            hint="Bring it back, or name another one in the stack file and run homellm up.",
        )
        for source in gone
    )


def _others_gone(model: Model, container: Container, job: Job) -> tuple[Problem, ...]:
    """Files beside its weights (projector, template) that a container was made to load and that are not there any more.

    By its own label: the stack file may name others by now.
    """
    made = made_for(container) if job.world.engine.local else None
    gone = [one.path for one in made or () if job.ports.files.look(Path(one.path)).state in ("missing", "dangling")]
    return tuple(
        Problem(
            id="file-missing",
            message=f"{path}, which {container.name} loads, is not there any more",
            hint="Bring it back, or name another one in the stack file and run homellm up.",
            model=model.name,
        )
        for path in gone
    )


def of_its_own(container: Container, desired: Desired, problems: tuple[Problem, ...]) -> tuple[Problem, ...]:
    """The problems of the present declaration that concern a container: none where that is made of another one."""
    if not desired.hash or container.label(LABEL_HASH) != desired.hash:
        return ()
    return tuple(problem for problem in problems if problem.id not in _NO_MATTER)


def _file_problem(model: Model, container: Container, job: Job) -> Problem | None:
    path = weights_on_host(container, job) if job.world.engine.local else None
    if path is None:
        return None
    file = job.ports.files.look(path)
    places = model.places if model.source.path == path else {}  # the file names another one by now
    return file_problem(replace(model, places=places), file)


def weights_on_host(container: Container, job: Job) -> Path | None:
    """Where the weights that a container was started on stand on this machine; None where they lie in a volume."""
    inside = recognise(container.args).model_path
    mounts = job.ports.engine.inspect(container.id).get("Mounts")
    if inside is None or not isinstance(mounts, list):
        return None
    for mount in mounts:
        if mount.get("Type") != "bind":
            continue
        target = PurePosixPath(str(mount.get("Destination")))
        if target == PurePosixPath(inside) or target in PurePosixPath(inside).parents:
            return Path(str(mount.get("Source"))) / PurePosixPath(inside).relative_to(target)
    return None

"""Whether the files that a server loaded are still those at their paths: the file system and the record are asked."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from homellm.deploy.record import read_record
from homellm.deploy.session import Ports
from homellm.domain.evidence import FilesSeen
from homellm.domain.stack import Model
from homellm.domain.world import NEVER, Container, EngineInfo, FileState, ModelFile
from homellm.planning.loaded_files import changed_since, differing, loaded, made_for, weakest, with_samples
from homellm.planning.units import Unit
from homellm.ports import ModelFiles

Recorded = Callable[[], tuple[FileState, ...] | None]


def loadable(
    models: tuple[Model, ...],
    found: Mapping[str, ModelFile],
    info: EngineInfo,
    files: ModelFiles,
    containers: Iterable[Container] = (),
) -> dict[str, tuple[FileState, ...]]:
    """What each model's server would load now, by its name: weights with all parts, projector, template.

    Not those of a hub's cache and of Ollama's store: what differs has another path there. None of an engine elsewhere.
    Samples are taken of what no label of `containers` knows as it is now.
    """
    if not info.local:
        return {}
    known = [file for container in containers for file in made_for(container) or ()]
    states = {model.name: files.stat(_paths(model, found)) for model in models}
    return {name: with_samples(state, known, _take(files)) for name, state in states.items() if state}


def _take(files: ModelFiles) -> Callable[[str], str]:
    return lambda path: files.sample([Path(path)])


def _paths(model: Model, found: Mapping[str, ModelFile]) -> list[Path]:
    path, paths = model.source.path, list[Path]()
    if path is not None and model.source.kind == "gguf" and model.stored is None:
        file = found.get(str(path))
        paths = [Path(part) for part in file.parts] if file is not None and file.parts else [path]
    return paths + [file for file in (model.mmproj, model.chat_template_file) if file is not None]


def see_files(container: Container, ports: Ports, *, local: bool, recorded: Recorded) -> FilesSeen | None:
    """What the present run of a container loaded and what of it is another file now; None where that is not known.

    `local` tells that the engine's machine is this one, `recorded` what the record of this run says, which is read only
    where it matters.
    """
    made = made_for(container) if local else None
    if not made:
        return None
    now = ports.files.stat([Path(file.path) for file in made])
    if now is None:
        loaded_then = recorded() or (made if container.finished_at == NEVER else None)
        return None if loaded_then is None else FilesSeen(loaded_then, unseen=_unseen(made, ports))
    if container.finished_at == NEVER and weakest(made, now) == "untouched":
        return FilesSeen(made, likeness="untouched")
    known = recorded()
    now = with_samples(now, (*made, *(known or ())), _take(ports.files))
    then = loaded(container, now, known)
    return None if then is None else FilesSeen(then, differing(then, now), likeness=weakest(then, now))


def _unseen(files: tuple[FileState, ...], ports: Ports) -> tuple[str, ...]:
    return tuple(file.path for file in files if ports.files.stat([Path(file.path)]) is None)


def with_outdated(unit: Unit, ports: Ports, *, local: bool) -> Unit:
    """The unit with what it is known of its containers that they loaded files which are others now.

    Only of those that run, or wait in a crash loop for their next start (on a file that came since, they are to be
    made anew and proved at once): whatever is started loads what is there then.
    """
    outdated: dict[str, str] = {}
    for container in (unit.current, unit.next):
        if container is None or not (container.running or container.status == "restarting"):
            continue
        seen = see_files(container, ports, local=local, recorded=_of_record(container, ports))
        if seen is not None and seen.changed:
            outdated[container.id] = changed_since(seen.changed)
    return replace(unit, outdated=outdated)


def _of_record(container: Container, ports: Ports) -> Recorded:
    def read() -> tuple[FileState, ...] | None:
        record = read_record(container, ports)
        return record.files if record is not None else None

    return read

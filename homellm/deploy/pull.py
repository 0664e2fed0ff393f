"""Bring the images and the files that models need, several at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial

from homellm.deploy.carry import carry
from homellm.deploy.pull_models import HubFiles, ask_hub
from homellm.deploy.scope import Scope
from homellm.deploy.select import select, servers_of
from homellm.deploy.session import Emit, Options, Ports
from homellm.deploy.threads import side_by_side
from homellm.domain.events import StackFinished, StackOpened
from homellm.domain.reports import ModelReport, StackReport
from homellm.domain.stack import Declared, Model, Stack
from homellm.domain.steps import PullImage
from homellm.domain.verdicts import State
from homellm.errors import ExitCode, HomellmError, Problem

#: Why an image is brought that `up` needs.
NOT_HERE = "the image is not here"
#: What scripts/quickstart names the image that it builds from Debian's packages.
BUILT_HERE = "homellm/llama-server-debian"


def pull(
    stack: Stack,
    only: tuple[str, ...],
    ports: Ports,
    options: Options,
    scope: Scope,
    emit: Emit,
) -> StackReport:
    """Ask the registry for every image of the models named and the hub for every model, also for those that are here.

    But for images with `pull: never`, as Compose has it: they are made or loaded here, and no registry has them. A
    `fallback_source` of the hub is brought too: `up` does so only once a model needs it, and who pulls wants all at
    hand. A model for which something could not be had is failed, the others are unverified: nothing was started.
    """
    models = select(stack, only)
    emit(StackOpened(stack.name, tuple(model.name for model in models)))
    images = with_images(stack, models)
    steps = {one.image: _step(one, "asked for by homellm pull") for one in images if one.pull != "never"}
    files = ask_hub(stack, (*models, *_last_resorts(models)), ports, options, scope, emit, anew=True)
    failed = run_pulls(steps, ports, scope, emit, files)
    scope.check()
    problems = {
        model.name: unready(model, stack, failed, files) or failed.get(str(model.fallback_source), ())
        for model in models
    }
    reports = tuple(
        ModelReport(name=m.name, state=State.FAILED, problems=problems[m.name])
        if problems[m.name]
        else ModelReport(name=m.name, state=State.UNVERIFIED, runner=m.runner, notes=_here(m, stack, steps, ports))
        for m in models
    )
    report = StackReport(stack=stack.name, models=reports)
    emit(StackFinished(report))
    return report


def _last_resorts(models: tuple[Model, ...]) -> tuple[Model, ...]:
    """Models as the last rung of their ladder would have them from the hub; none where the ladder is forbidden."""
    from homellm.runners.ollama_fallback import at_fallback_source  # noqa: PLC0415 - for the verb pull, not for every up

    return tuple(at_fallback_source(model) for model in models if _has_last_resort(model))


def _has_last_resort(model: Model) -> bool:
    last = model.fallback_source
    return last is not None and last.kind == "hf" and model.runner == "ollama" and model.fallback != "none"


def _here(model: Model, stack: Stack, steps: Mapping[str, PullImage], ports: Ports) -> tuple[str, ...]:
    """What is here now; of an image that was not asked for, that it was not."""
    image = image_of(model, stack)
    skipped = image is not None and image not in steps
    own: tuple[str, ...] = ()
    if image is not None and skipped:
        state = "it is here" if ports.engine.find_image(image) is not None else "it is not here"
        own = (f"the image {image} was not asked for, as its pull is never; {state}",)
    if model.source.kind == "hf":
        own = (*own, "its model is here") if skipped else ("its image and its model are here",)
    return (*own, f"{model.fallback_source} is here") if _has_last_resort(model) else own


def missing_images(declared: tuple[Declared, ...], ports: Ports) -> dict[str, PullImage]:
    """A step for each image that has to be asked for before anything can be planned."""
    steps: dict[str, PullImage] = {}
    asked: set[str] = set()
    for one in declared:
        if one.image in steps:
            continue
        if one.pull == "always":
            steps[one.image] = _step(one, "pull: always")
        elif one.pull == "missing" and one.image not in asked:
            if ports.engine.find_image(one.image) is None:
                steps[one.image] = _step(one, NOT_HERE)
            asked.add(one.image)
    return steps


def with_images(stack: Stack, models: tuple[Model, ...]) -> tuple[Declared, ...]:
    """What of these models needs an image at once: a llama-server each, or the Ollama server that is ours.

    The image of a model that Ollama serves is for the ladder, and is brought when that is climbed.
    """
    own = tuple(model for model in models if model.runner == "llama-server")
    return (*own, *(server for server in servers_of(stack, models) if server.ours))


def image_of(model: Model, stack: Stack) -> str | None:
    """The image that a model needs at once; None for one on an Ollama that is not ours."""
    if model.runner == "llama-server":
        return model.image
    server = stack.ollama_server(model.server)
    return server.image if server is not None and server.ours else None


def _step(one: Declared, cause: str) -> PullImage:
    return PullImage(target=one.image, model=one.name, cause=cause)


def run_pulls(
    steps: dict[str, PullImage], ports: Ports, scope: Scope, emit: Emit, files: HubFiles | None = None
) -> dict[str, tuple[Problem, ...]]:
    """Carry the pulls out side by side; the problems by image or source, for those that could not be had."""
    files = files or HubFiles()
    work: dict[str, Callable[[Emit], tuple[Problem, ...]]] = {
        image: partial(carry, step, ports.engine.pull(image), scope) for image, step in steps.items()
    }
    for source, file_step in files.steps.items():
        work[source] = partial(carry, file_step, ports.hub.pull(files.models[source]), scope)
    failed = {key: problems for key, problems in side_by_side(work, emit).items() if problems}
    return {key: _with_way_out(key, found, ports) if key in steps else found for key, found in failed.items()}


def _with_way_out(image: str, found: tuple[Problem, ...], ports: Ports) -> tuple[Problem, ...]:
    """Why an image could not be asked for anew, with what helps where it is here all the same."""
    if found[0].exit_code is ExitCode.INTERRUPTED:
        return found
    try:
        way_out = _way_out(image, ports)
    except HomellmError:
        way_out = ""
    return (replace(found[0], hint=f"{found[0].hint} {way_out}".strip()), *found[1:])


def _way_out(image: str, ports: Ports) -> str:
    if ports.engine.find_image(image) is not None:
        return "The image is here: with pull: missing homellm up uses it and asks nobody."
    built = [name for name in ports.engine.images_named(BUILT_HERE) if name != image]
    if not built or "ollama" in image:
        return ""
    return f"Here is a llama-server that scripts/quickstart built: image: {built[0]} with pull: never uses it."


def unready(
    model: Model, stack: Stack, failed: Mapping[str, tuple[Problem, ...]], files: HubFiles
) -> tuple[Problem, ...]:
    """What keeps a model from being started, of all that was to be pulled; empty when everything is here."""
    image = image_of(model, stack) or ""
    return files.problems.get(model.name) or failed.get(str(model.source)) or failed.get(image, ())

"""`doctor`: look at host, engine, stack and at what else runs, as far as each of them is there."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import cast

from homellm.deploy.preview import plan
from homellm.deploy.pull import NOT_HERE
from homellm.deploy.session import Options, Ports
from homellm.domain.diagnosis import Diagnosis
from homellm.domain.open_webui import WebUi, web_ui_of
from homellm.domain.reports import PlanReport
from homellm.domain.stack import Model, Stack
from homellm.domain.steps import PullImage
from homellm.errors import ContainerGone, ExitCode, HomellmError, Problem
from homellm.planning.doctor import diagnose
from homellm.planning.preflight import file_problem
from homellm.ports import Engine, HostPort, ModelFiles


def doctor(stack: Stack | None, ports: Ports, options: Options, told: tuple[Problem, ...] = ()) -> Diagnosis:
    """With an engine: what `up` would be stopped by, and what there is to say of host, engine and containers.

    `told` are problems that were met on the way here. Nothing is changed and nothing is raised: an engine that does
    not answer in the middle is a problem among the others.
    """
    problems = list(told)
    engine = None
    web_uis: tuple[WebUi, ...] = ()
    try:
        engine = ports.engine.info()
        if stack is not None:
            planned = plan(stack, (), ports, options)
            problems += (*planned.problems, *planned.advice, *_to_come(planned))
        web_uis = find_web_uis(ports.engine)
    except HomellmError as error:
        problems += error.problems
    return diagnose(stack, ports.host.snapshot(), engine, tuple(problems), web_uis)


def _to_come(planned: PlanReport) -> tuple[Problem, ...]:
    """Images that `up` will have to bring: whether they can be had is known once they are asked for."""
    return tuple(
        Problem(
            id="image-to-come",
            message=f"the image {step.target} is not here: homellm up brings it, if its registry can be reached",
            hint="Try it: homellm pull",
            model=step.model,
            exit_code=ExitCode.OK,
        )
        for step in planned.steps
        if isinstance(step, PullImage) and step.cause == NOT_HERE
    )


def doctor_without_engine(
    stack: Stack | None, host: HostPort, files: ModelFiles, told: tuple[Problem, ...]
) -> Diagnosis:
    """What can be told of the host and of the model files alone."""
    found = [file_problem(model, files.look(path)) for model, path in _with_files(stack)]
    problems = (*told, *(problem for problem in found if problem is not None))
    return diagnose(stack, host.snapshot(), None, problems)


def find_web_uis(engine: Engine) -> tuple[WebUi, ...]:
    """Every running Open WebUI, whoever started it, by its container's name."""
    found = []
    for container in engine.list_containers({}):
        if not container.running:
            continue
        try:
            shown = engine.inspect(container.id)
        except ContainerGone:
            continue
        web_ui = web_ui_of(container.name, container.image, _environment(shown))
        if web_ui is not None:
            found.append(web_ui)
    return tuple(sorted(found, key=lambda one: one.container))


def _environment(shown: Mapping[str, object]) -> dict[str, str]:
    config = cast("Mapping[str, object]", shown.get("Config") or {})
    pairs = (str(text).partition("=") for text in cast("list[str]", config.get("Env") or []))
    return {name: value for name, _, value in pairs}


def _with_files(stack: Stack | None) -> list[tuple[Model, Path]]:
    models = stack.models if stack is not None else ()
    return [(model, model.source.path) for model in models if model.source.path is not None]

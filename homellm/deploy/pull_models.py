"""The files of models that come from a hub: where they are, what has to come, and whether there is room for it.

The `source.path` of such a model is None until its file is known. `locate` sets it for what is in the cache, `ask_hub`
also for what will be there; to everything after them it is a model with a file. A `fallback_source` of a hub is set
alike where it is in the cache; it is asked for when the ladder comes to it (`ollama_prepare`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from types import MappingProxyType
from typing import Literal

from homellm.deploy.hub_room import no_room, size_text
from homellm.deploy.scope import Scope
from homellm.deploy.session import Emit, Options, Ports
from homellm.deploy.threads import apart, side_by_side
from homellm.domain.events import Note, Progress
from homellm.domain.hub import HubModel, HubRef, parse_ref
from homellm.domain.places import problem_at
from homellm.domain.stack import Model, Source, Stack
from homellm.domain.steps import PullModel
from homellm.domain.world import EngineInfo, ModelFile, World
from homellm.errors import ExitCode, HomellmError, HubUnreachable, Interrupted, Problem, Refused
from homellm.planning.memory import memory_problem
from homellm.ports import ModelHub

#: When the hub is asked: as `pull` of a model says, or by `homellm pull`, which then wants an answer.
_Policy = Literal["missing", "always", "never", "asked-for"]


@dataclass(frozen=True, slots=True)
class HubFiles:
    """What a verb's models of a hub are and need.

    `models` are by source, those that can be had; `steps` by source too, for those that have to come. `problems` are
    by the name of the model, `expected` is what will stand at the path of a file that is not here.
    """

    models: Mapping[str, HubModel] = field(default_factory=lambda: MappingProxyType({}))
    steps: Mapping[str, PullModel] = field(default_factory=lambda: MappingProxyType({}))
    problems: Mapping[str, tuple[Problem, ...]] = field(default_factory=lambda: MappingProxyType({}))
    expected: Mapping[str, ModelFile] = field(default_factory=lambda: MappingProxyType({}))

    def located(self, stack: Stack) -> Stack:
        """The stack with the files of its models, here or still to come."""
        return _with_files(stack, self.models)

    def in_world(self, world: World) -> World:
        """The world as it will be once the files have come."""
        return replace(world, model_files={**world.model_files, **self.expected})


def locate(stack: Stack, hub: ModelHub) -> Stack:
    """The stack with the files of its hub models that are here. Asks nobody."""
    own = tuple(model.source for model in stack.models)
    return _with_files(stack, _kept((*own, *_fallbacks(stack.models)), hub))


def _fallbacks(models: tuple[Model, ...]) -> tuple[Source, ...]:
    return tuple(model.fallback_source for model in models if model.fallback_source is not None)


def _kept(sources: tuple[Source, ...], hub: ModelHub) -> dict[str, HubModel]:
    """What the cache has of these sources."""
    wanted = {str(source) for source in sources if source.kind == "hf"}
    found = {source: hub.find(_ref(source), guess=hub.offline) for source in wanted}
    return {source: model for source, model in found.items() if model is not None}


def _with_files(stack: Stack, files: Mapping[str, HubModel]) -> Stack:
    def one(source: Source) -> Source:
        file = files.get(str(source))
        return source if file is None else replace(source, path=file.path)

    def both(model: Model) -> Model:
        last = model.fallback_source
        return replace(model, source=one(model.source), fallback_source=one(last) if last is not None else None)

    return replace(stack, models=tuple(both(model) for model in stack.models)) if files else stack


def _ref(source: str) -> HubRef:
    return parse_ref(source.removeprefix("hf:"))


def ask_hub(
    stack: Stack,
    models: tuple[Model, ...],
    ports: Ports,
    options: Options,
    scope: Scope,
    emit: Emit,
    *,
    anew: bool = False,
) -> HubFiles:
    """Find the files of these models, asking the hub where it has to be asked; `anew` asks it for all of them.

    Brings nothing. What there is no room for on the disk, or by `up` in memory, is refused before hours of download.
    Raises Interrupted and EngineUnreachable.
    """
    users = {str(model.source): _users(str(model.source), models) for model in models if model.source.kind == "hf"}
    kept = _kept(_fallbacks(models), ports.hub)
    if not users:
        return HubFiles(kept)
    info = ports.engine.info()
    if not info.local:
        return HubFiles(problems={m.name: (_far_engine(m, info),) for m in models if m.source.kind == "hf"})
    work: dict[str, Callable[[Emit], HubModel | HomellmError]] = {
        source: partial(_found, source, _policy(using, anew=anew), using[0], ports.hub, scope)
        for source, using in users.items()
    }
    finished = side_by_side(work, emit)
    answers = {source: finished[source] for source in users}  # in the order of the file again
    found = {source: answer for source, answer in answers.items() if isinstance(answer, HubModel)}
    problems = {
        model.name: _placed(answer, model)
        for source, answer in answers.items()
        if isinstance(answer, HomellmError)
        for model in users[source]
    }
    absent = {source: model for source, model in found.items() if not model.complete}
    for source, problem in no_room(absent, ports.hub).items():
        problems |= {model.name: (replace(problem, model=model.name),) for model in users[source]}
    files = HubFiles({**kept, **found}, {s: _step(m, users[s][0]) for s, m in absent.items()}, problems)
    if not anew:
        files = _reckoned(files, stack, users, info, ports, options, scope, emit)
    return _wanted(files, users)


def _users(source: str, models: tuple[Model, ...]) -> tuple[Model, ...]:
    return tuple(model for model in models if str(model.source) == source)


def _policy(using: tuple[Model, ...], *, anew: bool) -> _Policy:
    """Of several models with one source, the one that wants most decides."""
    if anew:
        return "asked-for"
    return next((policy for policy in ("always", "missing") if any(m.pull == policy for m in using)), "never")


def _found(
    source: str, policy: _Policy, model: Model, hub: ModelHub, scope: Scope, emit: Emit
) -> HubModel | HomellmError:
    ref = _ref(source)
    here = hub.find(ref, guess=hub.offline)
    if here is not None and policy in ("missing", "never"):
        return here
    if policy == "never":
        message = f"{ref} is not in {hub.location}, and pull is never"
        return Refused(message, hint=f"Bring it: homellm pull {model.name}", id="model-absent")
    emit(Progress(model.name, "pulling", f"asking the hub for {ref}"))
    try:
        return apart(partial(hub.resolve, ref), scope)
    except Interrupted:
        raise
    except HubUnreachable as error:
        kept = here or hub.find(ref, guess=True)
        if kept is None or policy == "asked-for":
            return error
        emit(Note(f"{error}. What is in {hub.location} is used.", model=model.name, warning=True))
        return kept
    except HomellmError as error:
        return error


def look_there(model: Model, hub: ModelHub) -> ModelFile | Problem | None:
    """What the file of a model will be that is not here, by its header on the hub; None where that cannot be read."""
    try:
        return hub.look(hub.resolve(_ref(str(model.source))))
    except HomellmError as error:
        return _placed(error, model)[0]


def _placed(error: HomellmError, model: Model) -> tuple[Problem, ...]:
    """The problems of a source, at the line that names it."""
    return tuple(
        problem_at(model, "source", id=one.id, message=one.message, hint=one.hint, exit_code=one.exit_code)
        for one in error.problems
    )


def _far_engine(model: Model, info: EngineInfo) -> Problem:
    return problem_at(
        model,
        "source",
        id="hub-engine-remote",
        message=f"the engine is on another machine ({info.address}), whose files homellm cannot bring",
        hint=f"Download {model.source} there, and name the file in its place: gguf:/path/there/model.gguf",
    )


def _step(found: HubModel, model: Model) -> PullModel:
    begun = f", {size_text(found.here_bytes)} of it are here" if found.here_bytes else ""
    cause = f"the model is not here: {size_text(found.size_bytes)}{begun}"
    return PullModel(target=f"hf:{found.ref}", model=model.name, cause=cause, size_bytes=found.missing_bytes)


def _reckoned(
    files: HubFiles,
    stack: Stack,
    users: Mapping[str, tuple[Model, ...]],
    info: EngineInfo,
    ports: Ports,
    options: Options,
    scope: Scope,
    emit: Emit,
) -> HubFiles:
    """Read the headers of what has to come, and refuse what could never run here."""
    work: dict[str, Callable[[Emit], ModelFile]] = {
        source: partial(_looked, files.models[source], ports.hub, scope) for source in files.steps
    }
    seen = side_by_side(work, emit)
    expected = {str(files.models[source].path): file for source, file in seen.items()}
    problems = dict(files.problems)
    if options.fit and expected:
        there = files.located(stack)
        world = World(engine=info, host=ports.host.snapshot(), model_files=expected)
        names = {model.name for source in files.steps for model in users[source]}
        for model in there.models:
            short = memory_problem(model, there, world) if model.name in names else None
            if short is not None and short.exit_code is not ExitCode.OK:
                problems.setdefault(model.name, (short,))
    return replace(files, problems=problems, expected=expected)


def _looked(model: HubModel, hub: ModelHub, scope: Scope, _emit: Emit) -> ModelFile:
    """What a file will be, as far as its header could be read."""
    plain = ModelFile(str(model.path), "ok", size_bytes=model.size_bytes)
    return apart(partial(hub.look, model), scope) or plain


def _wanted(files: HubFiles, users: Mapping[str, tuple[Model, ...]]) -> HubFiles:
    """Without the pulls that nobody could use."""
    useful = {s: step for s, step in files.steps.items() if any(m.name not in files.problems for m in users[s])}
    return replace(files, steps=useful)

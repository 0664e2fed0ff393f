"""`down`: remove what carries the stack's labels, and probes that a killed run left behind; nothing else.

What is named is removed alone: its containers, and neither the network nor anything else.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable
from functools import partial

from homellm.deploy.probes import sweep_probes
from homellm.deploy.scope import Scope
from homellm.deploy.session import Emit, Options, Ports
from homellm.deploy.swap import remove
from homellm.deploy.threads import side_by_side
from homellm.domain.events import Note, StackFinished, StackOpened, StepFinished, StepStarted
from homellm.domain.names import LABEL_STACK, LABEL_UNIT
from homellm.domain.reports import StackReport
from homellm.domain.steps import RemoveContainer, RemoveNetwork
from homellm.domain.world import Container
from homellm.errors import HomellmError, Problem, UsageError

GRACE_S = 10


def down(
    stack_name: str,
    ports: Ports,
    options: Options,  # noqa: ARG001 - every verb takes the same
    scope: Scope,
    emit: Emit,
    only: tuple[str, ...] = (),
    declared: tuple[str, ...] = (),
) -> StackReport:
    """Stop and remove every container and the network of the stack; never models, images or other people's things.

    With `only`, the containers of these models and Ollama servers and nothing else; `declared` are the models that the
    stack file has, for which there may be none. What cannot be removed is in the report, and the rest is removed all
    the same. Raises EngineUnreachable, Locked, UsageError for a name that is neither declared nor has a container.
    """
    info = ports.engine.info()
    with ports.lock(info, stack_name):
        found = ports.engine.list_containers({LABEL_STACK: stack_name})
        if only:
            found = _of(only, found, stack_name, declared, emit)
        sweep_probes(ports)
        emit(StackOpened(stack_name, tuple(sorted({c.label(LABEL_UNIT) for c in found})), (f"Docker {info.version}",)))
        work: dict[str, Callable[[Emit], tuple[Problem, ...]]] = {
            container.name: partial(_remove, container, ports, scope) for container in found
        }
        outcomes = side_by_side(work, emit)
        problems = [problem for found_here in outcomes.values() for problem in found_here]
        removed = [name for name, found_here in outcomes.items() if not found_here]
        removed += [] if only else _networks(stack_name, ports, emit, problems)
    report = StackReport(stack=stack_name, problems=tuple(problems), removed=tuple(sorted(removed)))
    emit(StackFinished(report))
    return report


def _of(
    only: tuple[str, ...], found: tuple[Container, ...], stack_name: str, declared: tuple[str, ...], emit: Emit
) -> tuple[Container, ...]:
    """The containers of the units named, those included that `up` keeps of them."""
    units = sorted({container.label(LABEL_UNIT) for container in found} - {""})
    for name in dict.fromkeys(only):
        if name in units:
            continue
        if name not in declared:
            raise _unknown(name, stack_name, (*declared, *units))
        emit(Note(f"there is no container of {name}; what an Ollama server serves has none of its own", model=name))
    return tuple(container for container in found if container.label(LABEL_UNIT) in only)


def _unknown(name: str, stack_name: str, known: tuple[str, ...]) -> UsageError:
    near = difflib.get_close_matches(name, known, n=1)
    hint = f"Did you mean {near[0]}?" if near else f"It has: {', '.join(dict.fromkeys(known)) or 'none'}."
    return UsageError(f"the stack {stack_name} has no model {name}", hint=hint, id="no-such-model")


def _remove(container: Container, ports: Ports, scope: Scope, emit: Emit) -> tuple[Problem, ...]:
    step = RemoveContainer(target=container.name, cause="down", model=container.label(LABEL_UNIT) or None)
    emit(StepStarted(step))
    try:
        remove(container.id, ports, scope, GRACE_S)
    except HomellmError as error:
        return error.problems
    emit(StepFinished(step))
    return ()


def _networks(stack_name: str, ports: Ports, emit: Emit, problems: list[Problem]) -> list[str]:
    removed: list[str] = []
    for network in ports.engine.list_networks({LABEL_STACK: stack_name}):
        step = RemoveNetwork(target=network.name, cause="down")
        emit(StepStarted(step))
        try:
            ports.engine.remove_network(network.name)
        except HomellmError as error:
            problems += error.problems
            continue
        removed.append(network.name)
        emit(StepFinished(step))
    return removed

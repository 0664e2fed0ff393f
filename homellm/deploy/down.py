"""`down`: remove what carries the stack's labels, and probes that a killed run left behind; nothing else."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from homellm.deploy.probes import sweep_probes
from homellm.deploy.scope import Scope
from homellm.deploy.session import Emit, Options, Ports
from homellm.deploy.swap import remove
from homellm.deploy.threads import side_by_side
from homellm.domain.events import StackFinished, StackOpened, StepFinished, StepStarted
from homellm.domain.names import LABEL_STACK, LABEL_UNIT
from homellm.domain.reports import StackReport
from homellm.domain.steps import RemoveContainer, RemoveNetwork
from homellm.domain.world import Container
from homellm.errors import HomellmError, Problem

GRACE_S = 10


def down(
    stack_name: str,
    ports: Ports,
    options: Options,  # noqa: ARG001 - every verb takes the same
    scope: Scope,
    emit: Emit,
) -> StackReport:
    """Stop and remove every container and the network of the stack; never models, images or other people's things.

    What cannot be removed is in the report, and the rest is removed all the same. Raises EngineUnreachable, Locked.
    """
    info = ports.engine.info()
    with ports.lock(info, stack_name):
        sweep_probes(ports)
        found = ports.engine.list_containers({LABEL_STACK: stack_name})
        emit(StackOpened(stack_name, tuple(sorted({c.label(LABEL_UNIT) for c in found})), (f"Docker {info.version}",)))
        work: dict[str, Callable[[Emit], tuple[Problem, ...]]] = {
            container.name: partial(_remove, container, ports, scope) for container in found
        }
        outcomes = side_by_side(work, emit)
        problems = [problem for found_here in outcomes.values() for problem in found_here]
        removed = [name for name, found_here in outcomes.items() if not found_here]
        removed += _networks(stack_name, ports, emit, problems)
    report = StackReport(stack=stack_name, problems=tuple(problems), removed=tuple(sorted(removed)))
    emit(StackFinished(report))
    return report


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

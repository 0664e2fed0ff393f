"""`plan` and `up --dry-run`: what would be done, with causes and undos, and nothing done."""

from __future__ import annotations

from homellm.deploy.gather import gather
from homellm.deploy.orphans import orphan_steps
from homellm.deploy.pull import missing_images, with_images
from homellm.deploy.select import select
from homellm.deploy.session import Options, Ports
from homellm.deploy.settle import settle
from homellm.deploy.up import network_step
from homellm.domain.reports import PlanReport
from homellm.domain.stack import Stack
from homellm.domain.steps import Step
from homellm.errors import Problem
from homellm.planning.reconcile import reconcile


def plan(stack: Stack, only: tuple[str, ...], ports: Ports, options: Options) -> PlanReport:
    """The steps that `up` would carry out now.

    Never pulls: with an image absent there is a step for it, and the flags of its model are assumed.
    """
    models = select(stack, only)
    world = gather(stack, models, ports)
    pulls: list[Step] = list(missing_images(with_images(stack, models), ports).values())
    network = network_step(stack, world)
    steps: list[Step] = []
    problems: list[Problem] = []
    assumed: list[str] = []
    for model in models:
        desired, unit, found = settle(model, stack, world, fit=options.fit)
        if desired.assumed:
            assumed.append(model.name)
        if found:
            problems += found
            continue
        steps += reconcile(desired, unit, force=options.force_recreate).steps
    if options.remove_orphans and not only:
        steps += orphan_steps(stack, world)
    before: list[Step] = [*pulls, network] if network is not None and steps else pulls
    return PlanReport(stack=stack.name, steps=(*before, *steps), problems=tuple(problems), assumed=tuple(assumed))

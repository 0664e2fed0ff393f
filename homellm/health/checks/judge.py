"""All checks of a model, in the order in which people read them: gates first."""

from __future__ import annotations

from homellm.domain.evidence import Evidence
from homellm.domain.stack import SERVER_PORT, Model
from homellm.domain.verdicts import Verdict
from homellm.domain.world import Container
from homellm.health.checks import device, files, gates, host, limits, memory, serving
from homellm.health.checks.case import Case, Check

CHECKS: tuple[Check, ...] = (
    gates.ready,
    gates.slots,
    gates.ctx,
    device.device,
    gates.api,
    memory.mlock,
    files.files,
    host.cpus,
    host.port,
    host.exposure,
    host.networks,
    host.restarts,
    device.offload,
    serving.cache_reuse,
    serving.reasoning,
    serving.template,
    serving.projector,
    serving.flash_attention,
    serving.kv_cache,
    serving.batch,
    serving.concurrency,
    host.groups,
    limits.limits,
    memory.memory,
)


#: Those that inspect alone decides, and that change while a container runs.
BY_INSPECT: tuple[Check, ...] = (limits.restart_policy, limits.limits, host.networks)


def judge_inspected(model: Model, container: Container, server_port: int = SERVER_PORT) -> tuple[Verdict, ...]:
    """What of a container is not as declared, by inspect alone: for who looks and asks nobody.

    A port is published by a network: one that was disconnected from it publishes none.
    """
    case = Case(model, Evidence(container=container))
    found = (host.port(case, server_port), *(check(case) for check in BY_INSPECT))
    return tuple(verdict for verdict in found if verdict is not None and verdict.verdict == "fail")


def judge_all(
    model: Model, evidence: Evidence, *, expected_path: str = "", settled: bool = False
) -> tuple[Verdict, ...]:
    """Hold what was observed against what is declared.

    `expected_path` is where the model's weights are mounted in the container; empty when it does not matter. A check
    of something that is not declared gives no verdict. `settled` is one that no swap is at work on: then its restart
    policy counts too, which a swap sets once all else is proved.
    """
    case = Case(model, evidence, expected_path)
    checks = (*CHECKS, limits.restart_policy) if settled else CHECKS
    return tuple(verdict for check in checks if (verdict := check(case)) is not None)

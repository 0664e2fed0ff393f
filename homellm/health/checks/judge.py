"""All checks of a model, in the order in which people read them: gates first."""

from __future__ import annotations

from homellm.domain.evidence import Evidence
from homellm.domain.stack import Model
from homellm.domain.verdicts import Verdict
from homellm.health.checks import device, files, gates, host, memory, serving
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
    memory.limits,
    memory.memory,
)


def judge_all(model: Model, evidence: Evidence, *, expected_path: str = "") -> tuple[Verdict, ...]:
    """Hold what was observed against what is declared.

    `expected_path` is where the model's weights are mounted in the container; empty when it does not matter. A check
    of something that is not declared gives no verdict.
    """
    case = Case(model, evidence, expected_path)
    return tuple(verdict for check in CHECKS if (verdict := check(case)) is not None)

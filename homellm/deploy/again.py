"""What the next `up` will tell of a model that this one has proved, as long as nothing changes. Pure."""

from __future__ import annotations

from dataclasses import replace

from homellm.deploy.telling import with_verdicts
from homellm.domain.evidence import LogSummary
from homellm.domain.reports import ModelReport
from homellm.domain.stack import Model
from homellm.domain.verdicts import judge
from homellm.health.checks import judge_all
from homellm.health.merge import merge, reaches_back


def looked_at_again(model: Model, report: ModelReport) -> ModelReport | None:
    """The report of a look at it (deploy.look), by the same witnesses and the record that was made of the proof.

    The log and the one request are then told by the record. None for a report without evidence.
    """
    seen = report.seen
    if seen is None:
        return None
    log, recorded = merge(LogSummary(), seen.log)
    recorded |= {"chat"} if seen.chat is not None else set()
    evidence = replace(seen, log=log, log_from_start=reaches_back(log), recorded=recorded, ready_s=None)
    verdicts = judge_all(model, evidence)
    plain = replace(report, state=judge(verdicts), ready_s=None, notes=(), problems=(), changed=False)
    return with_verdicts(plain, verdicts, evidence)

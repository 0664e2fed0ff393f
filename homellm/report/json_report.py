"""Reports as JSON: the documented keys and no other. Pure: a report in, plain dicts out, text by `text`."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence

from homellm.domain.reports import ModelReport, PlanReport, StackReport
from homellm.domain.steps import CreateNetwork, PullImage, PullModel, RemoveNetwork, Step
from homellm.domain.verdicts import Native, Verdict
from homellm.errors import Problem

Document = dict[str, object]

#: Characters of a text that a server may have written: enough for any error, and no megabyte in a log of cron's.
LONGEST = 4000


def stack_document(report: StackReport) -> Document:
    """What `up`, `check`, `ps`, `restart`, `pull` and `down` print."""
    errors = [*map(problem_document, report.problems), *(_of_model(m, p) for m in report.models for p in m.problems)]
    document: Document = {"stack": report.stack, "models": [_model(model) for model in report.models], "errors": errors}
    return document if report.orphans is None else {**document, "orphans": list(report.orphans)}


def plan_document(report: PlanReport) -> Document:
    """What `plan` and `up --dry-run` print."""
    return {
        "stack": report.stack,
        "changes": report.changes,
        "steps": [_step(step) for step in report.steps],
        "summary": [{"name": one.name, "action": one.action, "because": one.because} for one in report.summaries],
        "notes": [{"name": name, "text": text} for name, text in report.notes],
        "models": [],
        "errors": [problem_document(problem) for problem in report.problems],
    }


def error_document(stack: str | None, problems: Sequence[Problem]) -> Document:
    """What every verb prints when it could not begin: no models, and why. `stack` is null where it is not known."""
    return {"stack": stack, "models": [], "errors": [problem_document(problem) for problem in problems]}


def text(document: Document) -> str:
    """The document as text, with one newline at its end."""
    return json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _model(model: ModelReport) -> Document:
    fallback = model.fallback
    edited: Document = {} if model.edited is None else {"edited": model.edited}
    return {
        "name": model.name,
        "runner": model.runner,
        "container": model.container,
        "endpoint": model.endpoint,
        "state": model.state.value,
        "ready_s": None if model.ready_s is None else round(model.ready_s, 3),
        "checks": [_check(verdict) for verdict in model.checks],
        "fallback": None
        if fallback is None
        else {
            "from": fallback.from_runner,
            "reason": fallback.reason,
            "line": fallback.line,
            "rung": fallback.rung,
            "since": fallback.since,
        },
        **edited,
    }


def _check(verdict: Verdict) -> Document:
    return {
        "id": verdict.id,
        "asked": _native(verdict.asked),
        "observed": _native(verdict.observed),
        "verdict": verdict.verdict,
        "source": verdict.source,
        "hint": verdict.hint,
    }


def _native(value: Native) -> Native:
    """The value itself; JSON has no number for what is not finite."""
    if isinstance(value, str):
        return bounded(value)
    return None if isinstance(value, float) and not math.isfinite(value) else value


def bounded(text: str) -> str:
    """A text of at most LONGEST characters, with `…` in place of what is lost."""
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


def problem_document(problem: Problem) -> Document:
    """A problem as `errors` has it."""
    return {
        "id": problem.id,
        "message": bounded(problem.message),
        "hint": problem.hint,
        "file": problem.file,
        "line": problem.line,
        "column": problem.column,
        "model": problem.model,
    }


def _of_model(model: ModelReport, problem: Problem) -> Document:
    return problem_document(problem) | {"model": problem.model or model.name}


def _step(step: Step) -> Document:
    """`container` is null for a step on an image, a model or a network, whose name then stands in the cause."""
    other = isinstance(step, PullImage | PullModel | CreateNetwork | RemoveNetwork)
    cause = step.cause if not other or step.target in step.cause else f"{step.target}: {step.cause}"
    return {
        "kind": step.kind,
        "model": step.model,
        "container": None if other else step.target,
        "cause": cause,
        "undo": step.undo_text,
    }

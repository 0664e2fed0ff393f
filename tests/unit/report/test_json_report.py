"""The JSON documents: exactly the documented keys, native values, valid text whatever is inside."""

from __future__ import annotations

import json
from dataclasses import replace

from homellm.domain.reports import ModelReport, PlanReport, PlanSummary, StackReport
from homellm.domain.spec import ContainerSpec
from homellm.domain.steps import CreateContainer, CreateNetwork, PullImage, RemoveContainer, StartContainer
from homellm.domain.verdicts import State, Verdict
from homellm.errors import ExitCode, Problem
from homellm.report.json_report import error_document, plan_document, stack_document, text
from tests.unit.report.examples import CHECKS, CUT_SHORT, MOVED, stack

PROBLEM = Problem(
    id="unknown-key",
    message="unknown key",
    hint="parallel",
    file="nuc.yaml",
    line=12,
    column=5,
    excerpt="    paralel: 3\n    ^",
    exit_code=ExitCode.USAGE,
)


def test_a_model_has_the_documented_keys_and_no_other() -> None:
    report = stack(replace(MOVED, checks=CHECKS[:1]))
    assert json.loads(text(stack_document(report))) == {
        "stack": "nuc",
        "models": [
            {
                "name": "lfm2.5",
                "runner": "llama-server",
                "container": "nuc-lfm2.5",
                "endpoint": "http://127.0.0.1:11435/v1",
                "state": "verified",
                "ready_s": 41.2,
                "checks": [
                    {"id": "slots", "asked": 3, "observed": 3, "verdict": "pass", "source": "/props", "hint": ""}
                ],
                "fallback": {
                    "from": "ollama",
                    "reason": MOVED.fallback.reason if MOVED.fallback else "",
                    "line": "level=WARN source=sched.go:509 msg=… architecture=lfm2",
                    "rung": "llama-server",
                    "since": "2026-11-30T12:03:41Z",
                },
            }
        ],
        "errors": [],
    }


def test_asked_and_observed_are_native() -> None:
    values: tuple[str | int | float | bool | None, ...] = (3, "0-3", True, 0.5, None, 1717986918)
    verdicts = tuple(Verdict("x", value, value, "pass", "") for value in values)
    document = json.loads(text(stack_document(stack(ModelReport("m", State.VERIFIED, checks=verdicts)))))
    checks = document["models"][0]["checks"]
    assert [check["asked"] for check in checks] == [check["observed"] for check in checks] == list(values)
    assert checks[2]["asked"] is True


def test_errors_of_models_name_their_model_and_those_of_the_stack_none() -> None:
    report = StackReport(stack="nuc", models=(CUT_SHORT,), problems=(PROBLEM,))
    errors = json.loads(text(stack_document(report)))["errors"]
    assert errors == [
        {
            "id": "unknown-key",
            "message": "unknown key",
            "hint": "parallel",
            "file": "nuc.yaml",
            "line": 12,
            "column": 5,
            "model": None,
        },
        {
            "id": "model-corrupt",
            "message": "model file is cut short (98 of 1597 MB)",
            "hint": "homellm pull lfm2.5",
            "file": None,
            "line": None,
            "column": None,
            "model": "lfm2.5",
        },
    ]


def test_a_verb_that_could_not_begin() -> None:
    document = json.loads(text(error_document(None, (PROBLEM,))))
    assert (document["stack"], document["models"]) == (None, [])
    assert [error["id"] for error in document["errors"]] == ["unknown-key"]


def test_a_plan() -> None:
    undo = (RemoveContainer(target="nuc-m.next", cause="undo"), StartContainer(target="nuc-m", cause="undo"))
    spec = ContainerSpec(name="nuc-m", image="x")
    report = PlanReport(
        stack="nuc",
        steps=(
            PullImage(target="ghcr.io/x:1", cause="the image is not here", model="m"),
            CreateNetwork(target="homellm-nuc", cause="network homellm-nuc is not there"),
            CreateContainer(target="nuc-m.next", cause="ctx changed", model="m", spec=spec, undo=undo),
        ),
        summaries=(PlanSummary("m", "replace", "ctx changed"),),
        notes=(("m", "a word"),),
    )
    assert json.loads(text(plan_document(report))) == {
        "stack": "nuc",
        "changes": True,
        "summary": [{"name": "m", "action": "replace", "because": "ctx changed"}],
        "notes": [{"name": "m", "text": "a word"}],
        "steps": [
            {
                "kind": "pull",
                "model": "m",
                "container": None,
                "cause": "ghcr.io/x:1: the image is not here",
                "undo": "",
            },
            {
                "kind": "create-network",
                "model": None,
                "container": None,
                "cause": "network homellm-nuc is not there",
                "undo": "",
            },
            {
                "kind": "create",
                "model": "m",
                "container": "nuc-m.next",
                "cause": "ctx changed",
                "undo": "remove nuc-m.next, start nuc-m",
            },
        ],
        "models": [],
        "errors": [],
    }


def test_text_is_json_whatever_is_inside() -> None:
    verdict = Verdict("x", float("inf"), float("nan"), "unknown", "\x1b[2J\udcff")
    document = text(stack_document(stack(ModelReport("m\n", State.FAILED, checks=(verdict,)))))
    raw = document.encode("utf-8", "backslashreplace")
    check = json.loads(raw)["models"][0]["checks"][0]
    assert (check["asked"], check["observed"], check["source"]) == (None, None, "\x1b[2J\udcff")


def test_what_ps_alone_tells() -> None:
    report = replace(stack(ModelReport("m", State.UNVERIFIED, edited=True)), orphans=("nuc-old",))
    document = stack_document(report)
    assert (document["models"][0]["edited"], document["orphans"]) == (True, ["nuc-old"])  # type: ignore[index]
    assert "orphans" not in stack_document(stack(ModelReport("m", State.VERIFIED)))

"""Reports as the tests of report/ use them; the first is the one of the README."""

from __future__ import annotations

from pathlib import Path

from homellm.domain.reports import Fallback, ModelReport, StackReport
from homellm.domain.verdicts import State, Verdict
from homellm.errors import Problem

GOLDEN = Path(__file__).parents[2] / "golden"


def golden(name: str) -> str:
    """The text that a table has to be."""
    return (GOLDEN / name).read_text(encoding="utf-8")


FACTS = ("Intel Iris Xe (0000:00:02.0, renderD128, group 993)", "Docker 27.1")

MOVED = ModelReport(
    name="lfm2.5",
    state=State.VERIFIED,
    runner="llama-server",
    container="nuc-lfm2.5",
    endpoint="http://127.0.0.1:11435/v1",
    ready_s=41.2,
    slots=3,
    ctx=32768,
    device="Iris Xe, Vulkan",
    changed=True,
    fallback=Fallback(
        from_runner="ollama",
        reason="asked Ollama 0.33.0 for 3 slots, got 1: architecture lfm2 does not support parallel requests there",
        line="level=WARN source=sched.go:509 msg=… architecture=lfm2",
        rung="llama-server",
        since="2026-11-30T12:03:41Z",
    ),
)
EMBED = ModelReport(
    name="embed",
    state=State.VERIFIED,
    runner="llama-server",
    container="nuc-embed",
    endpoint="http://127.0.0.1:11436/v1",
    ready_s=3.04,
    slots=4,
    ctx=2048,
    device="Iris Xe, Vulkan",
    changed=True,
)
CUT_SHORT = ModelReport(
    name="lfm2.5",
    state=State.FAILED,
    runner="llama-server",
    container="nuc-lfm2.5",
    endpoint="http://127.0.0.1:11435/v1",
    problems=(Problem("model-corrupt", "model file is cut short (98 of 1597 MB)", "homellm pull lfm2.5"),),
    notes=("The server that ran before serves again, verified",),
)
CHECKS = (
    Verdict("slots", 3, 3, "pass", "/props", gate=True),
    Verdict("ctx", 32768, 32768, "pass", "/props", gate=True),
    Verdict("device", "iris", "Vulkan0 Intel(R) Iris(R) Xe", "pass", "log 12:03:41", gate=True),
    Verdict("mlock", True, 1717986918, "pass", "process 4711", gate=True, text="1.6 GiB of 1.6 GiB locked"),
    Verdict(
        "cache-reuse",
        256,
        False,
        "fail",
        "log 12:03:52",
        "This model's attention cannot shift its cache; set cache_reuse: 0.",
        text="off: not supported by this context",
    ),
    Verdict("cpus", "0-3", None, "unknown", "", "The process cannot be read from here."),
    Verdict("keep-alive", None, None, "not-applicable", ""),
)


def stack(*models: ModelReport, **fields: object) -> StackReport:
    """A report of the stack `nuc`."""
    return StackReport(stack="nuc", models=models, **fields)  # type: ignore[arg-type]

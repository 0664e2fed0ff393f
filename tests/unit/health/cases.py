"""A model, what was seen of its server when all is well, and how the tests of checks ask for one verdict."""

from __future__ import annotations

from pathlib import Path

from homellm.domain.evidence import Chat, Evidence, LogSummary, Props
from homellm.domain.signals import Signal
from homellm.domain.stack import Model, Source
from homellm.domain.verdicts import Verdict
from homellm.domain.world import Container, HostGpu, Process
from homellm.health.checks import judge_all

MIB = 1024 * 1024
PATH = "/models/smol.gguf"
MODEL = Model(name="smol", source=Source("gguf", PATH, Path(PATH)), image="i", parallel=3, ctx=2048, port=18080)
CONTAINER = Container(
    id="c",
    name="nuc-smol",
    image_id="sha256:1",
    image="i",
    status="running",
    pid=4711,
    restart_policy="unless-stopped",
    ports=(("127.0.0.1", 18080, 8080),),
)
PROPS = Props(total_slots=3, n_ctx=2048, model_alias="smol", model_path=PATH)
PROCESS = Process(pid=4711, cpus="0-3", locked_bytes=0, resident_bytes=200 * MIB, groups=(0, 993))
IRIS = HostGpu(
    pci="0000:00:02.0",
    id="8086:9a49",
    vendor="intel",
    name="Iris Xe Graphics",
    render_node="renderD128",
    render_gid=993,
)
SEEN = Evidence(
    container=CONTAINER,
    url="http://127.0.0.1:18080",
    reachable=True,
    healthy=True,
    props=PROPS,
    chat=Chat(200, "smol", 1),
    process=PROCESS,
    weights_bytes=96_576_768,
)


def says(*ids: str, **facts: object) -> LogSummary:
    """A log with problems of these ids."""
    problems = tuple(Signal(name, name, problem=True, hint="h") for name in ids)
    return LogSummary(problems=problems, known=True, **facts)  # type: ignore[arg-type]


def check(name: str, model: Model = MODEL, evidence: Evidence = SEEN, path: str = PATH) -> Verdict:
    """The one verdict of that name."""
    (verdict,) = [v for v in judge_all(model, evidence, expected_path=path) if v.id == name]
    assert verdict.hint or verdict.verdict == "pass"
    return verdict


def checks(model: Model, evidence: Evidence = SEEN) -> dict[str, Verdict]:
    return {verdict.id: verdict for verdict in judge_all(model, evidence, expected_path=PATH)}

"""Reports of one model, from what was found."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from homellm.deploy.gates import gate_problem
from homellm.deploy.witness import base_urls
from homellm.domain.evidence import Evidence, OllamaEvidence
from homellm.domain.names import LABEL_UNIT, inside_url, network_name, ollama_url
from homellm.domain.published import endpoint_on, endpoint_seen
from homellm.domain.reports import ModelReport
from homellm.domain.stack import OLLAMA_PORT, SERVER_PORT, Model, OllamaServer, Stack
from homellm.domain.verdicts import State, Verdict, judge
from homellm.domain.world import Container
from homellm.errors import Problem

if TYPE_CHECKING:
    from homellm.deploy.ollama_reached import Reached
    from homellm.planning.ladder import End


def serving_report(model: Model, container: Container | None, state: State) -> ModelReport:
    """A model that a llama-server serves in `container`, at the address that this one publishes."""
    return ModelReport(
        name=model.name,
        state=state,
        runner=model.runner,
        container=container.name if container else None,
        endpoint=endpoint_seen(model, container) if container else None,
    )


def failed_report(model: Model, problems: tuple[Problem, ...], current: Container | None) -> ModelReport:
    """A model that is not as declared; `current` bears its name now, or is its Ollama server, and may well serve.

    One that ended and came back is not said to serve: that nobody looked at.
    """
    mine = tuple(problem if problem.model else replace(problem, model=model.name) for problem in problems)
    report = ModelReport(name=model.name, state=State.FAILED, problems=mine)
    if current is None or not current.running or current.status == "paused":
        return report
    on_server = model.runner == "ollama" and current.label(LABEL_UNIT) == model.server
    urls = base_urls(current, OLLAMA_PORT if on_server else SERVER_PORT)
    note = f"What ran before still serves: {current.name}."
    if current.restart_count:
        note = f"What ran before is still there: {current.name}. homellm check {model.name} tells whether it serves."
    return replace(
        report,
        container=current.name,
        runner=model.runner,
        endpoint=f"{urls[0]}/v1" if urls else None,
        notes=(note,),
    )


def with_verdicts(report: ModelReport, verdicts: tuple[Verdict, ...], evidence: Evidence) -> ModelReport:
    """The report with its checks and with what people read in one line: slots, context and device as observed."""
    props = evidence.props
    return replace(
        report,
        checks=verdicts,
        slots=props.total_slots if props and props.total_slots is not None else evidence.log.slots,
        ctx=props.n_ctx if props and props.n_ctx is not None else evidence.log.ctx_per_slot,
        device=evidence.log.device,
        seen=evidence,
    )


def with_shadow(report: ModelReport, shadow: Verdict) -> ModelReport:
    """The report of a model that moved, with what its Ollama still does with it: advice like any other."""
    degraded = report.state is State.VERIFIED and shadow.verdict == "fail"
    state = State.DEGRADED if degraded else report.state
    return replace(report, checks=(*report.checks, shadow), state=state)


def ollama_report(
    model: Model, reached: Reached, evidence: OllamaEvidence, verdicts: tuple[Verdict, ...], end: End
) -> ModelReport:
    """A model on an Ollama server. Where the ladder ended there with fewer slots, the slots are advice: degraded."""
    if end.state == "degraded":
        verdicts = tuple(replace(v, gate=False) if v.id == "slots" else v for v in verdicts)
    gates = tuple(v for v in verdicts if v.gate and v.verdict in ("fail", "unknown"))
    loaded, load = evidence.loaded, evidence.load
    return ModelReport(
        name=model.name,
        state=judge(verdicts),
        runner="ollama",
        container=reached.container.name if reached.container else None,
        endpoint=endpoint_on(reached.server, reached.container),
        ready_s=evidence.ready_s,
        checks=verdicts,
        problems=tuple(gate_problem(gate, model.name) for gate in gates),
        notes=tuple(filter(None, (end.reason, end.hint))) if end.state == "degraded" else (),
        slots=load.slots if load else None,
        ctx=loaded.ctx if loaded else None,
        device=load.device if load else None,
        changed=evidence.ready_s is not None,
    )


def out_of_reach(model: Model, server: OllamaServer, stack: Stack) -> tuple[str, ...]:
    """That one which has moved is not published: a client that asks Ollama, as before, gets another copy of it."""
    if model.port is not None:
        return ()
    network, before = network_name(stack.name), ""
    if server.url or server.port:
        before = f" A client that still asks {ollama_url(server)} makes Ollama load it again, with fewer slots."
    return (
        f"It is reached in the network {network} alone, at {inside_url(model)}/v1.{before}"
        f" To reach it from this machine give {model.name} a `port` of its own in the stack file, and run homellm up.",
    )

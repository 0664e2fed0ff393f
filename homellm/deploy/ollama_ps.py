"""`ps` of a model that Ollama is to serve: by inspect, and by the records of its server and of what it moved to."""

from __future__ import annotations

from dataclasses import replace

from homellm.deploy.look import paused, starting_report
from homellm.deploy.ollama_record import Proof, ServerRecord, outcomes_of, read_server_record
from homellm.deploy.recorded import stuck, told_back, with_failed
from homellm.deploy.session import Ports
from homellm.deploy.unapplied import Held, drifted, held, held_by_record, is_settled
from homellm.deploy.unapplied import told as told_held
from homellm.domain.names import server_container_name
from homellm.domain.published import endpoint_on
from homellm.domain.reports import Fallback, ModelReport
from homellm.domain.stack import OLLAMA_PORT, Model, OllamaServer, Stack
from homellm.domain.verdicts import State
from homellm.domain.world import Container
from homellm.errors import ExitCode, Problem
from homellm.health.checks import judge_inspected
from homellm.health.checks.ollama import of_server
from homellm.planning.ladder import Asked, Outcome
from homellm.planning.ladder_record import fallback_of
from homellm.planning.units import sort_unit


def server_of(model: Model, stack: Stack) -> OllamaServer:
    """The Ollama server that a model is declared on. Raises ValueError where the loader gave it none."""
    server = stack.ollama_server(model.server)
    if server is None:
        raise ValueError(f"the loader gives every model of Ollama's a server, and {model.name} has none")
    return server


def server_container(model: Model, stack: Stack, containers: tuple[Container, ...]) -> Container | None:
    """The container of the Ollama server that a model is declared on; None where there is none, or none of ours."""
    server = stack.ollama_server(model.server) if model.runner == "ollama" else None
    if server is None or not server.ours:
        return None
    name = server_container_name(stack, server)
    return next((container for container in containers if container.name == name), None)


def told(outcomes: tuple[Outcome, ...], *, moved: bool = True) -> Fallback | None:
    """What the outcomes mean by themselves, whatever is asked now; `moved` tells whether anything but Ollama serves."""
    trial = next((o for o in outcomes if o.rung == "ollama"), None)
    return fallback_of(Asked(key=trial.key), outcomes, moved=moved) if trial is not None else None


def is_away(model: Model, own: Container | None, record: ServerRecord) -> bool:
    """Whether a model is to be served by a llama-server that is not there: somebody took it down, `homellm down` say.

    Nothing of ours serves it then: Ollama has let go of it, whatever it would give to who asks. One that went back to
    Ollama has a proof there.
    """
    outcomes = record.outcomes.get(model.name, ())
    moved = any(outcome.served and outcome.rung != "ollama" for outcome in outcomes)
    return own is None and moved and model.fallback != "none" and model.name not in record.proofs


def server_down(server: OllamaServer, container: Container | None, model: str) -> Problem | None:
    """That the Ollama server of one that has moved does not run: it serves, and the stack is not as declared."""
    frozen = container is not None and paused(container)
    if not server.ours or (container is not None and container.running and not frozen):
        return None
    return Problem(
        id="paused" if frozen else "not-running",
        message=f"the Ollama server {server.name}, from which {model} has moved, "
        + ("is paused" if frozen else "does not run"),
        hint=f"Let it go on: docker unpause {container.name}" if frozen and container else "homellm up starts it.",
        model=model,
        exit_code=ExitCode.DEGRADED,
    )


def beside_its_server(report: ModelReport, problem: Problem | None) -> ModelReport:
    """The report of one that has moved, with what is wrong with the server that it left."""
    if problem is None:
        return report
    state = State.DEGRADED if report.state is State.VERIFIED else report.state
    return replace(report, state=state, problems=(*report.problems, problem))


def ps_moved(
    report: ModelReport,
    model: Model,
    current: Container,
    stack: Stack,
    containers: tuple[Container, ...],
    ports: Ports,
) -> ModelReport:
    """One that a llama-server serves, by what inspect and its record told (`report`), with why it moved."""
    server = server_of(model, stack)
    container = server_container(replace(model, runner="ollama"), stack, containers)
    record = read_server_record(container, server.url or "", ports)
    report = replace(report, fallback=told(outcomes_of(model.name, current, record)))
    return beside_its_server(report, server_down(server, container, model.name))


def ps_on_ollama(model: Model, stack: Stack, containers: tuple[Container, ...], ports: Ports) -> ModelReport:
    """A model on an Ollama server by inspect and record alone."""
    server = server_of(model, stack)
    container = server_container(model, stack, containers)
    unit = sort_unit(server_container_name(stack, server), server.name, containers) if server.ours else None
    begun = starting_report(model, unit) if unit is not None else None
    if begun is not None:
        return begun
    if server.ours and container is None:
        return ModelReport(name=model.name, state=State.ABSENT)
    record = read_server_record(container, server.url or "", ports)
    if is_away(model, None, record):
        return ModelReport(name=model.name, state=State.ABSENT)
    base = ModelReport(
        name=model.name,
        state=State.UNVERIFIED,
        runner="ollama",
        container=container.name if container else None,
        endpoint=endpoint_on(server, container),
        fallback=told(record.outcomes.get(model.name, ()), moved=False),
    )
    proof = record.proofs.get(model.name)
    report = _of_server(base, model, container, record, proof, ports)
    of_model = held_by_record(model, stack, proof.declared) if proof is not None else Held(False)
    own = held(server, stack, container, lambda: record.own_declared) if container is not None else Held(False)
    report = told_held(report, own, of_model)
    if container is None or unit is None or not is_settled(unit, server):
        return report
    return drifted(report, judge_inspected(of_server(model, server), container, OLLAMA_PORT))


def _of_server(
    base: ModelReport,
    model: Model,
    container: Container | None,
    record: ServerRecord,
    proof: Proof | None,
    ports: Ports,
) -> ModelReport:
    """With what is known of its server's present run: nothing where it began anew, whoever did that."""
    if container is not None:
        problem = stuck(model, container, ports, proved=container.running and bool(record.proofs))
        if problem is not None:
            return replace(base, state=State.FAILED, problems=(problem,), fallback=None)
        if not container.running:
            return replace(base, state=State.STOPPED, endpoint=None, fallback=None)
    report = base
    if proof is not None:
        report = with_failed(replace(base, state=proof.state), proof.gates, proof.seen_at)
    back = told_back(container, model.name) if container is not None else ()
    load = record.loads.get(model.name)
    return replace(
        report,
        notes=(*report.notes, *back),
        slots=load.slots if load else None,
        ctx=load.ctx_per_slot if load else None,
        device=load.device if load else None,
    )

"""A model that Ollama is to serve, where it is now: on its server, or moved to a llama-server. Nothing is changed."""

from __future__ import annotations

from dataclasses import replace

from homellm.deploy.gather import gather
from homellm.deploy.job import Job
from homellm.deploy.look import examine, look, not_ready, starting_report
from homellm.deploy.observe import TOKEN_S, subject_of
from homellm.deploy.ollama_load import embeds, observe
from homellm.deploy.ollama_made import looks_changed
from homellm.deploy.ollama_models import Named, lookup
from homellm.deploy.ollama_reached import Reached
from homellm.deploy.ollama_record import outcomes_of, read_server_record
from homellm.deploy.ollama_server import find, server_unit, settle_server
from homellm.deploy.ollama_successor import successor
from homellm.deploy.session import Ports
from homellm.deploy.settle import settle, unit_of
from homellm.deploy.telling import ollama_report, with_shadow
from homellm.deploy.token import Tell, wait_for_token
from homellm.deploy.unapplied import difference, hold_off
from homellm.deploy.witness import ask_token
from homellm.domain.names import server_container_name
from homellm.domain.published import endpoint_on
from homellm.domain.reports import Fallback, ModelReport
from homellm.domain.stack import Model, OllamaServer, Stack
from homellm.domain.verdicts import State
from homellm.domain.world import Container
from homellm.errors import Refused
from homellm.health.checks.ollama import judge_ollama, shadow_load
from homellm.planning.ladder import Asked, End, Outcome
from homellm.planning.ladder_record import fallback_of
from homellm.planning.units import sort_unit
from homellm.runners.ollama_models import served_name


def check_on_ollama(model: Model, job: Job, tell: Tell) -> ModelReport:
    """Hold a model of an Ollama server against what is declared, by every witness. Raises HomellmError."""
    server = _server(model, job.stack)
    begun = starting_report(model, server_unit(server, job.stack, job.world)) if server.ours else None
    if begun is not None:
        return not_ready(begun)
    reached = find(server, job.stack, job.ports)
    name = served_name(model)
    record = read_server_record(reached.container, reached.url, job.ports)
    named = Named(name, lookup(name, reached), reached.api.show(name), record)
    unit = unit_of(model, job.stack, job.world)
    changed = looks_changed(model, name, record, job.ports.files)
    outcomes = outcomes_of(model.name, unit.current, record)
    fallback = told(outcomes)
    if unit.current is not None and fallback is not None:
        changed = changed or _brought_back(model)
        report = replace(_check_moved(model, fallback, outcomes, named, job, tell, changed), fallback=fallback)
        return with_shadow(report, shadow_load(model, server, observe(model, named, reached, job)))
    evidence = observe(model, named, reached, job)
    asked = replace(model, embedding=embeds(model, named))
    chat = wait_for_token(lambda: ask_token(reached.url, asked, job.ports.http, None, TOKEN_S), tell)
    evidence = replace(evidence, chat=chat)
    stays = fallback is not None and (fallback.rung == "ollama" or model.fallback == "none")
    end = End("ollama", "degraded" if stays else "verified")
    differs = _server_differs(reached, job) or changed
    verdicts = hold_off(judge_ollama(model, server, evidence), differs, model.name)
    report = ollama_report(model, reached, evidence, verdicts, end)
    notes = (differs, *report.notes) if differs else report.notes
    return replace(report, fallback=told(outcomes, moved=False), changed=False, notes=notes)


def _brought_back(model: Model) -> str:
    """That what llama-server serves is to go back to Ollama, as a sentence; empty where it is to stay."""
    return (
        "fallback: none is declared, and it has moved; homellm up brings it back." if model.fallback == "none" else ""
    )


def _server_differs(reached: Reached, job: Job) -> str:
    """Why the server is not the one that is declared now; empty when it is, and for one that is not ours."""
    if reached.container is None:
        return ""
    desired, _, _ = settle_server(reached.server, job.stack, job.world)
    return difference(reached.container, desired, reached.server.image, job.world)


def _check_moved(
    model: Model, fallback: Fallback, outcomes: tuple[Outcome, ...], named: Named, job: Job, tell: Tell, changed: str
) -> ModelReport:
    """One that llama-server serves; `changed` tells of the file that Ollama's model was made from."""
    carried = successor(model, named, fallback.rung, job.stack, outcomes)
    if carried is None:
        raise Refused(f"where the weights of {model.name} are is not known any more", hint="Run homellm up.")
    moved = carried.model
    world = gather(job.stack, (moved,), job.ports)
    desired, unit, _ = settle(moved, job.stack, world)
    subject = subject_of(moved, desired.expected_path, job.stack.gpu(moved.gpu), world)
    if unit.current is None or not unit.current.running:
        return look(moved, unit.current, subject, job.ports, job.scope, tell)
    differs = difference(unit.current, desired, moved.image, world) or changed
    concurrency = job.options.concurrency
    return examine(
        moved, unit.current, subject, job.ports, job.scope, tell, concurrency=concurrency, difference=differs
    )


def _server(model: Model, stack: Stack) -> OllamaServer:
    server = stack.ollama_server(model.server)
    if server is None:
        raise ValueError(f"the loader gives every model of Ollama's a server, and {model.name} has none")
    return server


def told(outcomes: tuple[Outcome, ...], *, moved: bool = True) -> Fallback | None:
    """What the outcomes mean by themselves, whatever is asked now; `moved` tells whether anything but Ollama serves."""
    trial = next((o for o in outcomes if o.rung == "ollama"), None)
    return fallback_of(Asked(key=trial.key), outcomes, moved=moved) if trial is not None else None


def server_container(model: Model, stack: Stack, containers: tuple[Container, ...]) -> Container | None:
    """The container of the Ollama server that a model is declared on; None where there is none, or none of ours."""
    server = stack.ollama_server(model.server) if model.runner == "ollama" else None
    if server is None or not server.ours:
        return None
    name = server_container_name(stack, server)
    return next((container for container in containers if container.name == name), None)


def ps_on_ollama(model: Model, stack: Stack, containers: tuple[Container, ...], ports: Ports) -> ModelReport:
    """A model on an Ollama server by inspect and record alone."""
    server = _server(model, stack)
    container = server_container(model, stack, containers)
    unit = sort_unit(server_container_name(stack, server), server.name, containers) if server.ours else None
    begun = starting_report(model, unit) if unit is not None else None
    if begun is not None:
        return begun
    if server.ours and container is None:
        return ModelReport(name=model.name, state=State.ABSENT)
    if container is not None and not container.running:
        return ModelReport(name=model.name, state=State.STOPPED, runner="ollama", container=container.name)
    record = read_server_record(container, server.url or "", ports)
    load, fallback = record.loads.get(model.name), told(record.outcomes.get(model.name, ()), moved=False)
    state = State.UNVERIFIED
    if load is not None and load.ready:
        state = State.VERIFIED if load.slots == model.parallel else State.DEGRADED
    return ModelReport(
        name=model.name,
        state=state,
        runner="ollama",
        container=container.name if container else None,
        endpoint=endpoint_on(server, container),
        slots=load.slots if load else None,
        ctx=load.ctx_per_slot if load else None,
        device=load.device if load else None,
        fallback=fallback,
    )

"""A model that Ollama is to serve, held against what is declared where it is: on its server, or moved from there."""

from __future__ import annotations

from dataclasses import replace

from homellm.deploy.crashes import loops
from homellm.deploy.gather import gather
from homellm.deploy.job import Job
from homellm.deploy.look import examine, look, not_ready, not_running, paused, starting_report
from homellm.deploy.observe import subject_of
from homellm.deploy.ollama_ended import told_as_end, unanswered
from homellm.deploy.ollama_load import ask, into_memory, is_served, keep_as_declared, observe, remember, why_not_loaded
from homellm.deploy.ollama_made import looks_changed
from homellm.deploy.ollama_models import Named, lookup, unusable
from homellm.deploy.ollama_ps import beside_its_server, is_away, server_of, told
from homellm.deploy.ollama_reached import Reached
from homellm.deploy.ollama_record import note_proof, outcomes_of, read_server_record
from homellm.deploy.ollama_server import find, server_unit, settle_server
from homellm.deploy.ollama_source import is_of_another
from homellm.deploy.ollama_successor import successor
from homellm.deploy.session import Emit, telling
from homellm.deploy.settle import settle, unit_of
from homellm.deploy.telling import ollama_report, with_shadow
from homellm.deploy.unapplied import difference, hold_off
from homellm.domain.evidence import OllamaEvidence
from homellm.domain.names import LABEL_OUTCOMES
from homellm.domain.ollama import LoadedModel
from homellm.domain.published import endpoint_on
from homellm.domain.reports import ModelReport
from homellm.domain.stack import Model, OllamaServer
from homellm.domain.verdicts import State
from homellm.domain.world import Container
from homellm.errors import ExitCode, HomellmError, Interrupted, OllamaUnreachable, Problem, Refused
from homellm.health.checks.ollama import judge_ollama, shadow_load
from homellm.planning.declared import declared_text
from homellm.planning.ladder import End, Outcome
from homellm.planning.ladder_record import read_outcomes
from homellm.runners.ollama_models import served_name
from homellm.runners.recognise import recognise

#: Begins as such a sentence does elsewhere (`unapplied`): what is not known is no fault.
_NOT_KNOWN = "Whether it was started from the present stack file is not known"
_LOADED_BY_CHECK = "It was not in memory as declared: it was loaded to be looked at, as any request to it would do."


def check_on_ollama(model: Model, job: Job, emit: Emit, *, anew: bool = False) -> ModelReport:
    """Hold a model of an Ollama server against what is declared, by every witness. Raises HomellmError.

    One that is not in memory is loaded first, as its first client would do: what it gets is then seen, and a check
    that comes second finds what the first one found. With `anew` its server was just started, to be proved.
    """
    server = server_of(model, job.stack)
    own = unit_of(model, job.stack, job.world).current
    unit = server_unit(server, job.stack, job.world) if server.ours else None
    begun = starting_report(model, unit) if unit is not None else None
    if begun is not None:
        return not_ready(begun)
    if unit is not None and unit.current is None and own is None:
        return _absent(model, f"there is no container of the Ollama server {server.name}")
    container = unit.current if unit is not None else None
    try:
        reached = find(server, job.stack, job.ports)
    except HomellmError as error:
        problems = _why_not_reached(model, container, error, job)
        if own is not None:
            return _check_alone(model, own, problems, job, emit)
        return _out_of_service(model, container, problems)
    report = _check_reached(model, own, reached, job, emit, anew=anew)
    return report if anew else replace(report, ready_s=None, changed=False)


def named_there(model: Model, reached: Reached) -> Named:
    """A model as its server has it now. Raises HomellmError where it has none, or not the whole of it."""
    name, record = served_name(model), read_server_record(reached.container, reached.url, reached.ports)
    stored = lookup(name, reached)
    if not stored.usable and stored.state != "absent":
        raise unusable(stored, reached)  # Ollama itself only says that there is no such model
    return Named(name, stored, reached.api.show(name), record)


def _check_reached(
    model: Model, own: Container | None, reached: Reached, job: Job, emit: Emit, *, anew: bool
) -> ModelReport:
    """With its server, which tells what the model is; `own` is what it has moved to, where that is there."""
    record = read_server_record(reached.container, reached.url, job.ports)
    if is_away(model, own, record):
        return _absent(model, f"there is no container of {model.name}, which has moved from Ollama to llama-server")
    named = named_there(model, reached)
    changed = looks_changed(model, named.name, record, job.ports.files) or is_of_another(model, named, reached, job)
    outcomes = outcomes_of(model.name, own, record)
    fallback = told(outcomes)
    if own is None or fallback is None:
        return _check_served(model, named, reached, outcomes, changed, job, emit, anew=anew)
    changed = changed or _brought_back(model)
    report = replace(_check_moved(model, outcomes, named, job, emit, changed), fallback=fallback)
    return with_shadow(report, shadow_load(model, reached.server, observe(model, named, reached, job)))


def _check_served(
    model: Model,
    named: Named,
    reached: Reached,
    outcomes: tuple[Outcome, ...],
    changed: str,
    job: Job,
    emit: Emit,
    *,
    anew: bool,
) -> ModelReport:
    """One that Ollama serves; `changed` tells of the file that it was made from."""
    try:
        before = () if anew else reached.api.loaded()
        evidence = _in_memory(model, named, reached, job, emit, anew=anew)
        came = () if evidence.ready_s is None or anew else (_LOADED_BY_CHECK, *_put_out(before, reached))
    except Interrupted:
        raise
    except HomellmError as error:
        if isinstance(error, OllamaUnreachable):
            return _out_of_service(model, reached.container, told_as_end(error, model, reached, job))
        return _out_of_service(model, reached.container, why_not_loaded(error, reached), reached.server)
    try:
        chat = ask(model, named, reached, job, telling(model.name, emit))
    finally:
        keep_as_declared(model, named, evidence, reached)
    if ended := unanswered(chat, model, reached, job):
        return _out_of_service(model, reached.container, (ended,))
    evidence = replace(evidence, chat=chat)
    fallback = told(outcomes)
    stays = fallback is not None and (fallback.rung == "ollama" or model.fallback == "none")
    end = End("ollama", "degraded" if stays else "verified")
    differs = _server_differs(reached, job) or changed
    verdicts = hold_off(judge_ollama(model, reached.server, evidence), differs, model.name)
    report = ollama_report(model, reached, evidence, verdicts, end)
    if not differs:
        loads, declared = remember(model, named, evidence).loads, declared_text(model, job.stack)
        note_proof(report, loads, declared, reached.container, reached.url, job)
    notes = (*filter(None, (differs,)), *report.notes, *came)
    return replace(report, fallback=told(outcomes, moved=False), notes=notes)


def _in_memory(model: Model, named: Named, reached: Reached, job: Job, emit: Emit, *, anew: bool) -> OllamaEvidence:
    """What was seen of a model in memory; loads of one server come one after another.

    `ready_s` is None where nothing became of it: one that gets another context than it asks for is there all the same.
    """
    seen = observe(model, named, reached, job)
    if is_served(seen, model) and (seen.load is not None or not anew):
        return seen
    turn = job.turns.take(f"ollama {reached.server.name}", job.scope)
    try:
        found = into_memory(model, named, reached, job, emit, anew=anew)
    finally:
        turn.release()
    as_before = seen.loaded is not None and found.loaded is not None and seen.loaded.ctx == found.loaded.ctx
    return replace(found, ready_s=None) if as_before and not anew else found


def _put_out(before: tuple[LoadedModel, ...], reached: Reached) -> tuple[str, ...]:
    """Which models a load has cost their place in memory, as a sentence: they may have served others."""
    there = {one.name for one in reached.api.loaded()}
    gone = [one.name for one in before if one.name not in there]
    if not gone:
        return ()
    why = "Ollama made room, or the time that it keeps them was over"
    return (f"Out of memory since: {', '.join(gone)} ({why}). Their next request loads them again.",)


def _absent(model: Model, message: str) -> ModelReport:
    """What is declared and not there is not as declared, however little there is to look at."""
    problem = Problem(id="not-running", message=message, hint=f"Start it: homellm up {model.name}", model=model.name)
    return ModelReport(name=model.name, state=State.ABSENT, problems=(problem,))


def _why_not_reached(model: Model, container: Container | None, error: HomellmError, job: Job) -> tuple[Problem, ...]:
    """What an Ollama server's container says of why nobody answers; else what was met."""
    now = job.ports.engine.find_container(container.id) if container is not None else None
    if now is None or not (paused(now) or not now.running or loops(now)):
        return error.problems
    return (not_running(model, now, job.ports),)


def _out_of_service(
    model: Model, container: Container | None, problems: tuple[Problem, ...], server: OllamaServer | None = None
) -> ModelReport:
    """One whose Ollama does not serve it; `server` where that answers all the same."""
    mine = tuple(problem if problem.model else replace(problem, model=model.name) for problem in problems)
    return ModelReport(
        name=model.name,
        state=State.FAILED,
        runner="ollama",
        container=container.name if container is not None else None,
        endpoint=endpoint_on(server, container) if server is not None else None,
        problems=mine,
    )


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


def as_moved(model: Model, named: Named, outcomes: tuple[Outcome, ...], job: Job) -> Model:
    """A model that has moved as llama-server is to serve it. Raises Refused where its weights are not known."""
    fallback = told(outcomes)
    carried = successor(model, named, fallback.rung, job.stack, outcomes) if fallback is not None else None
    if carried is None:
        raise Refused(f"where the weights of {model.name} are is not known any more", hint="Run homellm up.")
    return carried.model


def _check_moved(
    model: Model, outcomes: tuple[Outcome, ...], named: Named, job: Job, emit: Emit, changed: str
) -> ModelReport:
    """One that llama-server serves; `changed` tells of the file that Ollama's model was made from."""
    moved = as_moved(model, named, outcomes, job)
    world = gather(job.stack, (moved,), job.ports)
    desired, unit, _ = settle(moved, job.stack, world)
    subject = subject_of(moved, desired.expected_path, job.stack.gpu(moved.gpu), world, desired.declared)
    tell = telling(model.name, emit)
    if unit.current is None or not unit.current.running or paused(unit.current):
        return look(moved, unit.current, subject, job.ports, job.scope, tell)
    differs = difference(unit.current, desired, moved.image, world) or changed
    concurrency = job.options.concurrency
    return examine(
        moved,
        unit.current,
        subject,
        job.ports,
        job.scope,
        tell,
        concurrency=concurrency,
        difference=differs,
        settled=unit.next is None,
    )


def _check_alone(model: Model, current: Container, problems: tuple[Problem, ...], job: Job, emit: Emit) -> ModelReport:
    """One that has moved, while the Ollama server that it left cannot be asked: it serves all the same.

    What it is to be made of is known by that server alone, so it is held against slots, context and name as declared,
    and against the file that it was started on.
    """
    outcomes = read_outcomes(current.label(LABEL_OUTCOMES))
    served = recognise(current.args)
    moved = replace(model, runner="llama-server", embedding=model.embedding or served.embedding)
    subject = subject_of(moved, served.model_path or "", job.stack.gpu(moved.gpu), job.world)
    tell = telling(model.name, emit)
    if not current.running or paused(current):
        return look(moved, current, subject, job.ports, job.scope, tell)
    unknown = f"{_NOT_KNOWN}: the Ollama server {model.server}, which tells what it is made of, is out of reach."
    report = examine(moved, current, subject, job.ports, job.scope, tell, difference=unknown)
    beside = replace(problems[0], model=model.name, exit_code=ExitCode.DEGRADED)
    return beside_its_server(replace(report, fallback=told(outcomes)), beside)

"""Load a model on an Ollama server and gather what every witness says of it."""

from __future__ import annotations

import contextlib
import threading
from dataclasses import replace

from homellm.deploy.job import Job
from homellm.deploy.observe import TOKEN_S
from homellm.deploy.ollama_models import Named
from homellm.deploy.ollama_reached import Reached
from homellm.deploy.ollama_record import ServerRecord
from homellm.deploy.ollama_weights import CONTRADICTION, ensure_alone
from homellm.deploy.session import Emit, telling
from homellm.deploy.threads import apart
from homellm.deploy.token import Tell, wait_for_token
from homellm.deploy.witness import ask_token
from homellm.domain.events import Progress
from homellm.domain.evidence import Chat, Load, LogSummary, OllamaEvidence
from homellm.domain.keep_alive import keep_alive_s
from homellm.domain.ollama import LoadedModel
from homellm.domain.ollama_names import parse_name
from homellm.domain.stack import Model
from homellm.domain.world import HostGpu
from homellm.errors import HomellmError, Problem, Refused
from homellm.gpu import resolve

#: A line is in the engine's log milliseconds after it was written.
LOG_LAG_S = 5.0
#: So long a model is kept at least while it is looked at; one token of a large one on a slow CPU takes its time.
LOOK_S = 120
#: An idle model is out of memory in a moment; one that answers somebody leaves when it has.
UNLOAD_S = 10.0


def load(model: Model, named: Named, reached: Reached, job: Job, emit: Emit) -> OllamaEvidence:
    """Load the model, unless it is in memory with its own context and its load is known, and observe it.

    Raises Interrupted, and HomellmError with the server's own words when it cannot be loaded.
    """
    evidence = into_memory(model, named, reached, job, emit)
    try:
        return replace(evidence, chat=ask(model, named, reached, job, telling(model.name, emit)))
    finally:
        keep_as_declared(model, named, evidence, reached)


def into_memory(
    model: Model, named: Named, reached: Reached, job: Job, emit: Emit, *, anew: bool = True
) -> OllamaEvidence:
    """The same without a request: what was seen once the model is in memory. `ready_s` is None where it was so already.

    One that a client loaded with a num_ctx of its own is loaded back: the next request without one would do the same.
    With `anew` one is loaded again whose load nobody knows any more; who only looks takes no model from its clients.
    """
    begun = job.ports.clock.monotonic()
    evidence = observe(model, named, reached, job)
    lost = anew and evidence.loaded is not None and evidence.load is None
    if not lost and is_served(evidence, model):
        return evidence
    ensure_alone(model, named, evidence.loads[-1:], reached, job)
    emit(Progress(model.name, "loading", f"by Ollama {reached.version}"))
    if lost:
        reached.api.unload(named.name)  # it is in memory, and the log has lost how it came there
    _load(model, named, reached, job)
    return replace(observe(model, named, reached, job), ready_s=job.ports.clock.monotonic() - begun)


def keep_as_declared(model: Model, named: Named, evidence: OllamaEvidence, reached: Reached) -> None:
    """Have a model that was loaded to be looked at leave when it is declared to, and not when that was over.

    Nothing hangs on it: where it fails, the model leaves some seconds later than declared.
    """
    declared = reached.server.keep_alive
    if evidence.ready_s is None or _kept_for(declared) == declared:
        return
    with contextlib.suppress(HomellmError):
        if in_memory(named, reached) is None:
            return
        if keep_alive_s(declared):
            reached.api.load(named.name, keep_alive=declared, embedding=embeds(model, named)).run()
        else:
            reached.api.unload(named.name)


def _kept_for(declared: int | str) -> int | str:
    """How long a model is to stay that is loaded to be looked at.

    A load that keeps nothing is Ollama's way to unload (`keep_alive: 0`), and what is gone in a moment cannot be seen.
    """
    return declared if keep_alive_s(declared) >= LOOK_S else LOOK_S


def is_served(evidence: OllamaEvidence, model: Model) -> bool:
    """Whether a model is in memory with its own context, as far as Ollama tells that one."""
    return evidence.loaded is not None and evidence.loaded.ctx in (None, model.ctx)


def ask(model: Model, named: Named, reached: Reached, job: Job, tell: Tell) -> Chat:
    """One real request to a model. Raises Interrupted: one token may take minutes, and Ctrl-C does not wait for it."""
    asked = replace(model, embedding=embeds(model, named))
    return apart(
        lambda: wait_for_token(lambda: ask_token(reached.url, asked, job.ports.http, None, _left(job, TOKEN_S)), tell),
        job.scope,
    )


def embeds(model: Model, named: Named) -> bool:
    """Whether it is asked for vectors instead of text."""
    return model.embedding or named.shown.embedding


def observe(model: Model, named: Named, reached: Reached, job: Job) -> OllamaEvidence:
    """What log and /api/ps tell of a model now; it is asked nothing, so that it is not loaded by being looked at."""
    loaded = in_memory(named, reached)
    blob = named.stored.blob_name
    log = _log_with_load(reached, blob, wait=loaded is not None and _is_meant(loaded, named))
    loads = tuple(one for one in log.loads if _is_of(one, blob))
    remembered = named.record.loads.get(model.name)
    remembered = remembered if remembered is not None and _is_of(remembered, blob) else None
    return OllamaEvidence(
        container=reached.container,
        url=reached.url,
        version=reached.version,
        load=loads[-1] if loads else remembered,
        loads=loads,
        loaded=loaded,
        asked_ps=True,
        log=log,
        gpu=_gpu(reached, job),
        bridges=job.world.host.bridges,
    )


def in_memory(named: Named, reached: Reached) -> LoadedModel | None:
    """The model as /api/ps tells it; None when it is not in memory.

    Of two names of one model Ollama shows the one that it was loaded by: the manifest's digest tells that it is there.
    A name whose model was made anew may be in memory with its old weights as well.
    """
    wanted, loaded = parse_name(named.name), reached.api.loaded()
    of_name = [one for one in loaded if parse_name(one.name).same(wanted)]
    meant = [one for one in (*of_name, *loaded) if _is_meant(one, named)]
    return next(iter((*meant, *of_name)), None)


def _is_meant(one: LoadedModel, named: Named) -> bool:
    """Whether it was loaded as the model is now."""
    return bool(one.digest) and one.digest == named.stored.digest


def let_go(named: Named, reached: Reached) -> bool:
    """Have Ollama unload its copy, and wait until it is gone; whether there was one.

    Ollama answers before it is done (seen at 0.24 and 0.33), and whoever needs the memory must not come too early. One
    that a client keeps busy, or loads again at once, is still there afterwards.
    """
    from tenacity import Retrying, retry_if_result, stop_after_delay, wait_fixed  # noqa: PLC0415 - heavy

    if in_memory(named, reached) is None:
        return False
    reached.api.unload(named.name)
    attempts: Retrying = Retrying(
        retry=retry_if_result(lambda loaded: loaded is not None),
        stop=stop_after_delay(UNLOAD_S),
        wait=wait_fixed(0.1),
        retry_error_callback=lambda _state: None,
    )
    attempts(in_memory, named, reached)
    return True


def remember(model: Model, named: Named, evidence: OllamaEvidence) -> ServerRecord:
    """The server's record with this load in it."""
    if evidence.load is None:
        return named.record
    return replace(named.record, loads={**named.record.loads, model.name: evidence.load})


def _is_of(one: Load, blob: str | None) -> bool:
    return blob is not None and one.blob is not None and one.blob.rpartition("/")[2] == blob


def _log_with_load(reached: Reached, blob: str | None, *, wait: bool) -> LogSummary:
    """The log once it tells of a finished load of the blob; what it tells by then, if it never does."""

    def incomplete(log: LogSummary) -> bool:
        return wait and not any(_is_of(one, blob) and one.ready for one in log.loads)

    from tenacity import Retrying, retry_if_result, stop_after_delay, wait_fixed  # noqa: PLC0415 - heavy

    attempts: Retrying = Retrying(
        retry=retry_if_result(incomplete),
        stop=stop_after_delay(LOG_LAG_S if reached.container is not None else 0),
        wait=wait_fixed(0.1),
        retry_error_callback=lambda state: state.outcome.result() if state.outcome else LogSummary(),
    )
    log: LogSummary = attempts(reached.log)
    return log


def _gpu(reached: Reached, job: Job) -> HostGpu | None:
    gpu = job.stack.gpu(reached.server.gpu)
    resolved = resolve(gpu, job.world.host) if gpu is not None else None
    return None if isinstance(resolved, Problem) else resolved


def _left(job: Job, most_s: float) -> float:
    return max(1.0, min(most_s, job.limits.deadline - job.ports.clock.monotonic()))


def _load(model: Model, named: Named, reached: Reached, job: Job) -> None:
    """One load, given up at Ctrl-C and at the verb's deadline."""
    call = reached.api.load(named.name, keep_alive=_kept_for(reached.server.keep_alive), embedding=embeds(model, named))
    timer = threading.Timer(_left(job, job.limits.total_s), call.close)
    timer.daemon = True
    timer.start()
    try:
        with job.scope.closing(call.close):
            call.run()
    finally:
        timer.cancel()
    job.scope.check()
    if job.ports.clock.monotonic() >= job.limits.deadline:
        raise Refused(
            f"Ollama did not load {model.name} within {job.limits.total_s:.0f} s",
            hint="Give it more time with --wait-timeout.",
            id="timeout",
        )


def why_not_loaded(error: HomellmError, reached: Reached) -> tuple[Problem, ...]:
    """Ollama's own words, and the reason that stands in its log before them where they do not say it themselves."""
    fatal = [problem for problem in reached.log().problems if problem.fatal]
    if not fatal or error.problems[0].id == CONTRADICTION:
        return error.problems
    first = error.problems[0]
    told = [problem for problem in fatal if _repeats(problem.line, error)]
    if told:
        return (replace(first, id=told[-1].id, hint=told[-1].hint or first.hint),)
    last = fatal[-1]
    return (Problem(id=last.id, message=f"{first.message} ({last.line})", hint=last.hint or first.hint),)


def _repeats(line: str, error: HomellmError) -> bool:
    """Whether a line of the log is the very answer: Ollama writes an error as it gives it out, quoted as Go does."""
    words = getattr(error, "original", "").replace('"', '\\"').replace("\n", "\\n")
    return bool(words) and words in line

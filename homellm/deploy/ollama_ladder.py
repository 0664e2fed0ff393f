"""A model that Ollama is to serve: on Ollama with its slots, or up the ladder to a llama-server on the same weights."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from homellm.deploy.job import Job
from homellm.deploy.ollama_ended import told_as_end, unanswered
from homellm.deploy.ollama_load import let_go, load, observe, remember, why_not_loaded
from homellm.deploy.ollama_models import Named, bring
from homellm.deploy.ollama_prepare import prepare
from homellm.deploy.ollama_reached import Reached
from homellm.deploy.ollama_record import (
    ServerRecord,
    forget_proof,
    note_proof,
    outcomes_of,
    read_server_record,
    update_server_record,
)
from homellm.deploy.ollama_successor import clear_all, clear_failed, move, room_for, successor, successor_hash, told_by
from homellm.deploy.session import Emit
from homellm.deploy.settle import unit_of
from homellm.deploy.telling import failed_report, ollama_report, out_of_reach, with_shadow
from homellm.deploy.unit import current_of
from homellm.domain.events import Note
from homellm.domain.evidence import OllamaEvidence
from homellm.domain.reports import ModelReport
from homellm.domain.stack import Model
from homellm.domain.verdicts import State, Verdict
from homellm.domain.world import Container
from homellm.errors import HomellmError, OllamaUnreachable, Problem, Refused
from homellm.health.checks.ollama import judge_ollama, shadow_load
from homellm.planning.declared import declared_text
from homellm.planning.ladder import Asked, End, Key, Outcome, Rung, RungName, next_rung
from homellm.planning.ladder_record import fallback_of, keep
from homellm.runners.ollama_fallback import Carried, stored_files


def serve(model: Model, reached: Reached, job: Job, emit: Emit) -> ModelReport:
    """Make one model of an Ollama server as declared. Every error that belongs to it is in the report."""
    unit = unit_of(model, job.stack, job.world)
    try:
        record = read_server_record(reached.container, reached.url, job.ports)
        begun = job.ports.clock.monotonic()
        named = bring(model, reached, record, job, emit)
        climb = _Climb(model, reached, job.with_time(job.ports.clock.monotonic() - begun), emit, named)
        return climb.run()
    except HomellmError as error:
        return failed_report(model, told_as_end(error, model, reached, job), current_of(unit, job))


def foresee(model: Model, named: Named, reached: Reached, job: Job) -> tuple[RungName | None, Model | None]:
    """Who is to serve a model by what earlier runs found, and the model as llama-server is to serve it there.

    `ollama` where it is known to stay there, None where Ollama has to be asked first. Nothing is done.
    """
    climb = _Climb(model, reached, job, lambda _event: None, named)
    asked = climb.asked()
    climb.outcomes = climb.kept(asked)
    step = next_rung(asked, climb.outcomes)
    rung = step.name if isinstance(step, Rung) else step.rung
    if rung is None or rung == "ollama":
        return (None if isinstance(step, Rung) else rung), None
    carried = successor(model, named, rung, job.stack, climb.outcomes)
    return rung, carried.model if carried is not None else None


@dataclass(slots=True)
class _Climb:
    """One model on its way. `outcomes` are those that hold for what is asked now.

    `unloaded` tells that Ollama's copy made room for a successor: it is loaded again if the model stays there.
    """

    model: Model
    reached: Reached
    job: Job
    emit: Emit
    named: Named
    outcomes: tuple[Outcome, ...] = ()
    evidence: OllamaEvidence | None = None
    verdicts: tuple[Verdict, ...] = ()
    unloaded: bool = False
    reports: dict[str, ModelReport] = field(default_factory=dict)

    def run(self) -> ModelReport:
        asked = self.asked()
        self.outcomes = self.kept(asked)
        while True:
            self.job.scope.check()
            step = next_rung(asked, self.outcomes)
            if isinstance(step, Rung):
                self._note(step)
                self._take(step, asked)
            elif step.rung == "ollama" and self.evidence is None:
                self._take(Rung("ollama", "it is served there"), asked)  # known from an earlier run, and not yet seen
            else:
                return self._end(step, asked)

    def asked(self) -> Asked:
        """What the model asks for, and what is known of it."""
        model, stored, server = self.model, self.named.stored, self.reached.server
        files = stored_files(stored, server, self.named.shown.blob_path)
        return Asked(
            key=Key(self.reached.version, stored.digest, model.parallel, model.ctx),
            policy=model.fallback,
            family=stored.family,
            families=stored.families,
            projector=bool(stored.projectors),
            has_source=model.fallback_source is not None,
            has_files=files is not None or model.source.kind != "ollama",
            no_files=f"where {server.url} keeps its weights is not known: set `store`" if files is None else "",
            has_bundled=server.ours,
        )

    # --- what earlier runs found

    def kept(self, asked: Asked) -> tuple[Outcome, ...]:
        """What earlier runs found, as far as it still holds."""
        if self.job.options.retry_ollama:
            return ()
        serving = unit_of(self.model, self.job.stack, self.job.world).current
        found = outcomes_of(self.model.name, serving, self.named.record, asked.key)
        return tuple(outcome for outcome in found if self._still_holds(outcome, found, asked))

    def _still_holds(self, outcome: Outcome, found: tuple[Outcome, ...], asked: Asked) -> bool:
        """An outcome of a rung holds for the very container that was tried: another image or flag begins anew."""
        if not outcome.lasts or (outcome.predicted and asked.policy != "predict"):
            return False
        if outcome.rung == "ollama":
            return True
        carried = successor(self.model, self.named, outcome.rung, self.job.stack, found)
        if carried is not None and outcome.rung == "source" and carried.model.source.path is None:
            return False  # its file is not here any more
        return carried is not None and outcome.spec_hash == successor_hash(carried.model, self.job)

    def _note(self, step: Rung) -> None:
        for name, why in step.skipped:
            self.emit(Note(f"{name} is passed over: {why}", model=self.model.name))
        if step.name != "ollama":
            self.emit(Note(step.because, model=self.model.name))
        if step.predicted is not None:
            self._keep(step.predicted)

    def _take(self, step: Rung, asked: Asked) -> None:
        begun = Outcome(
            step.name, asked.key, served=True, since=self.job.ports.clock.now().isoformat(timespec="seconds")
        )
        outcome = self._try_ollama(begun) if step.name == "ollama" else self._try_llama_server(begun)
        self.job.scope.check()  # what Ctrl-C ended says nothing about the rung
        self._keep(outcome)
        if step.name != "ollama" and not outcome.served:
            clear_failed(self.model, self.job, self.emit)

    def _keep(self, outcome: Outcome) -> None:
        self.outcomes = keep(self.outcomes, outcome)
        name, mine = self.model.name, self.named.record

        def with_mine(record: ServerRecord) -> ServerRecord:
            loads = {**record.loads, **({name: mine.loads[name]} if name in mine.loads else {})}
            lasting = tuple(one for one in self.outcomes if one.lasts)
            return replace(record, loads=loads, outcomes={**record.outcomes, name: lasting})

        record = update_server_record(self.reached.container, self.reached.url, self.job, with_mine)
        self.named = replace(self.named, record=record)

    # --- Ollama itself

    def _try_ollama(self, begun: Outcome) -> Outcome:
        try:
            self._load()
        except HomellmError as error:
            self.job.scope.check()
            cut_off = isinstance(error, OllamaUnreachable)
            problems = () if cut_off else why_not_loaded(error, self.reached)
            return self._not_loaded(begun, problems or told_as_end(error, self.model, self.reached, self.job))
        assert self.evidence is not None  # noqa: S101 - _load has put it there
        if ended := unanswered(self.evidence.chat, self.model, self.reached, self.job):
            return self._not_loaded(begun, (ended,))
        self.named = replace(self.named, record=remember(self.model, self.named, self.evidence))
        self.verdicts = judge_ollama(self.model, self.reached.server, self.evidence)
        one = self.evidence.load
        warned = [p for p in self.evidence.log.problems if p.id == "parallel-refused"] if one and one.refused else []
        return replace(
            begun,
            slots=one.slots if one else None,
            refused=one.refused if one else None,
            own_format=one.own_format if one else False,
            gpu_libraries=(one.gpu_libraries or "") if one else "",
            reason=next((v.hint for v in self.verdicts if v.id == "slots"), ""),
            line=warned[-1].line if warned else "",
        )

    def _not_loaded(self, begun: Outcome, problems: tuple[Problem, ...]) -> Outcome:
        self.reports["ollama"] = failed_report(self.model, problems, self._current())
        self.evidence = None
        return replace(begun, served=False, problem=problems[0].id, reason=problems[0].message)

    def _current(self) -> Container | None:
        """What bears the name of its own container now."""
        return current_of(unit_of(self.model, self.job.stack, self.job.world), self.job)

    def _load(self) -> None:
        """Loads of one server come one after another."""
        lock = self.job.turns.take(f"ollama {self.reached.server.name}", self.job.scope)
        try:
            self.evidence = load(self.model, self.named, self.reached, self.job, self.emit)
        finally:
            lock.release()

    # --- llama-server

    def _try_llama_server(self, begun: Outcome) -> Outcome:
        failed = replace(begun, served=False)
        carried = successor(self.model, self.named, begun.rung, self.job.stack, self.outcomes)
        if carried is None:
            return replace(failed, problem="no-files", reason="its weights are not known")
        try:
            carried = self._prepared(carried, begun.rung)
        except Refused as error:
            first = error.problems[0]
            return replace(failed, problem=first.id, reason=first.message, hint=first.hint)
        space = room_for(carried.model, self.named, self.reached, self.job)
        if space.verdict == "too-big":
            return replace(failed, problem="too-big", reason=space.reason)
        if space.verdict == "unload-first":
            self.unloaded = let_go(self.named, self.reached) or self.unloaded
        report = self._move(carried, begun)
        self.reports[begun.rung] = report
        tried = successor_hash(carried.model, self.job)
        if report.state in (State.VERIFIED, State.DEGRADED):
            self._tell_lost(carried)
            return replace(begun, slots=report.slots, spec_hash=tried)
        problem = report.problems[0] if report.problems else Problem("failed", f"{begun.rung} did not pass its gates")
        cause = "engine-restarted" if self._was_restarted() else told_by(report, problem)
        return replace(failed, problem=cause, reason=problem.message, spec_hash=tried)

    def _was_restarted(self) -> bool:
        """Whether Ollama's own container was started anew since: a daemon that restarts ends every container.

        A successor that was killed looks the same whether the daemon did it or its memory limit (Engine 20.10).
        """
        begun = self.reached.container
        if begun is None:
            return False
        now = self.job.ports.engine.find_container(begun.name)
        return now is None or now.started_at != begun.started_at

    def _prepared(self, carried: Carried, rung: str) -> Carried:
        """With everything that has to be pulled for it, for which Ollama serves on and no time is counted."""
        begun = self.job.ports.clock.monotonic()
        model = prepare(carried.model, rung, self.job, self.emit)
        self.job = self.job.with_time(self.job.ports.clock.monotonic() - begun)
        return replace(carried, model=model)

    def _move(self, carried: Carried, won: Outcome) -> ModelReport:
        won = replace(won, slots=carried.model.parallel)
        return move(carried.model, won, self.outcomes, self.job, self.emit)

    def _tell_lost(self, carried: Carried) -> None:
        for phrase in carried.lost:
            self.emit(Note(f"llama-server serves it without {phrase}", model=self.model.name))

    # --- the end

    def _end(self, end: End, asked: Asked) -> ModelReport:
        stays = end.rung in (None, "ollama")
        fallback = fallback_of(asked, self.outcomes, moved=not stays)
        if stays:
            return replace(self._on_ollama(end), fallback=fallback)
        report = self.reports.get(str(end.rung)) or self._look_again(end)
        let_go(self.named, self.reached)
        forget_proof(self.model.name, self.reached.container, self.reached.url, self.job)
        if report.state is not State.FAILED:
            report = replace(
                report, notes=(*report.notes, *out_of_reach(self.model, self.reached.server, self.job.stack))
            )
        shadow = shadow_load(self.model, self.reached.server, observe(self.model, self.named, self.reached, self.job))
        asked_again = self.evidence is not None and self.evidence.ready_s is not None  # Ollama loaded it, and let it go
        return with_shadow(replace(report, fallback=fallback, changed=report.changed or asked_again), shadow)

    def _look_again(self, end: End) -> ModelReport:
        """Nothing was tried: an earlier run moved the model, and it is looked at where it is."""
        carried = successor(self.model, self.named, str(end.rung), self.job.stack, self.outcomes)
        known = next((outcome for outcome in self.outcomes if outcome.rung == end.rung), None)
        if carried is None or known is None:
            problem = Problem("no-files", "where its weights are is not known any more", model=self.model.name)
            return failed_report(self.model, (problem,), None)
        try:
            carried = self._prepared(carried, str(end.rung))
        except Refused as error:
            return failed_report(self.model, error.problems, self._current())
        return self._move(carried, known)

    def _on_ollama(self, end: End) -> ModelReport:
        if self.evidence is None:
            return self.reports["ollama"]
        if self.unloaded:
            self._load()
        report = ollama_report(self.model, self.reached, self.evidence, self.verdicts, end)
        loads, declared = self.named.record.loads, declared_text(self.model, self.job.stack)
        note_proof(report, loads, declared, self.reached.container, self.reached.url, self.job)
        if report.state is not State.FAILED:
            clear_all(self.model, self.job, self.emit)
        return report

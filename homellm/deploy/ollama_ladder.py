"""A model that Ollama is to serve: on Ollama with its slots, or up the ladder to a llama-server on the same weights."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path

from homellm.deploy.converge import converge
from homellm.deploy.gather import gather
from homellm.deploy.job import Job
from homellm.deploy.ollama_load import embeds, in_memory, load, observe, remember, why_not_loaded
from homellm.deploy.ollama_models import Named, bring
from homellm.deploy.ollama_record import ServerRecord, labelled_outcomes, read_server_record, write_server_record
from homellm.deploy.ollama_server import STORE_FOLDER, Reached
from homellm.deploy.pull import missing_images, run_pulls
from homellm.deploy.session import Emit
from homellm.deploy.settle import unit_of
from homellm.deploy.swap import remove
from homellm.deploy.telling import failed_report, ollama_report
from homellm.deploy.unit import current_of
from homellm.domain.events import Note, StepFinished, StepStarted
from homellm.domain.evidence import OllamaEvidence
from homellm.domain.names import LABEL_OUTCOMES
from homellm.domain.reports import ModelReport
from homellm.domain.stack import Model
from homellm.domain.steps import RemoveContainer
from homellm.domain.verdicts import State, Verdict
from homellm.errors import HomellmError, Problem
from homellm.health.checks.ollama import judge_ollama, shadow_load
from homellm.planning.ladder import Asked, End, Key, Outcome, Rung, next_rung
from homellm.planning.ladder_memory import Room, room
from homellm.planning.ladder_record import dump_outcomes, fallback_of, keep
from homellm.planning.machine import machine_of
from homellm.runners.ollama_fallback import Carried, carry_over, stored_files
from homellm.sizing import demand_of, needs


def serve(model: Model, reached: Reached, job: Job, emit: Emit) -> ModelReport:
    """Make one model of an Ollama server as declared. Every error that belongs to it is in the report."""
    unit = unit_of(model, job.stack, job.world)
    try:
        record = read_server_record(reached.container, reached.url, job.ports)
        named = bring(model, reached, record, job, emit)
        climb = _Climb(model, reached, job, emit, named)
        return climb.run()
    except HomellmError as error:
        return failed_report(model, error.problems, current_of(unit, job))


@dataclass(slots=True)
class _Climb:
    """One model on its way. `outcomes` are those that hold for what is asked now."""

    model: Model
    reached: Reached
    job: Job
    emit: Emit
    named: Named
    outcomes: tuple[Outcome, ...] = ()
    evidence: OllamaEvidence | None = None
    verdicts: tuple[Verdict, ...] = ()
    reports: dict[str, ModelReport] = field(default_factory=dict)

    def run(self) -> ModelReport:
        asked = self._asked()
        kept = labelled_outcomes(self.model.name, self.job.world.containers)
        if not kept:
            kept = self.named.record.outcomes.get(self.model.name, ())
        self.outcomes = () if self.job.options.retry_ollama else tuple(o for o in kept if o.key == asked.key)
        while isinstance(step := next_rung(asked, self.outcomes), Rung):
            self.job.scope.check()
            self._note(step)
            self._take(step, asked)
        return self._end(step, asked)

    def _asked(self) -> Asked:
        model, stored, server = self.model, self.named.stored, self.reached.server
        files = stored_files(stored, server, self.named.shown.blob_path)
        return Asked(
            key=Key(self.reached.version, stored.digest, model.parallel, model.ctx),
            policy=model.fallback,
            family=stored.family,
            families=stored.families,
            projector=bool(stored.projectors),
            has_source=model.fallback_source is not None,
            has_files=files is not None or model.source.kind == "gguf",
            no_files=f"where {server.url} keeps its weights is not known: set `store`" if files is None else "",
            has_bundled=server.ours,
        )

    def _note(self, step: Rung) -> None:
        for name, why in step.skipped:
            self.emit(Note(f"{name} is passed over: {why}", model=self.model.name))
        if step.name != "ollama":
            self.emit(Note(step.because, model=self.model.name))
        if step.predicted is not None:
            self._keep(step.predicted)

    def _take(self, step: Rung, asked: Asked) -> None:
        outcome = self._try_ollama(asked) if step.name == "ollama" else self._try_llama_server(step, asked)
        self._keep(replace(outcome, since=self.job.ports.clock.now().isoformat(timespec="seconds")))

    def _keep(self, outcome: Outcome) -> None:
        self.outcomes = keep(self.outcomes, outcome)
        name, named = self.model.name, self.named.record
        lock = self.job.turns.take(f"record of {self.reached.server.name}", self.job.scope)
        try:  # models of one server keep theirs in one file
            record = read_server_record(self.reached.container, self.reached.url, self.job.ports)
            loads = {**record.loads, **({name: named.loads[name]} if name in named.loads else {})}
            outcomes = {**record.outcomes, name: self.outcomes}
            record = ServerRecord(loads, record.made | named.made, outcomes)
            write_server_record(self.reached.container, self.reached.url, record, self.job.ports)
        finally:
            lock.release()
        self.named = replace(self.named, record=record)

    # --- Ollama itself

    def _try_ollama(self, asked: Asked) -> Outcome:
        lock = self.job.turns.take(f"ollama {self.reached.server.name}", self.job.scope)
        try:
            self.evidence = load(self.model, self.named, self.reached, self.job, self.emit)
        except HomellmError as error:
            self.job.scope.check()
            problems = why_not_loaded(error, self.reached)
            self.reports["ollama"] = failed_report(self.model, problems, None)
            return Outcome("ollama", asked.key, served=False, problem=problems[0].id, reason=problems[0].message)
        finally:
            lock.release()
        self.named = replace(self.named, record=remember(self.model, self.named, self.evidence))
        self.verdicts = judge_ollama(self.model, self.reached.server, self.evidence)
        one = self.evidence.load
        warned = [p for p in self.evidence.log.problems if p.id == "parallel-refused"] if one and one.refused else []
        return Outcome(
            "ollama",
            asked.key,
            served=True,
            slots=one.slots if one else None,
            refused=one.refused if one else None,
            own_format=one.own_format if one else False,
            reason=next((v.hint for v in self.verdicts if v.id == "slots"), ""),
            line=warned[-1].line if warned else "",
        )

    # --- llama-server

    def _try_llama_server(self, step: Rung, asked: Asked) -> Outcome:
        carried = (
            carry_over(
                self.model,
                self.named.stored,
                step.name,
                self.job.stack,
                blob_path=self.named.shown.blob_path,
                embedding=embeds(self.model, self.named),
            )
            if step.name != "ollama"
            else None
        )
        if carried is None:
            return Outcome(step.name, asked.key, served=False, problem="no-files", reason="its weights are not known")
        space = self._room(carried.model)
        if space.verdict == "too-big":
            return Outcome(step.name, asked.key, served=False, problem="too-big", reason=space.reason)
        unloaded = space.verdict == "unload-first" and in_memory(self.named.name, self.reached) is not None
        if unloaded:
            self.reached.api.unload(self.named.name)
        report = self._converge(carried, step, asked)
        self.reports[step.name] = report
        if report.state in (State.VERIFIED, State.DEGRADED):
            self._tell_lost(carried)
            return Outcome(step.name, asked.key, served=True, slots=report.slots)
        if unloaded:
            load(self.model, self.named, self.reached, self.job, self.emit)  # back to where it was
        problem = report.problems[0] if report.problems else Problem("failed", f"{step.name} did not pass its gates")
        self.job.scope.check()
        return Outcome(step.name, asked.key, served=False, problem=problem.id, reason=problem.message)

    def _converge(self, carried: Carried, step: Rung, asked: Asked) -> ModelReport:
        """The successor as a unit like any other, in a world that was gathered for it; its labels tell why it is."""
        moved = carried.model
        missing = missing_images((moved,), self.job.ports)
        pulled = run_pulls(missing, self.job.ports, self.job.scope, self.emit)
        if pulled:
            return failed_report(moved, pulled[moved.image], None)
        job = replace(self.job, world=gather(self.job.stack, (moved,), self.job.ports))
        won = Outcome(step.name, asked.key, served=True, slots=moved.parallel, since=_since(self.outcomes))
        return converge(moved, job, self.emit, {LABEL_OUTCOMES: dump_outcomes(keep(self.outcomes, won))})

    def _room(self, moved: Model) -> Room:
        """Whether both copies fit at once; without a header that can be read from here, carefully."""
        store, blob = self.reached.server.store, self.named.stored.blob
        if store is None or store.named or blob is None or moved.stored is None:
            return Room("unload-first")
        file = self.job.ports.files.look(Path(store.source) / STORE_FOLDER / blob)
        if file.header is None:
            return Room("unload-first")
        machine, _ = machine_of(moved, self.job.stack, self.job.world.host)
        return room(needs(file.header, demand_of(moved)), machine, in_memory(self.named.name, self.reached))

    def _tell_lost(self, carried: Carried) -> None:
        for phrase in carried.lost:
            self.emit(Note(f"llama-server serves it without {phrase}", model=self.model.name))

    # --- the end

    def _end(self, end: End, asked: Asked) -> ModelReport:
        fallback = fallback_of(asked, self.outcomes)
        if end.rung in (None, "ollama"):
            return replace(self._on_ollama(end), fallback=fallback)
        report = self.reports.get(str(end.rung)) or self._look_again(end, asked)
        self._let_go()
        shadow = shadow_load(self.model, self.reached.server, observe(self.model, self.named, self.reached, self.job))
        return replace(report, fallback=fallback, checks=(*report.checks, shadow))

    def _look_again(self, end: End, asked: Asked) -> ModelReport:
        """Nothing was tried: an earlier run moved the model, and it is looked at where it is."""
        step = Rung(end.rung or "ollama", "")
        carried = (
            carry_over(
                self.model,
                self.named.stored,
                step.name,
                self.job.stack,
                blob_path=self.named.shown.blob_path,
                embedding=embeds(self.model, self.named),
            )
            if step.name != "ollama"
            else None
        )
        if carried is None:
            problem = Problem("no-files", "where its weights are is not known any more", model=self.model.name)
            return failed_report(self.model, (problem,), None)
        return self._converge(carried, step, asked)

    def _let_go(self) -> None:
        """Its copy in Ollama's memory is of no use to anybody."""
        if in_memory(self.named.name, self.reached) is not None:
            self.reached.api.unload(self.named.name)

    def _on_ollama(self, end: End) -> ModelReport:
        if self.evidence is None and end.rung == "ollama":
            self._try_ollama(self._asked())
        if self.evidence is None:
            return self.reports["ollama"]
        report = ollama_report(self.model, self.job.stack, self.reached, self.evidence, self.verdicts, end)
        if report.state is not State.FAILED:
            self._leave_llama_server()
        return report

    def _leave_llama_server(self) -> None:
        """The model is served by Ollama: a llama-server that served it before is not needed any more."""
        for container in unit_of(self.model, self.job.stack, self.job.world).containers:
            step = RemoveContainer(target=container.name, model=self.model.name, cause="Ollama serves this model now")
            self.emit(StepStarted(step))
            remove(container.id, self.job.ports, self.job.scope, self.model.stop_grace_s)
            self.emit(StepFinished(step))


def _since(outcomes: tuple[Outcome, ...]) -> str:
    return next((o.since for o in outcomes if o.rung == "ollama"), "")

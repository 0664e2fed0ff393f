"""Follow a container until it is ready, gather what every witness says, and judge it."""

from __future__ import annotations

import queue
from dataclasses import dataclass, replace

from homellm.deploy.crashes import log_of_last_run
from homellm.deploy.engine_return import once_reachable
from homellm.deploy.follow import TICK_S, Broken, Follower, Happening, Health, LogEnded, LogLine, Progress
from homellm.deploy.gates import failed_gates, gate_problem
from homellm.deploy.limits import Limits
from homellm.deploy.observe import Subject, observe_ready
from homellm.deploy.scope import Scope
from homellm.deploy.session import Ports
from homellm.deploy.threads import apart
from homellm.deploy.token import Tell
from homellm.domain.evidence import Evidence
from homellm.domain.verdicts import Verdict
from homellm.domain.world import Container
from homellm.errors import ContainerGone, EngineUnreachable, Problem, Refused
from homellm.health.checks import judge_all
from homellm.health.exits import diagnose_exit
from homellm.health.readiness import Readiness
from homellm.health.summary import Summariser

#: How long /health may be the only one that says ready: a log driver that keeps nothing, or words nobody knows.
HEALTH_ALONE_S = 2.0


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a verification found. `problem` is why the server never became ready; then there are no verdicts."""

    evidence: Evidence
    verdicts: tuple[Verdict, ...] = ()
    problem: Problem | None = None


def verify(
    ref: str,
    subject: Subject,
    ports: Ports,
    scope: Scope,
    limits: Limits,
    engine_return_s: float = 0,
    tell: Tell = lambda _text: None,
) -> Outcome:
    """Follow the container named `ref` until it is ready or has failed, and judge it.

    Raises Interrupted on Ctrl-C, ContainerGone when somebody removed it, EngineUnreachable when the engine stays away.
    """
    return _Verification(ref, subject, ports, scope, limits, engine_return_s, tell).run()


class _Verification:
    def __init__(
        self, ref: str, subject: Subject, ports: Ports, scope: Scope, limits: Limits, engine_return_s: float, tell: Tell
    ) -> None:
        self._ref = ref
        self._subject = subject
        self._ports = ports
        self._scope = scope
        self._limits = limits
        self._engine_return_s = engine_return_s
        self._tell = tell
        self._begun = ports.clock.monotonic()
        self._moved = self._begun
        self._progress = -1
        self._without_log = False
        self._restart_reading()

    def _restart_reading(self) -> None:
        self._ready = False
        self._healthy_since: float | None = None
        self._summariser = Summariser()
        self._readiness = Readiness()

    def run(self) -> Outcome:
        while True:
            outcome = self._run_once()
            if outcome is not None:
                return outcome

    def _run_once(self) -> Outcome | None:
        """What was found; None when the server was started anew in the middle, so that nothing was."""
        container = self._find()
        if not container.running:
            return self._ended(container)
        follower = Follower(container, self._ports, self._scope)
        with self._scope.closing(follower.close):
            follower.start()
            problem = self._until_ready(follower)
            if problem is not None:
                return Outcome(Evidence(container=self._find(), log=self._summariser.summary()), problem=problem)
            # Apart: its one request may take minutes, and Ctrl-C must not wait for it.
            evidence = apart(self._observe, self._scope)
        verdicts = judge_all(self._subject.model, evidence, expected_path=self._subject.expected_path)
        outcome = Outcome(evidence, verdicts)
        return outcome if gates_passed(outcome) else self._unless_ended(container, outcome)

    def _unless_ended(self, begun: Container, outcome: Outcome) -> Outcome | None:
        """Gates fail as well when the server ends while its witnesses are asked: then that is what happened."""
        container = self._find()
        if not container.running:
            return self._ended(container)
        if container.started_at == begun.started_at:
            return outcome
        self._restart_reading()
        return None

    def _observe(self) -> Evidence:
        return observe_ready(
            self._find(),
            self._subject,
            self._summariser.summary(),
            self._ports,
            ready_s=self._ports.clock.monotonic() - self._begun,
            timeout_s=max(TICK_S, self._limits.deadline - self._ports.clock.monotonic()),
            tell=self._tell,
        )

    def _until_ready(self, follower: Follower) -> Problem | None:
        """None once it is ready, else why it never was."""
        while True:
            self._scope.check()
            problem = self._out_of_time()
            if problem is not None:
                return problem
            try:
                happening = follower.happenings.get(timeout=TICK_S)
            except queue.Empty:
                continue
            problem = self._take(happening, follower)
            if problem is not None or self._ready:
                return problem

    def _take(self, happening: Happening, follower: Follower) -> Problem | None:
        match happening:
            case LogLine(signal):
                self._moved = self._ports.clock.monotonic()
                if signal is not None:
                    self._summariser.add(signal)
                    self._readiness.add(signal)
                self._ready = self._readiness.ready
            case Health(ok):
                self._ready = self._ready_by_health(ok)
                if self._without_log and not self._ready:
                    return self._ended_unseen()
            case Progress(amount):
                self._note_progress(amount)
            case Broken(error):
                raise error
            case LogEnded(error):
                return self._log_ended(follower, error)
        return None

    def _ready_by_health(self, healthy: bool) -> bool:
        now = self._ports.clock.monotonic()
        if not healthy:
            self._healthy_since = None
            return False
        if self._healthy_since is None:
            self._healthy_since = now
        return now - self._healthy_since >= HEALTH_ALONE_S

    def _note_progress(self, progress: int) -> None:
        if progress != self._progress:
            self._progress = progress
            self._moved = self._ports.clock.monotonic()

    def _out_of_time(self) -> Problem | None:
        now = self._ports.clock.monotonic()
        name = self._subject.model.name
        if now >= self._limits.deadline:
            return Problem(
                id="timeout",
                message=f"{name} was not ready within {self._limits.total_s:.0f} s",
                hint="Give it more time with --wait-timeout, or look at its log: homellm logs " + name,
                model=name,
            )
        if now - self._moved >= self._limits.stall_timeout_s:
            return Problem(
                id="stalled",
                message=f"{name} wrote no log line and its memory did not change for"
                f" {self._limits.stall_timeout_s:.0f} s while loading",
                hint="Look at its log, or wait longer with --stall-timeout.",
                model=name,
            )
        return None

    def _log_ended(self, follower: Follower, error: object) -> Problem | None:
        """The stream ended: because the container did, or because it was cut. Only inspect can tell."""
        container = self._find()
        if not container.running:
            return self._ended(container).problem
        if error is None or isinstance(error, EngineUnreachable):
            self._restart_reading()
            follower.reopen()
        else:
            self._without_log = True  # a driver that keeps none, or a removal under way: inspect must tell the end
        return None

    def _ended_unseen(self) -> Problem | None:
        """Without a log nothing tells that the container ended; so it is looked at."""
        container = self._find()
        return None if container.running else self._ended(container).problem

    def _find(self) -> Container:
        container = once_reachable(lambda: self._ports.engine.find_container(self._ref), self._engine_return_s)
        if container is None or container.being_removed:
            raise ContainerGone(
                f"the container {self._ref} was removed while homellm waited for it",
                hint="Find out who removed it (docker events), then run homellm up again.",
            )
        return container

    def _ended(self, container: Container) -> Outcome:
        summary = log_of_last_run(container, self._ports)
        problem = diagnose_exit(
            container.exit_code,
            oom_killed=container.oom_killed,
            summary=summary,
            memory_limit_bytes=container.memory_bytes or None,
            image=self._subject.model.image,
        )
        return Outcome(
            Evidence(container=container, log=summary), problem=replace(problem, model=self._subject.model.name)
        )


def gates_passed(outcome: Outcome) -> bool:
    """Whether nothing forbids a commit: it became ready, and no gate failed or is unknown."""
    return outcome.problem is None and not failed_gates(outcome.verdicts)


def refusal(outcome: Outcome, model: str) -> Refused | None:
    """Why a container may not be committed, as an error to raise; None when it may."""
    if outcome.problem is not None:
        return Refused(outcome.problem.message, problems=(outcome.problem,))
    gates = failed_gates(outcome.verdicts)
    if not gates:
        return None
    problems = tuple(gate_problem(gate, model) for gate in gates)
    return Refused(problems[0].message, problems=problems)

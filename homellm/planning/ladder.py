"""The ladder of a model that Ollama serves with fewer slots than asked: which server is tried next. Pure.

It looks at past outcomes alone. An outcome counts while its key is what would be asked now: a new version of Ollama, a
changed model, other slots or another context begin anew, a reboot does not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from homellm.domain.ollama_families import UNLOADABLE, parse_version, predicted_refusal
from homellm.domain.stack import FallbackPolicy

RungName = Literal["ollama", "llama-server", "bundled", "source"]

#: In the order in which they are tried once Ollama has refused.
FALLBACKS: tuple[RungName, ...] = ("llama-server", "bundled", "source")

#: The first release whose image has a llama-server.
BUNDLED_SINCE = (0, 30, 0)
NO_SOURCE = "no fallback_source is declared"

#: Failures of memory: the same weights are not tried again in the same memory.
_MEMORY = frozenset({"out-of-memory", "model-too-large", "does-not-fit", "too-big"})
#: Failures that lie in what stands around every server of ours: another build would meet them again.
_SURROUNDINGS = frozenset(
    {"port-taken", "name-taken", "cpus-unavailable", "locked", "mlock-capped", "disk-full", "no-render-node", "no-kfd"}
    | {"stopped", "killed", "container-gone"}  # somebody ended it, a daemon that restarted perhaps
)
#: Failures that lie in the file, the build, or the memory that the same container would take again.
_LASTING = frozenset(
    {"arch-unknown", "blob-incompatible", "model-corrupt", "not-gguf", "flag-unknown", "cpu-unsupported"}
    | {"flash-attn-required", "load-failed", "server-crashed", "exited", "out-of-memory"}
)
_SURROUNDINGS_BEGIN = ("gpu-", "nvidia-", "wsl2-", "render-group", "network-", "host-", "engine-", "docker-desktop")


@dataclass(frozen=True, slots=True)
class Key:
    """What an outcome holds for. `digest` is the manifest's sha256 in hex, `ctx` of one slot."""

    version: str
    digest: str
    slots: int
    ctx: int


@dataclass(frozen=True, slots=True)
class Outcome:
    """How one rung went. `since` is when (RFC 3339).

    `served` tells that it was verified. For Ollama `slots` is what it gave, `refused` why it gave fewer (an
    architecture, `multimodal`, or None where it said nothing), `own_format` that the trial load said
    `detected Ollama-format`, which upstream cannot read, and `gpu_libraries` the folder of the libraries that it found
    for its GPU: with others a container would be another one after each restart. `problem` is the id of what failed,
    `reason` a phrase, and `line` the server's own words. `predicted` tells that Ollama was not asked. `spec_hash` is
    that of the container that was tried: the same one would do the same again, another may not. `hint` is what to do
    about a failure.
    """

    rung: RungName
    key: Key
    served: bool
    since: str = ""
    slots: int | None = None
    refused: str | None = None
    own_format: bool = False
    gpu_libraries: str = ""
    problem: str = ""
    reason: str = ""
    line: str = ""
    predicted: bool = False
    spec_hash: str = ""
    hint: str = ""

    @property
    def lasts(self) -> bool:
        """Whether it says something about a later run, too: not when circumstances failed that pass or can be mended.

        A trial of Ollama that counted no slots has told nothing.
        """
        if self.rung == "ollama":
            return self.slots is not None
        return self.served or self.problem in _LASTING or self.problem.startswith("gate-")


@dataclass(frozen=True, slots=True)
class Asked:
    """What a model asks for, and what is known of it.

    `has_source` tells that a `fallback_source` is declared, `has_files` that the weights of Ollama's store can be given
    to another container (`no_files` says why not), `has_bundled` that the server's image is ours to run.
    """

    key: Key
    policy: FallbackPolicy = "llama-server"
    family: str = ""
    families: tuple[str, ...] = ()
    projector: bool = False
    has_source: bool = False
    has_files: bool = True
    no_files: str = ""
    has_bundled: bool = True


@dataclass(frozen=True, slots=True)
class Rung:
    """What is to be tried now. `skipped` are the rungs passed over, each with the reason.

    `predicted` is set instead of a trial of Ollama: an outcome for the record, which says that nobody asked.
    """

    name: RungName
    because: str
    skipped: tuple[tuple[RungName, str], ...] = ()
    predicted: Outcome | None = None


@dataclass(frozen=True, slots=True)
class End:
    """Nothing more is tried. `rung` serves: verified, or, where `ollama` serves with fewer slots, degraded.

    `rung` is None when nothing can serve the model: the trial on Ollama itself failed. `hint` is what to do.
    """

    rung: RungName | None
    state: Literal["verified", "degraded", "failed"]
    reason: str = ""
    hint: str = ""


def next_rung(asked: Asked, outcomes: Sequence[Outcome]) -> Rung | End:
    """What follows from the outcomes so far, in the order in which they came. The last one of a rung counts."""
    known = {outcome.rung: outcome for outcome in outcomes if outcome.key == asked.key}
    trial = known.get("ollama")
    if trial is None:
        return _first(asked, known)
    if trial.served and (trial.slots or 0) >= asked.key.slots:
        return End("ollama", "verified")
    if trial.slots is None or trial.slots >= asked.key.slots:
        return End(None, "failed", trial.reason or "Ollama could not serve the model", "homellm logs shows why.")
    return _after_refusal(asked, trial, known)


def _first(asked: Asked, known: dict[RungName, Outcome]) -> Rung | End:
    """Ollama itself, or past it where this version is known to refuse and nobody wants the trial."""
    if asked.policy == "predict":
        family = predicted_refusal(asked.key.version, asked.family, asked.families, projector=asked.projector)
        if family is not None:
            predicted = Outcome(
                "ollama",
                asked.key,
                served=False,
                slots=1,
                refused=family,
                predicted=True,
                reason=f"Ollama {asked.key.version} is known to give {family} one slot; it was not asked",
            )
            step = _after_refusal(asked, predicted, known)
            return Rung(step.name, step.because, step.skipped, predicted) if isinstance(step, Rung) else step
    return Rung("ollama", f"asked for {_slots(asked.key.slots)}")


def _after_refusal(asked: Asked, trial: Outcome, known: dict[RungName, Outcome]) -> Rung | End:
    """Fewer slots than asked."""
    why = refusal(asked, trial)
    if asked.policy == "none":  # also for one that has moved before it was forbidden
        return _stays("fallback: none keeps it there", "Remove `fallback: none`, or ask for fewer slots.")
    for name in FALLBACKS:
        if name in known and known[name].served:
            return End(name, "verified")
    if asked.family in UNLOADABLE or trial.refused in UNLOADABLE:
        family = trial.refused if trial.refused in UNLOADABLE else asked.family
        return _stays(f"no build of llama-server loads {family}", "Take a newer model of the same kind.")
    skipped: list[tuple[RungName, str]] = []
    for name in FALLBACKS:
        if name in known:
            continue
        obstacle = _obstacle(name, asked, trial, known)
        if obstacle is None:
            return Rung(name, why, tuple(skipped))
        skipped.append((name, obstacle))
    return _ended(known, skipped)


def _obstacle(name: RungName, asked: Asked, trial: Outcome, known: dict[RungName, Outcome]) -> str | None:
    """Why a rung is passed over; None when it is worth a trial."""
    around = next((o for o in known.values() if o.rung != "ollama" and _of_surroundings(o.problem)), None)
    if around is not None:
        return f"it would meet the same: {around.reason or around.problem}"
    if name == "source":
        return None if asked.has_source else NO_SOURCE
    return _obstacle_of_blob(name, asked, trial, known)


def _obstacle_of_blob(name: RungName, asked: Asked, trial: Outcome, known: dict[RungName, Outcome]) -> str | None:
    """Why Ollama's own file is not tried (again)."""
    if not asked.has_files:
        return asked.no_files or "the weights of Ollama's store cannot be reached"
    short = next((o for o in known.values() if o.rung != "ollama" and o.problem in _MEMORY), None)
    if short is not None:
        return f"the same weights did not fit into memory: {short.reason or short.problem}"
    if name == "llama-server" and trial.own_format:
        return "the file is in Ollama's own format, which other builds refuse"
    if name == "bundled" and not asked.has_bundled:
        return "the server is not homellm's, so its image is not known"
    version = parse_version(asked.key.version)
    if name == "bundled" and version is not None and any(version) and version < BUNDLED_SINCE:
        return f"Ollama {asked.key.version} has no llama-server of its own"
    return None


def _of_surroundings(problem: str) -> bool:
    return problem in _SURROUNDINGS or problem.startswith(_SURROUNDINGS_BEGIN)


def _ended(known: dict[RungName, Outcome], skipped: Sequence[tuple[RungName, str]]) -> End:
    """Every rung has failed or was passed over."""
    failed = [f"{name}: {known[name].reason or known[name].problem}" for name in FALLBACKS if name in known]
    passed = [f"{name}: {reason}" for name, reason in skipped]
    return _stays("; ".join(failed + passed), _hint(known, skipped))


def _hint(known: dict[RungName, Outcome], skipped: Sequence[tuple[RungName, str]]) -> str:
    problems = {outcome.problem for outcome in known.values()}
    if problems & _MEMORY:
        return "Lower `ctx` or `parallel`, take a smaller quantisation, or ask for one slot."
    last = known.get("source")
    if last is not None and last.hint and not last.lasts:
        return f"{last.hint.rstrip('.')}. Then run homellm up again."
    if any(_of_surroundings(problem) for problem in problems):
        return "Put that right and run homellm up again."
    if ("source", NO_SOURCE) in skipped:
        return "Give the model a `fallback_source` with a GGUF that llama-server reads, or ask for one slot."
    return "Ask for one slot, or choose another model."


def _stays(because: str, hint: str) -> End:
    """Why Ollama gave fewer slots is told by `fallback_of`; this is why nothing else serves."""
    return End("ollama", "degraded", f"It stays on Ollama: {because}.", hint)


def refusal(asked: Asked, trial: Outcome) -> str:
    """Asked, given, and why, as one phrase for people."""
    if trial.predicted:
        return trial.reason
    told = f"asked Ollama {asked.key.version} for {_slots(asked.key.slots)}, got {trial.slots}"
    if trial.refused == "multimodal":
        return f"{told}: models with a projector do not support parallel requests there"
    if trial.refused:
        return f"{told}: architecture {trial.refused} does not support parallel requests there"
    return f"{told}: {trial.reason.rstrip('.') or 'it did not say why'}"


def _slots(count: int) -> str:
    return "1 slot" if count == 1 else f"{count} slots"

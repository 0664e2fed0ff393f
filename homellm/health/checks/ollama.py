"""Checks of a model on an Ollama server: the load lines decide, /api/ps is the second witness.

No API of Ollama tells the number of slots, and its refusal is silent for embeddings and an unset variable: the slot
count is the proof, the warning only the reason.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

from homellm.domain.evidence import Evidence, Load, OllamaEvidence
from homellm.domain.keep_alive import keep_alive_s
from homellm.domain.stack import OLLAMA_PORT, Model, OllamaServer
from homellm.domain.verdicts import Verdict
from homellm.health.checks import device, host, limits
from homellm.health.checks.case import API, LOG, Case, judged

PS = "/api/ps"
#: By the status of an answer: 0 where none came in time, 503 where Ollama's queue is full (server/sched.go).
_NO_ANSWER = {
    0: "It serves others for so long, or hangs: Ollama tells nobody which. homellm logs shows whether requests end.",
    503: "Its queue is full: so many requests wait for others, or for one that hangs. max_queue lets more wait;"
    " homellm logs shows whether requests end.",
}
_OK = 200
_NOT_IN_LOG = (
    "The server's log does not tell of a load of this model in its present run. homellm restart loads it again, and"
    " then it is seen."
)
_OPEN = (
    "Ollama has no key: everybody who reaches {where} can use and delete models. Set bind: 127.0.0.1, and let a proxy "
    "that asks for a key stand before it; other containers reach it through the stack's network."
)
#: The number of cells that a cache of llama.cpp is a multiple of (facts: n_ctx_slot).
_CELLS = 256
#: Ollama writes a keep-alive of for ever as a moment centuries away; a year of four digits below this is near.
_FAR_YEAR = 2100


@dataclass(frozen=True, slots=True)
class OllamaCase:
    """A model, its server and what was seen of both."""

    model: Model
    server: OllamaServer
    evidence: OllamaEvidence

    def of_llama_server(self) -> Case:
        """The same as a check of llama-server's takes it: Ollama's child is one."""
        seen, load = self.evidence, self.evidence.load
        log = replace(seen.log, device=load.device if load else None)
        # Ollama heeds no key, whatever variables it was given.
        container = replace(seen.container, has_key=False) if seen.container is not None else None
        evidence = Evidence(container=container, url=seen.url, log=log, gpu=seen.gpu, bridges=seen.bridges)
        return Case(of_server(self.model, self.server), evidence)


def of_server(model: Model, server: OllamaServer) -> Model:
    """The model with what its server's container is declared as: what is declared at itself is for its successor."""
    return replace(
        model,
        gpu=server.gpu,
        port=server.port,
        bind=server.bind,
        api_key=None,
        restart=server.restart,
        memory_bytes=server.memory_bytes,
        cpu_shares=server.cpu_shares,
        shm_size_bytes=None,
        cpuset=server.cpuset,
        networks=server.networks,
    )


def judge_ollama(model: Model, server: OllamaServer, evidence: OllamaEvidence) -> tuple[Verdict, ...]:
    """Hold what an Ollama server does with a model against what is declared."""
    case = OllamaCase(model, server, evidence)
    return tuple(verdict for check in CHECKS if (verdict := check(case)) is not None)


def _ready(case: OllamaCase) -> Verdict:
    seen = case.evidence
    if seen.loaded is not None:
        return judged("ready", True, True, True, PS, gate=True)
    if seen.asked_ps:
        hint = "Ollama does not have it in memory; its log tells why: homellm logs."
        return judged("ready", True, False, False, PS, hint=hint, gate=True)
    return judged("ready", True, None, None, PS, hint="Ollama's API could not be asked from here.", gate=True)


def slots(case: OllamaCase) -> Verdict:
    """The slots that the last load of this model got."""
    asked, load = case.model.parallel, case.evidence.load
    observed = load.slots if load else None
    if observed is None or load is None:
        return judged("slots", asked, None, None, LOG, hint=_NOT_IN_LOG, gate=True)
    hint = "Somebody set another number: OLLAMA_NUM_PARALLEL of the server decides for all its models."
    if load.refused:
        hint = f"Ollama gives {load.refused} one slot, whatever is asked."
    elif case.evidence.log and any(problem.id == "setting-invalid" for problem in case.evidence.log.problems):
        hint = "Ollama replaced a variable that it could not read by its default; homellm explain shows which."
    elif observed == 1 < asked:
        hint = "Ollama gave one slot and said nothing, as it does for embeddings and when its variable is not set."
    return judged("slots", asked, observed, observed == asked, LOG, hint=hint, gate=True)


def _ctx(case: OllamaCase) -> Verdict:
    """One slot's context; /api/ps tells it of what is in memory now."""
    asked, seen = case.model.ctx, case.evidence
    observed, source = (seen.loaded.ctx, PS) if seen.loaded and seen.loaded.ctx else (None, LOG)
    if observed is None and seen.load is not None:
        observed = seen.load.ctx_per_slot
    if observed is None:
        return judged("ctx", asked, None, None, source, hint=_NOT_IN_LOG, gate=True)
    hint = f"A slot has {observed} tokens. A num_ctx of the model's own parameters, or of a client, beats the server's."
    return judged("ctx", asked, observed, observed >= asked, source, hint=hint, gate=True)


def _device(case: OllamaCase) -> Verdict | None:
    """On the declared GPU: by the log's device, and never with nothing of it in the GPU's memory."""
    asked, loaded = case.server.gpu, case.evidence.loaded
    if asked is None:
        return None
    if loaded is not None and loaded.vram_bytes == 0:
        hint = (
            "Everything runs on the CPU. For an integrated GPU Ollama needs OLLAMA_IGPU_ENABLE=1, which homellm sets."
        )
        if any(problem.id == "igpu-dropped" for problem in case.evidence.log.problems):
            hint = "Ollama dropped the integrated GPU: OLLAMA_IGPU_ENABLE=1 is not set in its container."
        return judged("device", asked, "cpu", False, PS, hint=hint, gate=True)
    verdict = device.device(case.of_llama_server())
    if verdict is None or verdict.verdict != "unknown" or loaded is None:
        return verdict
    text = f"{loaded.vram_bytes} bytes in a GPU's memory"
    return judged("device", asked, None, None, PS, hint=verdict.hint, gate=True, text=text)


def _api(case: OllamaCase) -> Verdict:
    """It answers under the declared name, and a token comes back."""
    asked, chat = case.model.name, case.evidence.chat
    if chat is None:
        return judged("api", asked, None, None, API, hint="No request was made; homellm check makes one.", gate=True)
    if chat.status != _OK or not chat.tokens:
        said = chat.error or f"HTTP {chat.status}, {chat.tokens or 0} tokens"
        hint = _NO_ANSWER.get(chat.status, "Ollama is up and does not answer a request; look at its log: homellm logs.")
        return judged("api", asked, chat.model, False, API, hint=hint, gate=True, text=said)
    came = "a vector" if case.model.embedding else "a token"
    return judged("api", asked, chat.model, True, API, gate=True, text=f"{chat.model}, {came} came back")


def _vram(case: OllamaCase) -> Verdict | None:
    """All of it in the GPU's memory; what is not computes on the CPU, many times slower."""
    loaded = case.evidence.loaded
    if case.server.gpu is None or loaded is None:
        return None
    hint = "A part of the model stayed in system memory. Lower ctx or parallel, or take a smaller quantisation."
    return judged("vram", loaded.size_bytes, loaded.vram_bytes, loaded.vram_bytes >= loaded.size_bytes, PS, hint=hint)


def _keep_alive(case: OllamaCase) -> Verdict | None:
    """A model that is to stay for ever has no end in sight."""
    asked, loaded = case.server.keep_alive, case.evidence.loaded
    if math.isfinite(keep_alive_s(asked)) or loaded is None:
        return None
    year = loaded.expires_at[:4]
    observed = loaded.expires_at or None
    passed = int(year) >= _FAR_YEAR if year.isdecimal() else None
    hint = "A client asked with a keep_alive of its own, which beats the server's: the model will be unloaded."
    return judged("keep-alive", asked, observed, passed, PS, hint=hint, text="for ever" if passed else "")


def _ctx_forced(case: OllamaCase) -> Verdict | None:
    """No client made Ollama load the model anew with a num_ctx of its own, since it was first loaded as declared.

    What came before that belongs to another declaration: a context that was changed in the stack file, say.
    """
    asked, loads = case.model.ctx, case.evidence.loads
    as_declared = [is_loaded_with(load, asked) for load in loads]
    if True not in as_declared:
        return None
    since = as_declared.index(True)
    later = zip(loads[since:], as_declared[since:], strict=True)
    others = sorted({load.ctx_per_slot for load, same in later if not same and load.ctx_per_slot is not None})
    hint = (
        f"A client asked with num_ctx {', '.join(map(str, others))}: each such request loads the model anew, and so"
        " does the next one without it. Remove num_ctx from that client."
    )
    return judged("ctx-forced", asked, others[-1] if others else asked, not others, LOG, hint=hint)


def is_loaded_with(load: Load, ctx: int) -> bool:
    """Whether a load gave each slot that context, or what llama.cpp rounds it up to: the pool, then each share."""
    slots = load.slots or 1
    return load.ctx_per_slot in (ctx, _rounded(_rounded(ctx * slots) // slots))


def _rounded(tokens: int) -> int:
    return -(-tokens // _CELLS) * _CELLS


def _port(case: OllamaCase) -> Verdict | None:
    return host.port(case.of_llama_server(), OLLAMA_PORT) if case.server.ours else None


def _exposure(case: OllamaCase) -> Verdict | None:
    """Ollama knows no key: a port that others reach is everybody's."""
    return host.exposure(case.of_llama_server(), OLLAMA_PORT, _OPEN) if case.server.ours else None


def _restarts(case: OllamaCase) -> Verdict | None:
    return host.restarts(case.of_llama_server(), serves=case.evidence.asked_ps) if case.server.ours else None


def _limits(case: OllamaCase) -> Verdict | None:
    return limits.limits(case.of_llama_server()) if case.server.ours else None


def _restart_policy(case: OllamaCase) -> Verdict | None:
    return limits.restart_policy(case.of_llama_server()) if case.server.ours else None


CHECKS: tuple[Callable[[OllamaCase], Verdict | None], ...] = (
    _ready,
    slots,
    _ctx,
    _device,
    _api,
    _vram,
    _keep_alive,
    _ctx_forced,
    _port,
    _exposure,
    _restarts,
    _restart_policy,
    _limits,
)


def shadow_load(model: Model, server: OllamaServer, evidence: OllamaEvidence) -> Verdict:
    """A model that has moved to llama-server must not lie in Ollama's memory as well."""
    if not evidence.asked_ps:
        return judged("shadow-load", False, None, None, PS, hint="Ollama's API could not be asked from here.")
    loaded = evidence.loaded is not None
    hint = (
        f"A client asked the Ollama server {server.name} for {model.name}, which loaded it there again beside its"
        " successor. Point that client at the model's endpoint: homellm endpoints."
    )
    return judged("shadow-load", False, loaded, not loaded, PS, hint=hint)

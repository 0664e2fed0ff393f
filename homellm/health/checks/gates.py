"""The gates that every server must pass: ready, slots, ctx, api."""

from __future__ import annotations

from homellm.domain.names import LABEL_STACK, NEXT, network_name
from homellm.domain.verdicts import Verdict
from homellm.domain.world import Container
from homellm.health.checks.case import API, HEALTH, INSPECT, PROPS, RECORD, Case, judged

_OK = 200


def ready(case: Case) -> Verdict:
    """It serves: by its own /health, else by its log."""
    evidence = case.evidence
    container = evidence.container
    if container is not None and not container.running:
        hint = "Look at its log: homellm logs; homellm up starts it again."
        return judged("ready", True, False, False, INSPECT, hint=hint, gate=True, text=container.status)
    if evidence.healthy is not None:
        sleeping = "asleep, wakes on request" if case.props.sleeping else ""
        hint = "It runs and does not serve yet; look at its log: homellm logs."
        return judged("ready", True, evidence.healthy, evidence.healthy, HEALTH, hint=hint, gate=True, text=sleeping)
    if case.log.ready:
        return judged("ready", True, True, True, case.where("ready"), gate=True)
    hint = "Neither /health nor the log could tell. Is the port reachable from here?"
    return judged("ready", True, None, None, HEALTH, hint=hint, gate=True)


def slots(case: Case) -> Verdict:
    """Exactly as many slots as declared: fewer make clients wait, more give each less context."""
    asked = case.model.parallel
    observed, source = (
        (case.props.total_slots, PROPS) if case.props.total_slots else (case.log.slots, case.where("slots"))
    )
    passed = None if observed is None else observed == asked
    hint = case.log_lacks
    if observed is not None:
        hint = (
            f"The server has {observed}. Something else sets the number: look for LLAMA_ARG_N_PARALLEL and extra_args."
        )
    return judged("slots", asked, observed, passed, source, hint=hint, gate=True)


def ctx(case: Case) -> Verdict:
    """The tokens of one slot. Padding rounds up, so more is a pass; a pool that all slots share is divided by them."""
    asked = case.model.ctx
    said, source = (
        (case.props.n_ctx, PROPS) if case.props.n_ctx else (case.log.ctx_per_slot, case.where("ctx_per_slot"))
    )
    if said is None:
        return judged("ctx", asked, None, None, source, hint=case.log_lacks, gate=True)
    observed, text = said, ""
    if _unified(case):
        observed = _share_of_pool(case, said)
        text = f"{observed} of a pool that all slots share"
    hint = (
        f"A slot has {observed} tokens. The server cut the context to what the model was trained with, or to what fits "
        "into memory; ask for less, or free memory."
    )
    return judged("ctx", asked, observed, observed >= asked, source, hint=hint, gate=True, text=text)


def _unified(case: Case) -> bool:
    return bool(case.log.kv_unified if case.log.kv_unified is not None else case.model.kv_unified)


def _share_of_pool(case: Case, said: int) -> int:
    """What a slot is sure of when all are busy: `n_ctx_slot` is then the whole pool, cut to the trained length."""
    slots = case.props.total_slots or case.log.slots or case.model.parallel
    pool = case.log.pool_tokens or said
    if case.log.pool_tokens is None and case.log_says("ctx-capped"):
        pool = said * slots  # the pool is larger than the cut number tells, and was given outright
    return min(said, pool // slots)


def api(case: Case) -> Verdict:
    """This server answers under the declared name, from the declared file, and a token comes back."""
    asked = case.model.name
    evidence = case.evidence
    if evidence.dead_port:
        return judged(
            "api", asked, case.props.model_alias, False, API, hint=_no_way(case), gate=True, text=_inside(case)
        )
    if not evidence.reachable or evidence.props is None:
        hint = _lost_network(evidence.container) or (
            "The API could not be asked from here: check the published port, and api_key if one is set."
        )
        return judged("api", asked, None, None, API, hint=hint, gate=True)
    alias = case.props.model_alias or ""
    if asked not in alias.split(","):
        hint = f"Another server answers at {evidence.url}. Stop it, or choose another port."
        return judged("api", asked, alias or None, False, PROPS, hint=hint, gate=True)
    path = case.props.model_path
    if case.expected_path and path and path != case.expected_path:
        hint = f"It serves {path} instead of {case.expected_path}: is it another server that answers at {evidence.url}?"
        return judged("api", asked, alias, False, PROPS, hint=hint, gate=True, text=f"{alias} from {path}")
    return _token(case, alias)


def _inside(case: Case) -> str:
    inside = case.evidence.url.removeprefix("http://")
    return f"answers inside Docker at {inside}, and not at {case.evidence.dead_port}"


def _no_way(case: Case) -> str:
    container = case.evidence.container
    named = container.name if container is not None else ""
    return _lost_network(container) or dead_port_hint(named)


def dead_port_hint(container: str) -> str:
    """What may be between clients and a published port that is dead; a successor has its final name by then."""
    container = container.removesuffix(NEXT)
    return (
        "Docker's proxy for the port is gone, or a firewall is in between. To set the port up anew: "
        f"docker restart {container}. Else look for a rule that drops it: sudo iptables-save, sudo nft list ruleset."
    )


def _lost_network(container: Container | None) -> str:
    """That somebody took a container out of its stack's network, by which its port is published too; empty if not."""
    name = network_name(container.label(LABEL_STACK)) if container is not None and container.label(LABEL_STACK) else ""
    if container is None or not name or name in container.addresses:
        return ""
    return (
        f"{container.name} is not in the network {name} any more, by which it is reached: somebody disconnected it or "
        "removed the network. Make it anew: homellm up --force-recreate"
    )


def _token(case: Case, alias: str) -> Verdict:
    asked, chat = case.model.name, case.evidence.chat
    if chat is None:
        hint = "No request was made; homellm check makes one."
        return judged("api", asked, alias, None, API, hint=hint, gate=True)
    busy = case.evidence.busy
    if busy and "chat" in case.evidence.recorded:
        said = f"{alias}; {_serving(busy)}, and a token came back earlier in this run"
        return judged("api", asked, alias, True, RECORD, gate=True, text=said)
    if busy:
        hint = f"B{_serving(busy)[1:]}, and nothing of this run is proved yet: homellm check again once one is free."
        return judged("api", asked, alias, None, API, hint=hint, gate=True)
    if chat.status != _OK or not chat.tokens:
        said = chat.error or f"HTTP {chat.status}, {chat.tokens or 0} tokens"
        hint = "The server is up and does not answer a request; look at its log: homellm logs."
        return judged("api", asked, alias, False, API, hint=hint, gate=True, text=f"{alias}: {said}")
    came = "a vector" if case.model.embedding else "a token"
    where = RECORD if "chat" in case.evidence.recorded else API
    return judged("api", asked, alias, True, where, gate=True, text=f"{alias}, {came} came back")


def _serving(busy: int) -> str:
    return f"busy: all {busy} slots are serving" if busy > 1 else "busy: its one slot is serving"

"""How requests are served: cache reuse, reasoning, template, flash attention, cache types, batches."""

from __future__ import annotations

from homellm.domain.evidence import Chat
from homellm.domain.stack import Model
from homellm.domain.verdicts import Verdict
from homellm.health.checks.case import API, LOG, PROPS, Case, judged

_OK = 200
#: llama.cpp pads a context to a multiple of this.
_PADDING = 256


def cache_reuse(case: Case) -> Verdict | None:
    """Chunks of a prompt are reused from the cache, seen by one that was; or the server said that it cannot."""
    asked = case.model.cache_reuse
    if not asked:
        return None
    if case.log_says("cache-reuse-off"):
        hint = "This model's attention cannot shift its cache; set cache_reuse: 0."
        text = "off: not supported by this context"
        return judged("cache-reuse", asked, 0, False, case.where("problem:cache-reuse-off"), hint=hint, text=text)
    if case.log.cache_reused:
        return judged("cache-reuse", asked, asked, True, case.where("cache_reused"), text="a chunk was reused")
    if case.log_says("prompt-cache-lost"):
        hint = (
            "Prompts are computed anew from their beginning: hybrid and sliding-window models keep too little of them."
        )
        where = case.where("problem:prompt-cache-lost")
        return judged("cache-reuse", asked, 0, False, where, hint=hint, text="prompts are computed anew")
    hint = "It shows only when a client sends a prompt that shares a chunk with an earlier one."
    return judged("cache-reuse", asked, None, None, LOG, hint=hint)


def reasoning(case: Case) -> Verdict | None:
    """The template can keep the reasoning of earlier turns."""
    if not case.model.reasoning_preserve:
        return None
    hint = "This model's chat template cannot keep earlier reasoning; remove reasoning_preserve."
    able = case.props.template_caps.get("supports_preserve_reasoning")
    if able is not None:
        return judged("reasoning", True, able, able, PROPS, hint=hint)
    if case.log_says("reasoning-preserve-off"):
        return judged("reasoning", True, False, False, case.where("problem:reasoning-preserve-off"), hint=hint)
    return judged("reasoning", True, None, None, LOG, hint=case.log_lacks)


def judges_template(model: Model) -> bool:
    """Whether the template is a matter of this model: it was declared, or Ollama's was left behind."""
    declared = model.jinja is not None or model.chat_template_file is not None or model.mmproj is not None
    return not model.embedding and (declared or model.stored is not None)


def template(case: Case) -> Verdict | None:
    """The chat template works: one chat came through it, and one with a tool where it claims that it can."""
    model, chat, call = case.model, case.evidence.chat, case.evidence.tool_call
    if not judges_template(model):
        return None
    asked = True if model.jinja is None else model.jinja
    if chat is None:
        return judged("template", asked, None, None, API, hint="No request was made; homellm check makes one.")
    if chat.status != _OK:
        hint = (
            "The server refuses a chat; its template may not fit the model. Try jinja: true, or another template file."
        )
        return judged("template", asked, False, False, API, hint=hint, text=_why(chat))
    if call is not None and call.status != _OK:
        hint = "The template claims tools and a tool call fails; try a chat_template_file of the model's makers."
        return judged("template", asked, False, False, API, hint=hint, text=_why(call))
    return judged("template", asked, asked, True, API, text=_came_through(call))


def _why(chat: Chat) -> str:
    """Why a request was refused; of a template's own error the last line, which names it after a cutting of the source.

    Source of the form: what llama-server b11669 answered.
    """
    last = chat.error.rstrip().rpartition("\n")[2]
    return last.removeprefix("Error: ") if last.startswith("Error: ") else chat.error or f"HTTP {chat.status}"


def _came_through(call: Chat | None) -> str:
    if call is None:
        return "a chat came through"
    return "a chat and a tool call came through" if call.called else "a chat came through, and one that offers a tool"


def projector(case: Case) -> Verdict | None:
    """What the projector is for is taken by the server: images or sound, by its own word."""
    model, able = case.model, case.props.modalities
    if model.mmproj is None and (model.stored is None or model.stored.projector is None):
        return None
    hint = "The server takes text alone: its projector is not in use. homellm logs shows what it says of it."
    unknown = "This build does not tell what it takes besides text; a newer image does."
    passed = bool(able) if able is not None else None
    said = ", ".join(able or ()) or "text alone"
    text = said if able is not None else ""
    return judged("projector", True, passed, passed, PROPS, hint=unknown if able is None else hint, text=text)


def concurrency(case: Case) -> Verdict | None:
    """As many requests are worked on at once as there are slots; only where that was tried."""
    asked, seen = case.model.parallel, case.evidence.overlap
    if seen is None:
        return None
    if seen.error:
        hint = "A server that refuses one of so many requests at once has too little memory or context for its slots."
        return judged("concurrency", asked, seen.slots, False, API, hint=hint, text=seen.error)
    if seen.slots is not None and seen.slots >= asked:
        return judged("concurrency", asked, seen.slots, True, seen.source, text=f"{seen.slots} at once")
    if not seen.conclusive or seen.slots is None:
        hint = "The requests were over before the server could be looked at, or it tells of its slots to nobody."
        return judged("concurrency", asked, seen.slots, None, seen.source or API, hint=hint)
    hint = f"Of {seen.requests} requests at once it worked on {seen.slots} at most, and let the others wait."
    return judged("concurrency", asked, seen.slots, False, seen.source, hint=hint, text=f"{seen.slots} at once")


def flash_attention(case: Case) -> Verdict | None:
    """Flash attention is on or off as declared; with `auto` what it came to."""
    asked = case.model.flash_attention
    if asked is None:
        return None
    observed = case.log.flash_attention
    passed = None if observed is None else asked in ("auto", observed)
    hint = (
        case.log_lacks
        if observed is None
        else f"It is {observed}: this device or model decides otherwise; set flash_attention: auto."
    )
    return judged("flash-attention", asked, observed, passed, case.where("flash_attention"), hint=hint)


def kv_cache(case: Case) -> Verdict | None:
    """The element types of the cache."""
    asked = case.model.kv_cache_type
    if asked is None:
        return None
    observed = case.log.kv_types
    if observed is None:
        return judged("kv-cache", _types(asked.k, asked.v), None, None, LOG, hint=case.log_lacks)
    passed = observed == (asked.k, asked.v)
    hint = "The server uses other types; see its log for why (a quantised V cache needs flash attention)."
    return judged("kv-cache", _types(asked.k, asked.v), _types(*observed), passed, case.where("kv_types"), hint=hint)


def _types(k: str, v: str) -> str:
    return k if k == v else f"k {k}, v {v}"


def batch(case: Case) -> Verdict | None:
    """The batch sizes; the server cuts them to the whole context, and equals both for embeddings."""
    model, log = case.model, case.log
    if model.batch is None and model.ubatch is None:
        return None
    whole = -(-model.ctx * model.parallel // _PADDING) * _PADDING
    wanted, seen, asked = [], [], []
    for key, declared, observed in (("batch", model.batch, log.batch), ("ubatch", model.ubatch, log.ubatch)):
        if declared is None:
            continue
        asked.append(f"{key} {declared}")
        seen.append(None if observed is None else f"{key} {observed}")
        least = min(declared, whole, (model.ubatch or declared) if model.embedding else declared)
        wanted.append(None if observed is None else observed >= least)
    if None in wanted:
        return judged("batch", ", ".join(asked), None, None, LOG, hint=case.log_lacks)
    observed_text = ", ".join(filter(None, seen))
    hint = "The server took smaller batches; ubatch may not be larger than batch."
    where = case.where("batch", "ubatch")
    return judged("batch", ", ".join(asked), observed_text, all(wanted), where, hint=hint)

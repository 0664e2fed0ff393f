"""Outcomes of the ladder as the text that labels and records keep, and what reports say of them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict

from homellm.domain.reports import Fallback
from homellm.planning.ladder import FALLBACKS, Asked, Key, Outcome, RungName, refusal

_RUNGS: tuple[RungName, ...] = ("ollama", *FALLBACKS)
#: Longer texts are cut: labels and records are small, and a log line may be of any length.
_MOST_TEXT = 500
#: More outcomes than any model has; of a record that was tampered with the rest is not read.
_MOST_OUTCOMES = 32


def dump_outcomes(outcomes: Iterable[Outcome]) -> str:
    """The outcomes as one line of JSON; what is at its default is left out."""
    return json.dumps([_plain(outcome) for outcome in outcomes], separators=(",", ":"), sort_keys=True)


def read_outcomes(text: str) -> tuple[Outcome, ...]:
    """The outcomes of a label or record; whatever is no outcome is left out, since then it is asked again."""
    try:
        entries = json.loads(text) if text else []
    except (ValueError, RecursionError):
        return ()
    if not isinstance(entries, list):
        return ()
    found = (_outcome(entry) for entry in entries[:_MOST_OUTCOMES])
    return tuple(outcome for outcome in found if outcome is not None)


def keep(outcomes: Sequence[Outcome], new: Outcome) -> tuple[Outcome, ...]:
    """The outcomes with one more: an older one of the same rung goes, and so does all that holds for another key."""
    return (*(o for o in outcomes if o.key == new.key and o.rung != new.rung), new)


def _plain(outcome: Outcome) -> dict[str, object]:
    key = outcome.key
    plain: dict[str, object] = {
        "rung": outcome.rung,
        "served": outcome.served,
        "key": [key.version, key.digest, key.slots, key.ctx],
    }
    for name, value in asdict(outcome).items():
        if name not in ("rung", "served", "key") and value not in (None, "", False):
            plain[name] = value[:_MOST_TEXT] if isinstance(value, str) else value
    return plain


def _outcome(entry: object) -> Outcome | None:
    if not isinstance(entry, dict):
        return None
    rung = next((name for name in _RUNGS if name == entry.get("rung")), None)
    key, served, slots = _key(entry.get("key")), entry.get("served"), entry.get("slots")
    if rung is None or key is None or not isinstance(served, bool):
        return None
    refused = entry.get("refused")
    return Outcome(
        rung,
        key,
        served,
        since=_text(entry, "since"),
        slots=slots if isinstance(slots, int) and not isinstance(slots, bool) else None,
        refused=refused if isinstance(refused, str) else None,
        own_format=entry.get("own_format") is True,
        gpu_libraries=_text(entry, "gpu_libraries"),
        problem=_text(entry, "problem"),
        reason=_text(entry, "reason"),
        line=_text(entry, "line"),
        predicted=entry.get("predicted") is True,
        spec_hash=_text(entry, "spec_hash"),
        hint=_text(entry, "hint"),
    )


def _key(value: object) -> Key | None:
    match value:
        case [str() as version, str() as digest, int() as slots, int() as ctx]:
            return Key(version, digest, slots, ctx)
    return None


def _text(entry: dict[str, object], key: str) -> str:
    value = entry.get(key)
    return value if isinstance(value, str) else ""


def fallback_of(asked: Asked, outcomes: Sequence[Outcome], *, moved: bool = True) -> Fallback | None:
    """What reports say of a model that Ollama refused its slots; None while nothing was refused.

    `rung` is what serves now: a rung of the ladder, or `ollama` where the model stays with fewer slots. With `moved`
    False nothing of its own serves it, whatever served it once: `fallback: none` came later, say.
    """
    known = {outcome.rung: outcome for outcome in outcomes if outcome.key == asked.key}
    trial = known.get("ollama")
    if trial is None or trial.slots is None or trial.slots >= asked.key.slots:
        return None
    rungs = FALLBACKS if moved else ()
    serving = next((known[name] for name in rungs if name in known and known[name].served), trial)
    return Fallback("ollama", refusal(asked, trial), trial.line, serving.rung, serving.since or trial.since)

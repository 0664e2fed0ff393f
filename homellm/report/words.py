"""Values, states and sizes as people read them. Pure."""

from __future__ import annotations

from homellm.domain.verdicts import Judgement, Native, State, Verdict
from homellm.report.layout import clean, cut

PASS, FAIL, WARN, UNKNOWN, NONE = "✔", "✘", "!", "?", "–"
MARKS = (PASS, FAIL, WARN, UNKNOWN, NONE)

_STATE_MARKS = {
    State.VERIFIED: PASS,
    State.DEGRADED: WARN,
    State.FAILED: FAIL,
    State.ABSENT: NONE,
    State.STOPPED: NONE,
    State.STARTING: UNKNOWN,
    State.UNVERIFIED: UNKNOWN,
}
_JUDGEMENT_MARKS: dict[Judgement, str] = {"pass": PASS, "fail": FAIL, "unknown": UNKNOWN, "not-applicable": NONE}
_RUNNERS = {"ollama": "Ollama", "llama-server": "llama-server"}
#: Checks whose values are numbers of bytes.
_BYTES = ("memory", "vram")
_UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB")
_KIB = 1024
_WITHOUT_FRACTION = 100
_IN_MINUTES_S = 600
_IN_WHOLE_MINUTES_S, _IN_HOURS_MIN = 90, 90
#: Columns of a sentence and of a cell: a server may answer with kilobytes of JSON or HTML, which JSON output keeps.
_LONGEST_SENTENCE, _LONGEST_CELL = 600, 200


def state_mark(state: State) -> str:
    """The mark in front of a model in that state."""
    return _STATE_MARKS[state]


def verdict_mark(verdict: Judgement) -> str:
    """The mark in front of a check."""
    return _JUDGEMENT_MARKS[verdict]


def native(value: Native) -> str:
    """A native value in words: `yes` and `no` for booleans, a dash for none."""
    if value is None:
        return NONE
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:g}"
    return clean(str(value))


def asked(verdict: Verdict) -> str:
    """What was asked, in words."""
    return clean(verdict.asked_text) or _value(verdict, verdict.asked)


def observed(verdict: Verdict) -> str:
    """What was observed, in words; what a server said at length is cut."""
    if verdict.text:
        return cut(clean(verdict.text), _LONGEST_CELL)
    if verdict.verdict == "unknown" and verdict.observed is None:
        return "not seen"
    return cut(_value(verdict, verdict.observed), _LONGEST_CELL)


def _value(verdict: Verdict, value: Native) -> str:
    """A value of a check; a number of bytes with its unit."""
    if verdict.id in _BYTES and isinstance(value, int) and not isinstance(value, bool):
        return size(value)
    return native(value)


def device(name: str | None) -> str:
    """A device as the line of a model has it."""
    return "CPU" if name == "cpu" else clean(name or "")


def runner(name: str) -> str:
    """A runner's name as its makers write it."""
    return _RUNNERS.get(name, clean(name))


def size(count: int) -> str:
    """A number of bytes with a binary unit: `1.6 GiB`."""
    amount, unit = float(count), 0
    while amount >= _KIB and unit < len(_UNITS) - 1:
        amount, unit = amount / _KIB, unit + 1
    digits = 1 if unit > 1 and amount < _WITHOUT_FRACTION else 0
    return f"{amount:.{digits}f} {_UNITS[unit]}"


def seconds(amount: float) -> str:
    """A duration: `0.4 s`, `41 s`, `12 min 5 s`."""
    if 0 < amount < 1:
        return f"{amount:.1f} s"
    whole = round(amount)
    return f"{whole} s" if whole < _IN_MINUTES_S else f"{whole // 60} min {whole % 60} s"


def left(amount_s: float) -> str:
    """How long something will still take, no finer than it can be known: `35 s`, `12 min`, `2 h 5 min`."""
    minutes = round(amount_s / 60)
    if amount_s < _IN_WHOLE_MINUTES_S:
        return f"{max(1, round(amount_s))} s"
    return f"{minutes} min" if minutes < _IN_HOURS_MIN else f"{minutes // 60} h {minutes % 60} min"


def plural(count: int, noun: str) -> str:
    """`1 model`, `2 models`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def sentence(text: str) -> str:
    """`text` with a full stop where it has no mark at its end; one that would fill a screen is cut."""
    text = shortened(clean(text).strip())
    return text if not text or text[-1] in ".!?:;…" else f"{text}."


def shortened(line: str) -> str:
    """A line at a length that people read, with `…` in place of what is lost."""
    return cut(line, _LONGEST_SENTENCE)

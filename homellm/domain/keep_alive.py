"""How long an Ollama keeps a model in memory after a request, as people and its API write it."""

from __future__ import annotations

import math
import re

_PART = re.compile(r"([0-9]+(?:\.[0-9]+)?)(ns|us|µs|ms|s|m|h)")
_UNIT_S = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}


def keep_alive_s(written: int | str) -> float:
    """Seconds of a `keep_alive`: a number of them, or a duration in Go's writing (`1h30m`).

    A negative one is for ever, which is infinite (Ollama's api/types.go, Duration).
    """
    text = str(written)
    if text.startswith("-"):
        return math.inf
    if text.isdecimal():
        return float(text)
    return sum(float(count) * _UNIT_S[unit] for count, unit in _PART.findall(text))

"""How Go writes: lines of slog, durations, sizes, numbers of parameters, times."""

import json
import math
import re
from datetime import UTC, datetime, timedelta
from typing import Any

#: What Go's longest duration is, in seconds: `keep_alive: -1`.
FOREVER_S = (2**63 - 1) / 1e9

_UNITS_S = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_DURATION = re.compile(r"([0-9]*\.?[0-9]+)(ns|us|µs|ms|s|m|h)")


def slog(level: str, source: str, message: str, fields: dict[str, Any], now: datetime) -> str:
    """One line of Go's text handler."""
    stamp = now.strftime("%Y-%m-%dT%H:%M:%S.") + f"{now.microsecond // 1000:03}Z"
    pairs = {"time": stamp, "level": level, "source": source, "msg": message, **fields}
    return " ".join(f"{_quoted(key)}={_quoted(_value(value))}" for key, value in pairs.items())


def early(level: str, source: str, message: str, fields: dict[str, Any], now: datetime) -> str:
    """The same before Ollama has set its logger up: Go's default."""
    pairs = " ".join(f"{key}={_quoted(_value(value))}" for key, value in fields.items())
    return f"{now:%Y/%m/%d %H:%M:%S} {source}: {level} {message} {pairs}"


def _value(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, list):
        return "[" + " ".join(map(str, value)) + "]"
    return str(value)


def _quoted(text: str) -> str:
    plain = text and text.isprintable() and not re.search(r'[\s="]', text)
    return text if plain else json.dumps(text, ensure_ascii=False)


def duration(seconds: float) -> str:
    """`1.346s`, `552.606823ms`, `75.121µs`, `1h2m3s`, as Go prints a time.Duration."""
    ns = round(seconds * 1e9)
    if ns == 0:
        return "0s"
    if ns < 10**9:
        for unit, scale in (("ns", 1), ("µs", 10**3), ("ms", 10**6)):
            if ns < scale * 1000:
                return _trimmed(ns / scale) + unit
    minutes, rest = divmod(ns, 60 * 10**9)
    hours, minutes = divmod(minutes, 60)
    text = _trimmed(rest / 1e9) + "s"
    if hours:
        return f"{hours}h{minutes}m{text}"
    return f"{minutes}m{text}" if minutes else text


def _trimmed(number: float) -> str:
    return f"{number:.9f}".rstrip("0").rstrip(".")


def parse_duration(text: str) -> float | None:
    """Seconds of `5m`, `1h30m`, `-1s` or `0`; None for anything else."""
    sign, body = (-1.0, text[1:]) if text[:1] == "-" else (1.0, text.removeprefix("+"))
    if body == "0":
        return 0.0
    parts = _DURATION.findall(body)
    if not body or "".join(number + unit for number, unit in parts) != body:
        return None
    return sign * sum(float(number) * _UNITS_S[unit] for number, unit in parts)


def binary_size(count: float) -> str:
    """`23.5 GiB`, and `0 B`."""
    for unit, scale in (("TiB", 2**40), ("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if count >= scale:
            return f"{count / scale:.1f} {unit}"
    return f"{int(count)} B"


def decimal_size(count: int) -> str:
    """`98 MB`, `8.6 MB`, `358 B`."""
    for unit, scale in (("TB", 10**12), ("GB", 10**9), ("MB", 10**6), ("KB", 10**3)):
        if count >= scale:
            value = count / scale
            return f"{value:.1f} {unit}" if value < 10 and value != math.trunc(value) else f"{int(value)} {unit}"
    return f"{count} B"


def human_number(count: int) -> str:
    """`134.52M`, `2.6B`, `512`."""
    for unit, scale, digits in (("B", 10**9, 1), ("M", 10**6, 2), ("K", 10**3, 0)):
        if count >= scale:
            value = count / scale
            return f"{value:.0f}{unit}" if value == math.floor(value) else f"{value:.{digits}f}{unit}"
    return str(count)


def utc_now() -> datetime:
    return datetime.now(UTC)


def timestamp(when: datetime) -> str:
    """RFC 3339 with the fraction that Go would print."""
    fraction = f".{when.microsecond:06}".rstrip("0").rstrip(".")
    return when.strftime("%Y-%m-%dT%H:%M:%S") + fraction + "Z"


def later(when: datetime, seconds: float) -> datetime:
    """A time far ahead stays a time: 292 years for ever."""
    return when + timedelta(seconds=min(seconds, FOREVER_S))

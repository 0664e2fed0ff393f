"""Sizes, durations and CPU lists as people write them. Each raises ValueError with what is wrong, ending a sentence."""

from __future__ import annotations

import re
from decimal import Decimal

_SIZE = re.compile(r"([0-9]{1,15}(?:\.[0-9]{1,15})?) ?([kmgtp]?)(?:i?b)?", re.IGNORECASE)
_NUMBER = r"([0-9]{1,9})"
_DURATION = re.compile(rf"(?:{_NUMBER}d)?(?:{_NUMBER}h)?(?:{_NUMBER}m)?(?:{_NUMBER}s)?")
_CPUS = re.compile(r"([0-9]{1,5})(?:-([0-9]{1,5}))?")

#: The kernel's largest number of CPUs on x86-64 (CONFIG_NR_CPUS with MAXSMP).
MAX_CPUS = 8192


def parse_size(text: str) -> int:
    """Bytes of `6GiB`, `6g`, `512MiB`, `1.5g`, `1048576`, read as Docker reads them.

    k, m, g, t and p, in either case, alone or followed by `b` or `ib`, are powers of 1024: `6GB` is 6 GiB, as it is
    for `docker run --memory`. A number alone counts bytes. Source: RAMInBytes of docker/go-units.
    """
    match = _SIZE.fullmatch(text.strip())
    if match is None:
        raise ValueError("not a size such as 6GiB, 512MiB or 8g")
    return int(Decimal(match[1]) * 1024 ** " kmgtp".index(match[2].lower() or " "))


def parse_duration(text: str) -> int:
    """Seconds of `90s`, `15m`, `1h30m`, `2d`. A number without a unit is refused: nobody can tell what was meant."""
    match = _DURATION.fullmatch(text.strip())
    if match is None or not any(match.groups()):
        raise ValueError("not a duration such as 90s, 15m or 1h30m")
    days, hours, minutes, seconds = (int(group or 0) for group in match.groups())
    return ((days * 24 + hours) * 60 + minutes) * 60 + seconds


def parse_cpuset(text: str) -> str:
    """A list of CPUs (`3,0-1, 2`) as the kernel writes it: sorted, without doubles, neighbours joined (`0-3`)."""
    cpus: set[int] = set()
    for part in text.split(","):
        match = _CPUS.fullmatch(part.strip())
        if match is None:
            raise ValueError("not a list of CPUs such as 0-3 or 0,2,4-7")
        first, last = int(match[1]), int(match[2] or match[1])
        if first > last:
            raise ValueError(f"not a list of CPUs: {first}-{last} runs backwards")
        if last >= MAX_CPUS:
            raise ValueError(f"not a list of CPUs: no machine has a CPU {last}")
        cpus.update(range(first, last + 1))
    return format_cpus(cpus)


def format_cpus(cpus: set[int]) -> str:
    """Numbers of CPUs as the kernel writes them: `{0, 1, 2, 5}` is `0-2,5`."""
    runs: list[list[int]] = []
    for cpu in sorted(cpus):
        if runs and runs[-1][1] == cpu - 1:
            runs[-1][1] = cpu
        else:
            runs.append([cpu, cpu])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)

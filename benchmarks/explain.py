"""How fast `homellm explain` reads a large log, and how much memory it takes.

    python benchmarks/explain.py [SIZE] [--keep]

SIZE is the size of each log in MB (1000). The logs are made from lines that real servers wrote: the load lines once,
then their request lines over and over with other times, tasks and numbers, so that hardly two lines are equal. Each is
read by `homellm explain` as a process of its own; wall time is that of the whole process, memory the peak that the
kernel counted for it.
"""

from __future__ import annotations

import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

LOGS = Path(__file__).parent.parent / "tests" / "fixtures" / "logs"
MB = 1_000_000
_OWN = re.compile(r"^\d+\.\d\d\.\d{3}\.\d{3} ([A-Z]) ")
_NUMBER = re.compile(r"(?<![\w.])\d+(?:\.\d+)?(?![\w.])")
_FIXED = ("id ", "n_slots", "n_ctx_slot")


def main() -> None:
    size_mb = int(next((word for word in sys.argv[1:] if word.isdigit()), "1000"))
    print(f"{'log':34} {'MB':>6} {'s':>6} {'MB/s':>6} {'peak MiB':>9}")
    with tempfile.TemporaryDirectory() as folder:
        for name, lines in LOG_KINDS.items():
            path = Path(folder) / "log"
            written = write(path, lines(), size_mb * MB)
            seconds, peak_mib, found = explain(path)
            print(
                f"{name:34} {written / MB:6.0f} {seconds:6.1f} {written / MB / seconds:6.0f} {peak_mib:9.0f}",
                flush=True,
            )
            assert found["ready"] is True, found
            assert found["slots"] in (2, 3), found
            path.unlink()


def write(path: Path, lines: Iterator[str], size: int) -> int:
    written = 0
    with path.open("wb", buffering=4 * MB) as out:
        for line in lines:
            written += out.write(line.encode())
            if written >= size:
                return written
    return written


def explain(path: Path) -> tuple[float, float, dict[str, object]]:
    """Wall seconds, peak MiB and the answer of one whole process."""
    command = [sys.executable, "-m", "homellm", "explain", str(path), "--format", "json"]
    with tempfile.TemporaryFile() as answer:
        begun = time.perf_counter()
        process = subprocess.Popen(command, stdout=answer)
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - begun
        process.returncode = os.waitstatus_to_exitcode(status)
        assert process.returncode == 0
        answer.seek(0)
        return seconds, usage.ru_maxrss / 1024, json.load(answer)


def requests(log: str) -> Iterator[str]:
    """The lines of a real log up to `listening`, then its requests without end, every number another one."""
    text = (LOGS / log).read_text(encoding="utf-8").splitlines()
    ready = next(index for index, line in enumerate(text) if "listening on" in line) + 1
    yield from (line + "\n" for line in text[:ready])
    served = [line for line in text[ready:] if _OWN.match(line) and "cleaning up" not in line]
    dice = random.Random(1)
    clock = 5_000_000
    while True:
        for line in served:
            clock += dice.randrange(20, 90_000)
            stamp = f"{clock // 60_000_000}.{clock // 1_000_000 % 60:02}.{clock // 1000 % 1000:03}.{clock % 1000:03}"
            head, *rest = _OWN.sub(lambda own: f"{own[1]} ", line).partition("| ")
            yield f"{stamp} {head}{_other_numbers(''.join(rest), dice)}\n"


def _other_numbers(text: str, dice: random.Random) -> str:
    return _NUMBER.sub(lambda number: _other(number[0], dice), text)


def _other(number: str, dice: random.Random) -> str:
    whole, dot, fraction = number.partition(".")
    width = max(1, len(whole) + dice.choice((-1, 0, 0, 0, 1)))
    other = str(dice.randrange(10 ** (width - 1) if width > 1 else 0, 10**width))
    return other + dot + "".join(str(dice.randrange(10)) for _ in fraction)


def docker_times(lines: Iterator[str]) -> Iterator[str]:
    for count, line in enumerate(lines):
        yield f"2026-11-30T{count // 3600 % 24:02}:{count // 60 % 60:02}:{count % 60:02}.{count % 10**9:09}Z {line}"


def json_lines(lines: Iterator[str]) -> Iterator[str]:
    for count, line in enumerate(lines):
        message = _OWN.sub("", line)
        yield (
            json.dumps({"type": "log", "time": count * 977, "level": "info", "msg": message}, separators=(",", ":"))
            + "\n"
        )


LOG_KINDS: dict[str, Callable[[], Iterator[str]]] = {
    "level 3, plain": lambda: requests("req-lv3.log"),
    "level 4, plain": lambda: requests("p-hybrid-lv4.log"),
    "level 3, docker logs -t": lambda: docker_times(requests("req-lv3.log")),
    "level 3, JSON lines": lambda: json_lines(requests("req-lv3.log")),
}

if __name__ == "__main__":
    main()

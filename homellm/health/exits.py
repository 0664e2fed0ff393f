"""Why a container ended: its exit code, the engine's word on memory, and what its log said before.

The last line of a log can be lost, so earlier lines and the exit code decide (seen by running: b10434, b11669).
"""

from __future__ import annotations

from homellm.domain.evidence import LogSummary
from homellm.domain.signals import Signal
from homellm.errors import Problem
from homellm.health.rules_flags import CPU_HINT

_SIGNALS = {129: "SIGHUP", 130: "SIGINT", 132: "SIGILL", 134: "SIGABRT", 135: "SIGBUS", 136: "SIGFPE"} | {
    137: "SIGKILL",
    139: "SIGSEGV",
    143: "SIGTERM",
}
_SIGILL, _SIGKILL = 132, 137
_ASKED_TO_STOP = (129, 130, 143)
_CRASHES = (134, 135, 136, 139)
_NOT_EXECUTABLE, _NOT_FOUND = 126, 127
_MIB = 1024 * 1024

_LESS_MEMORY = (
    "Lower ctx or parallel, use kv_cache_type q8_0 or a smaller quantisation, put layers on a GPU, or raise `memory`."
)


def diagnose_exit(
    exit_code: int,
    *,
    oom_killed: bool,
    summary: LogSummary,
    memory_limit_bytes: int | None = None,
    image: str = "",
) -> Problem:
    """Why a server's container ended, as people are told it.

    `memory_limit_bytes` is the container's limit, None without one; `image` is named where the image is to blame.
    """
    if oom_killed:
        return _out_of_memory(summary, memory_limit_bytes)
    if exit_code == _SIGILL:
        return _other_cpu(image)
    said = log_reason(summary)
    if said is not None:
        return said
    if exit_code == _SIGKILL and memory_limit_bytes:
        return _killed_under_limit(memory_limit_bytes)
    return _by_code(exit_code, summary, image)


def _killed_under_limit(limit_bytes: int) -> Problem:
    """SIGKILL with a memory limit set. Engine 20.10 may leave OOMKilled false (seen by running)."""
    limit = limit_bytes / _MIB
    return Problem(
        id="out-of-memory",
        message=f"the server was killed (exit 137), most likely by its memory limit of {limit:.0f} MiB",
        hint=f"{_LESS_MEMORY} The kernel's log tells for sure: dmesg.",
    )


def _by_code(exit_code: int, summary: LogSummary, image: str) -> Problem:
    if exit_code == _SIGKILL:
        return Problem(
            id="killed",
            message="the server was killed (SIGKILL, exit 137), and not by its container's memory limit",
            hint="Somebody killed it (docker kill, an auto-heal tool), or the host ran out of memory: dmesg tells.",
        )
    if exit_code in _CRASHES:
        return Problem(
            id="server-crashed",
            message=f"the server crashed ({_SIGNALS[exit_code]}, exit {exit_code}) {_when(summary)}",
            hint="Look at its log (homellm logs). Try another tag of the image; a file that was changed or cut short "
            "while it was mapped ends a server with SIGBUS.",
        )
    if exit_code in (_NOT_EXECUTABLE, _NOT_FOUND):
        what = "cannot be executed" if exit_code == _NOT_EXECUTABLE else "was not found"
        return Problem(
            id="no-server-in-image",
            message=f"the server's program {what} in the image {image}".rstrip() + f" (exit {exit_code})",
            hint="Name an image of llama-server in `image`, of this machine's architecture.",
        )
    if exit_code == 0 or exit_code in _ASKED_TO_STOP:
        return Problem(
            id="stopped",
            message=f"the server ended by itself (exit {exit_code}) {_when(summary)}: somebody asked it to stop",
            hint="Start it again: homellm up.",
        )
    return Problem(
        id="exited",
        message=f"the server ended with exit {exit_code} {_when(summary)} and its log does not say why",
        hint="Look at its last lines: homellm logs; homellm explain reads them.",
    )


def _out_of_memory(summary: LogSummary, limit_bytes: int | None) -> Problem:
    limit = f"its limit of {limit_bytes / _MIB:.0f} MiB" if limit_bytes else "the memory that the host gave it"
    need = sum(summary.weights_mib.values()) + (summary.kv_mib or 0) + sum(summary.compute_mib.values())
    told = f"; it had asked for {need:.0f} MiB so far" if need else ""
    return Problem(
        id="out-of-memory",
        message=f"the server was killed: it took more than {limit} {_when(summary)}{told}",
        hint=_LESS_MEMORY,
    )


def _other_cpu(image: str) -> Problem:
    named = f"the image {image}" if image else "its image"
    return Problem(
        id="cpu-unsupported",
        message=f"the server died of an illegal instruction (SIGILL, exit 132): {named} was built for another CPU",
        hint=CPU_HINT,
    )


def log_reason(summary: LogSummary) -> Problem | None:
    """Why a server ended, by its log alone; None when that does not tell."""
    said = _reason(summary)
    return None if said is None else Problem(id=said.id, message=said.line, hint=said.hint)


def _reason(summary: LogSummary) -> Signal | None:
    """The problem that ended it: the first fatal one of the last load, else memory that ran short on the way."""
    fatal = [problem for problem in summary.problems if problem.fatal]
    if fatal:
        return fatal[0]
    return next((problem for problem in summary.problems if problem.id == "out-of-memory"), None)


def _when(summary: LogSummary) -> str:
    return "while serving" if summary.ready else "while loading"
